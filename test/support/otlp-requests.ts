import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'

/** 2026-01-01T00:00:00Z in nanoseconds: where the test clock starts. */
export const START_NS = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n

/** A CPID that is easy to read in a failure: cpid(1) is 00000000-0000-4000-8000-000000000001. */
export function cpid(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
}

export interface SpanSketch {
  /** Original trace, any number. */
  trace: number | bigint
  /** Span id within it. */
  id: number
  /** In hex, in place of `id`. */
  spanId?: string
  parent?: number
  name?: string
  cpid?: string
  /** OTLP's number: 2 is an error. */
  status?: number
  /** Milliseconds after START_NS. */
  start?: number
  end?: number
  attributes?: Record<string, unknown>
  links?: { trace: number; id: number }[]
  events?: unknown[]
  statusMessage?: string
}

export interface MergelogSketch {
  new: string
  sources?: string[]
  /** Milliseconds after START_NS. */
  time?: number
  object?: string
  reason?: string
  writer?: string
  /** The span that it was told in; any numbers. */
  told?: { trace: number; id: number }
}

export const hexTrace = (trace: number | bigint): string => trace.toString(16).padStart(32, '0')
/** A trace whose id's first bytes come in no order as the numbers go up. */
export const scattered = (trace: number): bigint => (BigInt((trace * 37) % 97) << 120n) | BigInt(trace)
export const hexSpan = (id: number): string => id.toString(16).padStart(16, '0')
export const nanosAfter = (ms: number): string => String(START_NS + BigInt(Math.round(ms * 1_000_000)))

export function spansRequest(service: string, spans: readonly SpanSketch[], cluster?: string): Buffer {
  const request = {
    resourceSpans: [
      {
        resource: resourceOf(service, cluster),
        scopeSpans: [{ scope: { name: 'test' }, spans: spans.map(spanJson) }],
      },
    ],
  }
  return Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
}

export function mergelogsRequest(
  service: string,
  mergelogs: readonly MergelogSketch[],
  cluster?: string,
): Buffer {
  const logRecords = mergelogs.map((mergelog) => ({
    timeUnixNano: nanosAfter(mergelog.time ?? 0),
    eventName: 'cpid.mergelog',
    attributes: mergelogAttributes(mergelog),
    ...(mergelog.told && { traceId: hexTrace(mergelog.told.trace), spanId: hexSpan(mergelog.told.id) }),
  }))
  const request = {
    resourceLogs: [
      { resource: resourceOf(service, cluster), scopeLogs: [{ scope: { name: 'test' }, logRecords }] },
    ],
  }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
}

export interface LogSketch {
  body: string
  /** Original trace and span, any numbers. */
  trace?: number
  span?: number
  cpid?: string
  /** Milliseconds after START_NS. */
  time?: number
  /** 9, of information, unless given. */
  severity?: number
  attributes?: Record<string, unknown>
}

export function logsRequest(service: string, logs: readonly LogSketch[], cluster?: string): Buffer {
  const logRecords = logs.map(({ body, trace, span, cpid: carried, time, severity = 9, attributes }) => ({
    timeUnixNano: nanosAfter(time ?? 0),
    severityNumber: severity,
    body: { stringValue: body },
    attributes: attributesJson({ ...(carried !== undefined && { 'cpid.id': carried }), ...attributes }),
    ...(trace !== undefined && { traceId: hexTrace(trace) }),
    ...(span !== undefined && { spanId: hexSpan(span) }),
  }))
  const request = {
    resourceLogs: [
      { resource: resourceOf(service, cluster), scopeLogs: [{ scope: { name: 'test' }, logRecords }] },
    ],
  }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
}

/** The same mergelog as the event of a span. */
export function mergelogEvent(mergelog: MergelogSketch): unknown {
  return {
    timeUnixNano: nanosAfter(mergelog.time ?? 0),
    name: 'cpid.mergelog',
    attributes: mergelogAttributes(mergelog),
  }
}

function mergelogAttributes(mergelog: MergelogSketch): unknown[] {
  return attributesJson({
    'cpid.new': mergelog.new,
    ...(mergelog.sources !== undefined && { 'cpid.sources': mergelog.sources }),
    ...(mergelog.object !== undefined && { 'cpid.object': mergelog.object }),
    ...(mergelog.reason !== undefined && { 'cpid.reason': mergelog.reason }),
    ...(mergelog.writer !== undefined && { 'cpid.writer': mergelog.writer }),
  })
}

function resourceOf(service: string, cluster: string | undefined): unknown {
  return {
    attributes: attributesJson({
      'service.name': service,
      ...(cluster !== undefined && { 'k8s.cluster.name': cluster }),
    }),
  }
}

function spanJson(span: SpanSketch): unknown {
  const start = span.start ?? span.id
  return {
    traceId: hexTrace(span.trace),
    spanId: span.spanId ?? hexSpan(span.id),
    ...(span.parent !== undefined && { parentSpanId: hexSpan(span.parent) }),
    name: span.name ?? `span ${span.id}`,
    kind: 1,
    startTimeUnixNano: nanosAfter(start),
    endTimeUnixNano: nanosAfter(span.end ?? start + 1),
    attributes: attributesJson({
      ...(span.cpid !== undefined && { 'cpid.id': span.cpid }),
      ...span.attributes,
    }),
    links: span.links?.map((link) => ({ traceId: hexTrace(link.trace), spanId: hexSpan(link.id) })),
    events: span.events,
    ...(span.status !== undefined && { status: { code: span.status, message: span.statusMessage } }),
  }
}

function attributesJson(attributes: Record<string, unknown>): unknown[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue(value: unknown): unknown {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  return { stringValue: String(value) }
}
