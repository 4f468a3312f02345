/** What the process that writes is told; each works on the database at `path`. */
export type ToWriter =
  /** Link this many fresh changes, then prune this many CPIDs. */
  | { kind: 'measure'; path: string; changes: number; prune: number }
  /** Give objects this many changes, hours apart, and measure what further ones cost. */
  | { kind: 'objects'; path: string; changes: number; rounds: number }

export type FromWriter =
  | { kind: 'ready' }
  | {
      kind: 'measured'
      /** Microseconds of the writing thread, and of waiting with it. */
      perSpan: Cost
      perCpid: Cost
      perPruned: Cost
    }
  /** The first and the newest CPID of one of the objects; what a further change cost in each round. */
  | { kind: 'objects'; first: string; newest: string; object: string; linkCpuUs: number[] }
  | { kind: 'failed'; reason: string }

export interface Cost {
  cpuUs: number
  wallUs: number
}
