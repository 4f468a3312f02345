/** Is told of what receivers see of clusters, and how they fare; must not throw. `receiver` is the id in the configuration. */
export interface ClusterObserver {
  /** So much was told and is durable. */
  told(receiver: string, observations: number): void
  /** So much was read and makes no write. */
  skipped(receiver: string, reason: string, count: number): void
  /** So much cannot be read and is left out, while all else goes on; `reason` says what of the first. */
  unreadable(receiver: string, count: number, reason: string): void
  /** A resource was listed anew. */
  relisted(receiver: string): void
  /** A watch was begun. */
  watched(receiver: string): void
  /** So many resources may not be seen now. */
  refused(receiver: string, resources: number): void
}
