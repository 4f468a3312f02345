/** The message of an error. If all addresses of a host refuse a connection, Node throws an AggregateError without a message. */
export function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  if ('errors' in error && Array.isArray(error.errors)) return error.errors.map(errorText).join(', ')
  return 'message' in error && typeof error.message === 'string' ? error.message : 'unknown error'
}

/**
 * Why the database cannot be used.
 * - full: the disk is full; storing resumes once there is space.
 * - readOnly: the database is read-only.
 * - damaged: the database is corrupt; it stays so.
 * - io: the disk fails.
 * - locked: another program holds the write lock.
 * - hangs: a call does not return, as on a network disk that is unreachable.
 */
export interface StorageFault {
  readonly kind: StorageFaultKind
  /** What is wrong and what to do, in one sentence, without the path. */
  readonly reason: string
}

/** The kinds of faults that errors report. */
export type StorageErrorKind = 'full' | 'readOnly' | 'damaged' | 'io' | 'locked'

type StorageFaultKind = StorageErrorKind | 'hangs'

/** Classifies the errors that a store throws. */
export interface StorageFaults {
  /** The fault of the database; undefined if the error has another cause. */
  of(error: unknown): StorageFault | undefined
  /**
   * Whether the error may concern only the item in progress, for example a missing row that it refers to. Errors of the database or of
   * memory, and transient errors, would fail any item, so these are retried.
   */
  isAboutOneItem(error: unknown): boolean
}

/** The stage in which an error was thrown. */
export type SetAsideStage = 'linking' | 'waiting' | 'settling' | 'sending' | 'pruning' | 'inference'

/** An item that could not be processed, and was skipped so that others could be. */
export interface SetAside {
  readonly stage: SetAsideStage
  /**
   * A span, mergelog, explained CPID, log record, change, trace, CPID, decision or position of an outbox, or a write or Event of a cluster.
   */
  readonly kind: string
  /** Its arrival; in settling the id of the trace, in sending the decision, in pruning the CPID, in inference the version written. */
  readonly item: number
  readonly cpid: string | undefined
  readonly exporter: string | undefined
  readonly reason: string
}

const MAX_LETTERS = 500

/** Whether memory ran out, which is not the fault of the item in progress. */
export function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof Error && /allocation failed|out of memory/i.test(thrown.message)
}

/** The message of an error and where it was thrown, short enough to store. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown).slice(0, MAX_LETTERS)
  const [, place] = /^\s*at .*?([^\s(/]+:\d+):\d+\)?$/m.exec(thrown.stack ?? '') ?? []
  const where = place === undefined ? '' : ` (at ${place})`
  return `${thrown.name === 'Error' ? '' : `${thrown.name}: `}${thrown.message}`.slice(0, MAX_LETTERS) + where
}
