export type LinkingMode = 'cascade' | 'links' | 'passthrough'

/** The `linking` keys of the configuration. */
export interface LinkSettings {
  mode: LinkingMode
  /** How long a span waits for what is missing, from when it was first missed. */
  waitMs: number
  /** A trace settles after this long without activity. */
  settleAfterMs: number
  maxOpenMs: number
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
}

export interface LinkerSettings extends LinkSettings {
  /** Log records are linked too: a pipeline exports them. */
  logs: boolean
  /** Senders have permissions of their own, so the room of a trace is shared between clusters. */
  hasSenderRules?: boolean
  /** Spans of API servers wait for their write: a receiver observes requests. */
  awaitsRequests?: boolean
  /** Spans of kubelets wait for a version of their Pod: a receiver observes writes. */
  awaitsPods?: boolean
}

const NOTHING_LINKED = {
  sent: 0,
  unattributed: 0,
  lateMergelogs: 0,
  lateParents: 0,
  duplicateSpans: 0,
  duplicateLogs: 0,
  cutRoots: 0,
  /** Late parents and back links for which their trace had no room. */
  leftOut: 0,
  /** Spans of other clusters for which the traces of their change had no room left. */
  beyondShare: 0,
  /** Spans that had the id of a change span of the trace they belong to. */
  ownIds: 0,
  settled: 0,
  episodes: 0,
  /** Log records sent on, and those of them without a CPID. */
  logs: 0,
  unattributedLogs: 0,
}

/** What one round of linking did, for the metrics. */
export type LinkCounts = typeof NOTHING_LINKED

export const noLinkCounts = (): LinkCounts => ({ ...NOTHING_LINKED })

/** A measurement for the metrics, with the trace and span ids of the sent span for its exemplar. */
export type CascadeObservation = { seconds: number; traceId: Buffer; spanId: bigint } & (
  | { kind: 'cascade' }
  /** The first reconcile of a service that observed a write: from the end of the write to its own start. */
  | { kind: 'hop'; service: string; objectKind: string }
)

/** One measurement, with the span it was made in. */
export interface Exemplar {
  readonly value: number
  /** Unix time. */
  readonly timeMs: number
  /** Lower-case hexadecimal. */
  readonly traceId: string
  readonly spanId: string
}

/** The measurements with the same label values. Each bucket holds its own count; the last one is without bound. */
export interface HistogramSeries {
  /** In the order of the metric's label names. */
  readonly labels: readonly string[]
  readonly counts: number[]
  sum: number
  /** The latest of each bucket. */
  readonly exemplars: (Exemplar | undefined)[]
}

/** Measurements since the last report. */
export interface CascadeFigures {
  durations: HistogramSeries[]
  hops: HistogramSeries[]
}
