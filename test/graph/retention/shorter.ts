import type { Life } from './life.ts'

/** Why a life fails; undefined when it does not. */
type Fault = (life: Life) => Promise<Error | undefined>

/**
 * Leaves steps out of a life that fails, first many at once, then one by one, as long as it goes on failing for the same
 * reason and `goesOn` says so.
 */
export async function shorter(
  life: Life,
  fault: Error,
  faultOf: Fault,
  goesOn: () => boolean,
): Promise<Life> {
  let least = life
  let size = Math.max(1, least.steps.length >> 1)
  for (;;) {
    const before = least.steps.length
    for (let at = 0; at < least.steps.length && goesOn();) {
      const steps = [...least.steps.slice(0, at), ...least.steps.slice(at + size)]
      const found = await faultOf({ ...least, steps })
      if (found !== undefined && kindOf(found) === kindOf(fault)) least = { ...least, steps }
      else at += size
    }
    if (!goesOn() || (size === 1 && least.steps.length === before)) return least
    size = Math.max(1, size >> 1)
  }
}

/** What is wrong, whichever rows it is about. */
export function kindOf({ message }: Error): string {
  return (message.split('; only there is:')[0] ?? message).replaceAll(/\d+/g, '#')
}
