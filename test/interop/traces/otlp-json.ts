/** OTLP/JSON as Jaeger and the Collector write it. */
export interface TracesJson {
  resourceSpans?: ResourceSpansJson[]
}

export interface ResourceSpansJson {
  resource?: ResourceJson
  scopeSpans?: { scope?: ScopeJson; spans?: SpanJson[]; schemaUrl?: string }[]
  schemaUrl?: string
}

export interface ResourceJson {
  attributes?: AttributeJson[]
  droppedAttributesCount?: number
}

export interface ScopeJson extends ResourceJson {
  name?: string
  version?: string
}

export interface SpanJson {
  traceId: string
  spanId: string
  traceState?: string
  parentSpanId?: string
  flags?: number
  name?: string
  kind?: number
  startTimeUnixNano?: string
  endTimeUnixNano?: string
  attributes?: AttributeJson[]
  droppedAttributesCount?: number
  events?: EventJson[]
  droppedEventsCount?: number
  links?: LinkJson[]
  droppedLinksCount?: number
  status?: { message?: string; code?: number }
}

export interface EventJson {
  timeUnixNano?: string
  name?: string
  attributes?: AttributeJson[]
  droppedAttributesCount?: number
}

export interface LinkJson {
  traceId: string
  spanId: string
  traceState?: string
  attributes?: AttributeJson[]
  droppedAttributesCount?: number
  flags?: number
}

export interface AttributeJson {
  key: string
  value?: AnyValueJson
}

export interface AnyValueJson {
  stringValue?: string
  intValue?: string
  doubleValue?: number
  boolValue?: boolean
  bytesValue?: string
  arrayValue?: { values?: AnyValueJson[] }
  kvlistValue?: { values?: AttributeJson[] }
}

/** A span with what it stands under. */
export interface PlacedSpan extends SpanJson {
  resource: ResourceJson
  scope: ScopeJson
  schemaUrls: readonly string[]
  service: string
}

/** The spans of a request or an answer, in its order. */
export function placedSpans({ resourceSpans = [] }: TracesJson): PlacedSpan[] {
  return resourceSpans.flatMap(({ resource = {}, scopeSpans = [], schemaUrl: resourceSchema = '' }) => {
    const service = attribute(resource, 'service.name')?.stringValue ?? ''
    return scopeSpans.flatMap(({ scope = {}, spans = [], schemaUrl: scopeSchema = '' }) => {
      const place = { resource, scope, schemaUrls: [resourceSchema, scopeSchema], service }
      return spans.map((span) => ({ ...span, ...place }))
    })
  })
}

export function attribute(
  { attributes = [] }: { attributes?: AttributeJson[] },
  key: string,
): AnyValueJson | undefined {
  return attributes.find((one) => one.key === key)?.value
}

/** Whether Causeway made the span, as it says itself. */
export function isSynthetic(span: SpanJson): boolean {
  return attribute(span, 'cpid.synthetic')?.boolValue === true
}

/** What names a span everywhere: trace id and span id. */
export function spanKey({ traceId, spanId }: { traceId: string; spanId: string }): string {
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
    return (value as AttributeJson[]).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
