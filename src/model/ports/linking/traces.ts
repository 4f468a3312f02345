import type { UnixNanos } from '../../clock.ts'

/** An outgoing trace: the main one of a root (episode 0) or an episode. Saved with the transaction once touched. */
export interface Trace {
  readonly id: number
  readonly traceId: Buffer
  readonly root: number
  readonly episode: number
  /** The first trace of the cascade that this one goes on with, because those before it were full; else its own number. */
  readonly cascade: number
  readonly rootSpan: bigint
  open: boolean
  /** Up time in milliseconds. */
  readonly openedMs: number
  lastArrivalMs: number
  /** Wall-clock time of the last arrival, in milliseconds. */
  lastWallMs: number
  dueMs: number
  firstNs: UnixNanos
  lastNs: UnixNanos
  /** A sender gave a time that cannot be, or one that lies far before the others: it is left out of first and last. */
  clockSkew: boolean
  /** All times so far lie so long before their arrival that a better one replaces them. */
  doubtfulTimes: boolean
  sentSpans: number
  /** The most that a backend makes of what was sent, however it is batched. */
  sentBytes: number
  /** What of that is of other clusters than its root's, where senders are told apart. */
  guestSpans: number
  guestBytes: number
  controllerSpans: number
  services: number
  merges: number
  missing: number
  truncated: boolean
  /** False until its root span is decided (modes in which spans do not wait for it). */
  rootSent: boolean
  /** Opened for a CPID whose own mergelog had not arrived. */
  readonly provisional: boolean
  /** An episode because the trace before was full: its root is still open, as it is while its main trace is. */
  readonly continuesRoot: boolean
}

/** Which outgoing traces there are, and how they stand. */
export interface Traces {
  trace(id: number): Trace | undefined
  /** The root's newest trace. */
  currentOf(root: number): Trace | undefined
  ofRoot(root: number): Trace[]
  /** The traces of a cascade, by the number of its first, as far as they are there. */
  partsOf(cascade: number): Trace[]
  /** How many services have spans in a cascade. */
  servicesIn(cascade: number): number
  /** CPIDs in the traces of a cascade whose own mergelog has not arrived. */
  countMissing(trace: Trace): number
  /** Open traces whose time to look at has come. */
  due(limit: number): Trace[]
  /** Begins a cascade, or goes on with that of another trace. */
  add(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace
  touch(trace: Trace): void
  /** True when the trace had no span of this service yet. */
  addService(trace: Trace, service: string): boolean
}
