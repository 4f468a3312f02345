const EXHAUSTED = ['EMFILE', 'ENFILE']

/**
 * Has the process live on when something fails for want of a descriptor and nobody is there to hear of it, such as in a
 * timer: what failed is done again the next time. Everything else that nobody handles ends the process, as without this.
 */
export function surviveDescriptorExhaustion(tell: (reason: string) => void): void {
  process.on('uncaughtException', (error: unknown) => {
    if (isDescriptorExhaustion(error)) {
      tell(error.message)
      return
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`${text}\n`)
    process.exit(1)
  })
}

/** Whether a descriptor was wanted and the process, or the machine, had none left. */
export function isDescriptorExhaustion(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    EXHAUSTED.includes(error.code)
  )
}
