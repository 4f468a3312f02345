import type { Cascade, Span, Trace } from '../../../src/query/answer-schemas.ts'

/** A span with the times at which it is drawn. */
export interface DrawnSpan extends Span {
  /** Its own times, where they are impossible and so drawn elsewhere. */
  readonly told?: Pick<Span, 'offsetMs' | 'durationMs'>
}

/** The spans of a cascade in tree order, trace after trace, and who caused whom. */
export interface SpanRows {
  spans: readonly DrawnSpan[]
  /** The position of the span above; -1 at the top of a trace. */
  parents: Int32Array
  /** The number of spans in each subtree, including its top. */
  sizes: Int32Array
  traces: readonly Trace[]
  /** The position in `traces` of each span's trace. */
  traceOf: Int32Array
  byId: ReadonlyMap<string, number>
}

/** Causeway's span for the end of a cascade summarizes it. The page shows that already. */
const isSummary = (span: Span): boolean => span.synthetic && span.name === 'cascade'

/** A time this far from all activity of a cascade is wrong. */
const FAR_MS = 86_400_000

/** A span with times to draw: one that is far from all activity, such as 1970, is drawn at the nearest time in it. */
function inTime(span: Span, wholeMs: number): DrawnSpan {
  const possible = (ms: number): number => {
    if (ms < -FAR_MS) return 0
    return ms > wholeMs + FAR_MS ? wholeMs : ms
  }
  const [fromMs, toMs] = [span.offsetMs, span.offsetMs + span.durationMs]
  const offsetMs = possible(fromMs)
  if (offsetMs === fromMs && possible(toMs) === toMs) return span
  const told = { offsetMs: fromMs, durationMs: span.durationMs }
  return { ...span, offsetMs, durationMs: possible(toMs) - offsetMs, told }
}

export function spanRows({ traces, durationMs }: Pick<Cascade, 'traces' | 'durationMs'>): SpanRows {
  const spans: DrawnSpan[] = []
  const trace: number[] = []
  const positions = new Map(traces.map((one, at) => [one.traceId, at]))
  traces.forEach((one, at) => {
    for (const span of one.spans) {
      if (isSummary(span)) continue
      spans.push(inTime(span, durationMs))
      trace.push(span.traceId === undefined ? at : (positions.get(span.traceId) ?? at))
    }
  })
  const parents = new Int32Array(spans.length)
  const sizes = new Int32Array(spans.length).fill(1)
  const byId = new Map<string, number>()
  const above: number[] = []
  spans.forEach((span, at) => {
    parents[at] = span.depth === 0 ? -1 : (above[span.depth - 1] ?? -1)
    above[span.depth] = at
    if (!byId.has(span.spanId)) byId.set(span.spanId, at)
  })
  for (let at = spans.length - 1; at >= 0; at--) {
    const parent = parents[at] ?? -1
    if (parent >= 0) sizes[parent] = (sizes[parent] ?? 0) + (sizes[at] ?? 0)
  }
  return { spans, parents, sizes, traces, traceOf: Int32Array.from(trace), byId }
}

/** The failed spans of this change, in order of their start. */
export function failuresOf({ spans }: Pick<SpanRows, 'spans'>): number[] {
  const failures = spans.flatMap((span, at) =>
    span.status === FAILED && span.activity !== false ? [at] : [],
  )
  return failures.sort((a, b) => (spans[a]?.offsetMs ?? 0) - (spans[b]?.offsetMs ?? 0))
}

/** The span of this change with the longest own time. */
export function slowestOf({ spans }: Pick<SpanRows, 'spans'>): number | undefined {
  let slowest: number | undefined
  spans.forEach((span, at) => {
    if (span.activity !== false && span.selfMs > (spans[slowest ?? -1]?.selfMs ?? 0)) slowest = at
  })
  return slowest
}

/** OTLP's status of an error. */
export const FAILED = 2

/** Whether the text occurs in what is shown of a span. The text is in lower case. */
export function matches(span: Span, text: string): boolean {
  return (
    span.name.toLowerCase().includes(text) ||
    span.service.toLowerCase().includes(text) ||
    span.cluster?.toLowerCase().includes(text) === true ||
    span.user?.toLowerCase().includes(text) === true ||
    span.cause === text ||
    span.spanId === text ||
    span.cpid?.includes(text) === true ||
    span.wrote?.some((object) => object.toLowerCase().includes(text)) === true ||
    span.observed?.some((object) => object.toLowerCase().includes(text)) === true
  )
}
