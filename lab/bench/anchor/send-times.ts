import type { AnchorOrder } from './messages.ts'
import { LATEST, type Sending } from './schedule.ts'
import { FIRST_SPAN, MERGELOGS, SPANS_PER_CHANGE, STEPS } from './steps.ts'

/** When what was acknowledged, for telling how long linking and sending took beyond what they wait for. */
export class SendTimes {
  readonly #first: number
  readonly #keeps: boolean
  /** Of each change: its steps, then its mergelogs. */
  readonly #ackedMs: Float64Array

  constructor({ firstChange, seconds, changesPerSecond, keepsTimes }: AnchorOrder) {
    this.#first = firstChange
    this.#keeps = keepsTimes
    this.#ackedMs = new Float64Array(keepsTimes ? seconds * changesPerSecond * ROW : 0)
  }

  acknowledged({ shape, firstChange, changes }: Sending, atMs: number): void {
    if (!this.#keeps) return
    const columns = shape.mergelog === undefined ? shape.steps : [STEPS.length + shape.mergelog]
    for (let change = firstChange; change < firstChange + changes; change++) {
      for (const column of columns) this.#ackedMs[(change - this.#first) * ROW + column] = atMs
    }
  }

  /**
   * A span can be linked once all that led to it has come: it waits for CPIDs to be explained and for writers. What is
   * sent last leads to nothing.
   */
  bySpan(): { acknowledgedMs: number[]; linkableMs: number[] } {
    const acknowledgedMs: number[] = []
    const linkableMs: number[] = []
    for (let change = 0; change * ROW < this.#ackedMs.length; change++) {
      const acked = this.#ackedMs.subarray(change * ROW, (change + 1) * ROW)
      let ledToMs = 0
      STEPS.forEach(({ cpid, sentAfter, spans }, step) => {
        const own = acked[step] ?? 0
        const mergelogs = MERGELOGS.map((mergelog, at) =>
          mergelog.step === step ? (acked[STEPS.length + at] ?? 0) : 0,
        )
        const linkable = cpid === undefined ? own : Math.max(ledToMs, own, ...mergelogs)
        if (cpid !== undefined && sentAfter < LATEST) ledToMs = linkable
        spans.forEach((_, at) => {
          const span = change * SPANS_PER_CHANGE + (FIRST_SPAN[step] ?? 0) + at
          acknowledgedMs[span] = own
          linkableMs[span] = linkable
        })
      })
    }
    return { acknowledgedMs, linkableMs }
  }
}

const ROW = STEPS.length + MERGELOGS.length
