/** What the served cluster is told: deploy so many applications, as fast as they are read without `perSecond` writes. */
export interface WriteOrder {
  kind: 'write'
  apps: number
  perSecond?: number
}

export type ToCluster = WriteOrder | { kind: 'stand'; pods: number }

/** Times are epoch milliseconds. */
export type FromCluster =
  | { kind: 'ready'; port: number }
  | {
      kind: 'written'
      startedMs: number
      endedMs: number
      writes: number
      /** The last one. */
      version: number
      /** When some of the versions were written, in order. */
      writtenMs: [version: number, ms: number][]
    }
  | { kind: 'failed'; reason: string }
