/** What an error says. Node gives a name whose addresses all refused an error without words, around the others. */
export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.map(errorText).join(', ')
  return 'message' in error && typeof error.message === 'string' ? error.message : 'unknown error'
}

/**
 * What keeps the database from being used.
 * - full: there is no room for more; storing goes on once there is.
 * - readOnly: it may only be read.
 * - damaged: what is in it contradicts itself; it does not heal.
 * - io: the disk under it fails.
 */
export interface StorageFault {
  readonly kind: StorageFaultKind
  /** What is wrong and what to do, in one sentence without the path. */
  readonly reason: string
}

export type StorageFaultKind = 'full' | 'readOnly' | 'damaged' | 'io'

/** What the errors mean that a store throws. */
export interface StorageFaults {
  /** What keeps the database from being used; undefined when the error is about something else. */
  of(error: unknown): StorageFault | undefined
  /**
   * Whether what was thrown can be about the one item that was being worked on, such as a row that it refers to and that is
   * not there. What is about the database, about the moment or about memory fails for everything, and is tried again.
   */
  isAboutOneItem(error: unknown): boolean
}

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
