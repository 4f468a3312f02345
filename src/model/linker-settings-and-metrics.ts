export type LinkingMode = 'cascade' | 'links' | 'passthrough'

/** What an operator says of linking. */
export interface LinkSettings {
  mode: LinkingMode
  /** How long a span waits for what is missing, from when it was first missed. */
  waitMs: number
  /** How long nothing must arrive for a trace to settle. */
  settleAfterMs: number
  maxOpenMs: number
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
}

export interface LinkerSettings extends LinkSettings {
  /** Log records are linked too, because something sends them on. */
  logs: boolean
  /** Who sends may be told apart, so that the room of a trace is shared out. */
  tellsSendersApart?: boolean
  /** Spans of API servers wait for the write that they are of, because something tells of requests. */
  awaitsRequests?: boolean
  /** Spans of kubelets wait for a version of their Pod, because something tells of writes. */
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
  settled: 0,
  episodes: 0,
  /** Log records sent on, and those of them without a CPID. */
  logs: 0,
  unattributedLogs: 0,
}

/** What one round of linking did, for the metrics. */
export type LinkCounts = typeof NOTHING_LINKED

export const noLinkCounts = (): LinkCounts => ({ ...NOTHING_LINKED })

/** Something the linker saw that metrics tell of; the ids are those of the span it happened in, as it was sent. */
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

/** What was measured since the last time. */
export interface CascadeFigures {
  durations: HistogramSeries[]
  hops: HistogramSeries[]
}
