/** What caches rows hears of those that pruning removes. */
export interface PrunedRows {
  origin(origin: number): void
  object(id: number, object: string, cluster: string): void
  trace(id: number, root: number): void
  waitingLog(): void
}
