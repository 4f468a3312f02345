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
