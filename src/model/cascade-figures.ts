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
