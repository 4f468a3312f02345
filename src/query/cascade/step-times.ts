import type { UnixNanos } from '../../model/clock.ts'

/** What a step of the critical path adds to the time that the path takes. */
export interface StepTime {
  /** From when the step before let go to when this one began; 0n when it began by then. */
  readonly waitNs: bigint
  /** When this step began to hold up the path: the wait is over. */
  readonly fromNs: UnixNanos
  /** From there to the start of the next step, or to its own end when that is earlier: what runs inside it counts. */
  readonly heldNs: bigint
}

/**
 * Divides the time from the start of a path to the end of its last step among its steps. The pieces follow one another
 * without gap or overlap, so that all waits and held times add up to the whole, whatever clocks say.
 */
export function stepTimes(path: readonly { startNs: UnixNanos; endNs: UnixNanos }[]): StepTime[] {
  const startNs = path[0]?.startNs ?? 0n
  const overNs = latest(startNs, path.at(-1)?.endNs ?? startNs)
  let atNs = startNs
  return path.map((step, index) => {
    const fromNs = earliest(latest(atNs, step.startNs), overNs)
    const nextNs = path[index + 1]?.startNs ?? overNs
    const untilNs = latest(fromNs, earliest(earliest(step.endNs, nextNs), overNs))
    const held = { waitNs: fromNs - atNs, fromNs, heldNs: untilNs - fromNs }
    atNs = untilNs
    return held
  })
}

/** The position of the first with the most of something; undefined when none has any. */
export function positionOfMost<T>(items: readonly T[], ofItem: (item: T) => bigint): number | undefined {
  let found: number | undefined
  let most = 0n
  items.forEach((item, position) => {
    if (ofItem(item) <= most) return
    most = ofItem(item)
    found = position
  })
  return found
}

function latest(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function earliest(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
