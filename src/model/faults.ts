/** The message of an error. When all addresses of a host refuse, Node throws an AggregateError without a message of its own. */
export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.map(errorText).join(', ')
  return 'message' in error && typeof error.message === 'string' ? error.message : 'unknown error'
}

/**
 * What keeps the database from being used.
 * - full: there is no room for more; storing goes on once there is.
 * - readOnly: it may only be read.
 * - damaged: its content is corrupt; that does not heal.
 * - io: the disk under it fails.
 * - locked: another program holds its write lock.
 * - hangs: what is asked of it is not answered, as by a disk of the network that is away.
 */
export interface StorageFault {
  readonly kind: StorageFaultKind
  /** What is wrong and what to do, in one sentence without the path. */
  readonly reason: string
}

/** What errors tell of. */
export type StorageErrorKind = 'full' | 'readOnly' | 'damaged' | 'io' | 'locked'

type StorageFaultKind = StorageErrorKind | 'hangs'

/** Classifies the errors that a store throws. */
export interface StorageFaults {
  /** The fault of the database; undefined when the error is about something else. */
  of(error: unknown): StorageFault | undefined
  /**
   * Whether the error can be about the one item that was being worked on, such as a missing row that it refers to. Errors of the
   * database or of memory, and passing ones, would fail for every item: these are retried.
   */
  isAboutOneItem(error: unknown): boolean
}

/** Where an error was thrown. */
export type SetAsideStage = 'linking' | 'waiting' | 'settling' | 'sending' | 'pruning' | 'inference'

/** An item that could not be processed and was skipped, so that the others could be. */
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

/** Whether memory ran out: no fault of the item that was being worked on. */
export function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && /allocation failed|out of memory/i.test(thrown.message)
}

/** The message and place of an error, short enough to store. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown).slice(0, MAX_LETTERS)
  const [, place] = /^\s*at .*?([^\s(/]+:\d+):\d+\)?$/m.exec(thrown.stack ?? '') ?? []
  const where = place === undefined ? '' : ` (at ${place})`
  return `${thrown.name === 'Error' ? '' : `${thrown.name}: `}${thrown.message}`.slice(0, MAX_LETTERS) + where
}
