/** How much of a row is shown. */
const MAX_SHOWN = 1_000

/** Throws an Error that says `fault` unless the condition is true. */
export function check(condition: boolean, fault: string): asserts condition {
  if (!condition) throw new Error(fault)
}

/** Throws unless both are alike, whichever realm their arrays and buffers come from. */
export function same(actual: readonly unknown[], expected: readonly unknown[], fault: string): void {
  const [there, wanted] = [actual, expected].map((items) => items.map((item) => JSON.stringify(item, textOf)))
  if (JSON.stringify(there) === JSON.stringify(wanted)) return
  const only = (these: string[] = [], those: string[] = []): string =>
    these
      .filter((item) => !those.includes(item))
      .map((item) => `\n  ${item.slice(0, MAX_SHOWN)}`)
      .join('')
  throw new Error(`${fault}; only there is:${only(there, wanted)}\nonly expected was:${only(wanted, there)}`)
}

function textOf(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  return value instanceof Object && 'data' in value && Array.isArray(value.data)
    ? Buffer.from(value.data as number[]).toString('latin1')
    : value
}
