import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'

/** OTLP/JSON as Jaeger and the Collector write it. */
export type TracesJson = OtlpJson<'ExportTraceServiceRequest'>
export type SpanJson = OtlpJson<'Span'> & { traceId: string; spanId: string }

/** A span with what it stands under. */
export type PlacedSpan = SpanJson & {
  resource: OtlpJson<'Resource'>
  scope: OtlpJson<'InstrumentationScope'>
  schemaUrls: readonly string[]
  service: string
}

/** The spans of a request or an answer, in its order. */
export function placedSpans({ resourceSpans = [] }: TracesJson): PlacedSpan[] {
  return resourceSpans.flatMap(({ resource = {}, scopeSpans = [], schemaUrl: resourceSchema = '' }) => {
    const service = attribute(resource, 'service.name')?.stringValue ?? ''
    return scopeSpans.flatMap(({ scope = {}, spans = [], schemaUrl: scopeSchema = '' }) => {
      const place = { resource, scope, schemaUrls: [resourceSchema, scopeSchema], service }
      return spans.map((span) => ({ traceId: '', spanId: '', ...span, ...place }))
    })
  })
}

export function attribute(
  { attributes = [] }: OtlpJson<'Resource'>,
  key: string,
): OtlpJson<'AnyValue'> | undefined {
  return attributes.find((one) => one.key === key)?.value
}

/** Whether Causeway made the span, as it says itself. */
export function isSynthetic(span: SpanJson): boolean {
  return attribute(span, 'cpid.synthetic')?.boolValue === true
}

/** What names a span everywhere: trace id and span id. */
export function spanKey({ traceId = '', spanId = '' }: OtlpJson<'Link'>): string {
  return `${traceId}:${spanId}`
}

export function spansByTrace<Span extends SpanJson>(spans: readonly Span[]): Map<string, Span[]> {
  return Map.groupBy(spans, ({ traceId }) => traceId)
}

/** What a span was named before Causeway moved it into the trace of its change. */
export function originalKey(span: SpanJson): string {
  const traceId = attribute(span, 'cpid.original_trace_id')?.stringValue ?? span.traceId
  return spanKey({ traceId, spanId: span.spanId })
}

/** One line a span, in an order that depends only on the spans; so are attributes, which Jaeger sorts. */
export function spanLines(spans: readonly PlacedSpan[]): string[] {
  return spans.map((span) => JSON.stringify(span, inOrder)).sort()
}

function inOrder(key: string, value: unknown): unknown {
  if (key === 'attributes') {
    return (value as OtlpJson<'KeyValue'>[]).toSorted(byKey)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function byKey(
  { key: one = '' }: OtlpJson<'KeyValue'>,
  { key: other = '' }: OtlpJson<'KeyValue'>,
): number {
  return one < other ? -1 : 1
}
