/** Where something threw. */
export type SetAsideStage = 'linking' | 'waiting' | 'settling' | 'sending' | 'pruning' | 'inference'

/** What could not be worked on, so that everything else could be. */
export interface SetAside {
  readonly stage: SetAsideStage
  /** A span, a mergelog, an explained CPID, a log record, a change, a trace, a CPID, a decision of an outbox or a position in it, a write or an Event of a cluster. */
  readonly kind: string
  /** The number of its arrival; of the trace in settling, of the decision in sending, of the CPID in pruning; the version that was written in inference. */
  readonly item: number
  readonly cpid: string | undefined
  readonly exporter: string | undefined
  readonly reason: string
}

const MAX_LETTERS = 500

/** Whether there was no memory for it, which is about the moment and not about what was being worked on. */
export function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && /allocation failed|out of memory/i.test(thrown.message)
}

/** What was thrown, and where, short enough to keep. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown).slice(0, MAX_LETTERS)
  const [, place] = /^\s*at .*?([^\s(/]+:\d+):\d+\)?$/m.exec(thrown.stack ?? '') ?? []
  const where = place === undefined ? '' : ` (at ${place})`
  return `${thrown.name === 'Error' ? '' : `${thrown.name}: `}${thrown.message}`.slice(0, MAX_LETTERS) + where
}
