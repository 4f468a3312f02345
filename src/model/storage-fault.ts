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
