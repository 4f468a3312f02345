export type LinkingMode = 'cascade' | 'links' | 'passthrough'

/** The `linking` keys of the configuration. */
export interface LinkSettings {
  mode: LinkingMode
  /** How long a span waits for something that is missing, from when it was first missed. */
  waitMs: number
  /** How long a trace is without activity before it settles. */
  settleAfterMs: number
  maxOpenMs: number
  /** How many of its newest roots are kept for a CPID. */
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
}

export interface LinkerSettings extends LinkSettings {
  /** Whether log records are linked: a pipeline exports them. */
  logs: boolean
  /** Whether senders have permissions of their own. Then clusters share the room in a trace. */
  hasSenderRules?: boolean
  /** Whether spans of API servers wait for their write: a receiver observes requests. */
  awaitsRequests?: boolean
  /** Whether spans of kubelets wait for a version of their Pod: a receiver observes writes. */
  awaitsPods?: boolean
}

const NOTHING_LINKED = {
  /** Spans sent on. No metric has them, but a round in which all counts are 0 is not told, and exporters would not hear of it. */
  sent: 0,
  unattributed: 0,
  lateMergelogs: 0,
  lateParents: 0,
  duplicateSpans: 0,
  duplicateLogs: 0,
  cutRoots: 0,
  /** Late parents and back links that were dropped because their trace was full. */
  leftOut: 0,
  /** Spans of other clusters that were dropped because their share of the traces was full. */
  beyondShare: 0,
  /** Spans whose id was that of a change span in their trace. */
  ownIds: 0,
  settled: 0,
  episodes: 0,
  /** Log records sent, and those of them without a CPID. */
  logs: 0,
  unattributedLogs: 0,
}

/** What one round of linking did, for the metrics. */
export type LinkCounts = typeof NOTHING_LINKED

export const noLinkCounts = (): LinkCounts => ({ ...NOTHING_LINKED })

/** A measurement for the metrics. The ids are those of the sent span, for the exemplar. */
export type CascadeObservation = { seconds: number; traceId: Buffer; spanId: bigint } & (
  | { kind: 'cascade' }
  /** From the end of a write to the start of the first reconcile of a service that observed it. */
  | { kind: 'hop'; service: string; objectKind: string }
)

/** A measurement with the span in which it was made. */
export interface Exemplar {
  readonly value: number
  /** Unix time. */
  readonly timeMs: number
  /** Lower-case hex digits. */
  readonly traceId: string
  readonly spanId: string
}

/** The measurements with the same label values. `counts` are not cumulative; the last bucket is unbounded. */
export interface HistogramSeries {
  /** Label values, in the order of the metric's label names. */
  readonly labels: readonly string[]
  readonly counts: number[]
  sum: number
  /** The latest exemplar of each bucket. */
  readonly exemplars: (Exemplar | undefined)[]
}

/** Measurements since the last report. */
export interface CascadeFigures {
  durations: HistogramSeries[]
  hops: HistogramSeries[]
}
