const cleanups = new Set<() => void>()

process.once('exit', () => {
  for (const cleanup of cleanups) cleanup()
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Does `cleanup` when disposed of, or when the bench ends before that. */
export function atExit(cleanup: () => void): Disposable {
  cleanups.add(cleanup)
  return {
    [Symbol.dispose]() {
      if (cleanups.delete(cleanup)) cleanup()
    },
  }
}
