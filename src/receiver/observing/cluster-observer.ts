import type { Skipped } from '../../model/kubernetes/observation.ts'

/** Is told of what receivers saw of clusters, by the id of the receiver; must not throw. */
export interface ClusterObserver {
  /** So many versions, requests or Events are stored. */
  told(receiver: string, count: number): void
  /** What was seen and makes no write, by why. */
  skipped(receiver: string, counts: Readonly<Partial<Record<Skipped, number>>>): void
  /** Something that cannot be read is left out, while all else goes on. */
  unreadable(receiver: string, count: number, reason: string): void
  /** What could not be stored, though it was seen, and will not come again. */
  lost(receiver: string, count: number, reason: string): void
  /** So much of a file is written and not stored yet. */
  behind(receiver: string, bytes: number): void
}
