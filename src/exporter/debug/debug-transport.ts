import { SPAN_KINDS, SPAN_STATUSES } from '../../model/arrivals.ts'
import { errorText } from '../../model/faults.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import type { Signal } from '../../model/otlp-requests.ts'
import { EXPORT_REQUEST, type OtlpJson } from '../../model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../model/otlp/protobuf-to-json.ts'
import type { Transport } from '../../model/outbox.ts'
import { rfc3339 } from '../../model/time-and-size.ts'
import { delivered } from '../backend-replies.ts'
import type { SendingHost } from '../exporter-type.ts'
import type { DebugExporterSettings } from './debug-exporter.ts'

type Verbosity = 'basic' | 'normal' | 'detailed'

export interface DebugTransportSettings {
  /** basic: one line a request. normal: also one for each span. detailed: also one for each fact of a span. */
  verbosity: Verbosity
  /** The signal; traces by default. */
  signal?: Signal
  /** Takes one line, without its end. */
  write: (line: string) => void
}

type Show = (request: Uint8Array, verbosity: Verbosity) => string[]

const SHOW: Record<Signal, Show> = {
  traces: (request, verbosity) => {
    const { resources, items } = requestItems<SpanJson>('traces', request)
    const title = `Traces {"resource spans": ${resources}, "spans": ${items.length}}`
    return [title, ...itemLines(items, verbosity, spanLine, spanLines)]
  },
  logs: (request, verbosity) => {
    const { resources, items } = requestItems<OtlpJson<'LogRecord'>>('logs', request)
    const title = `Logs {"resource logs": ${resources}, "log records": ${items.length}}`
    return [title, ...itemLines(items, verbosity, logLine, logLines)]
  },
  metrics: (request, verbosity) => {
    const { resources, items } = requestItems<OtlpJson<'Metric'>>('metrics', request)
    const title = `Metrics {"resource metrics": ${resources}, "metrics": ${items.length}}`
    return [title, ...itemLines(items, verbosity, metricLine, metricLines)]
  },
}

/** The transport of a configured exporter. */
export function openTransport(
  { verbosity }: DebugExporterSettings,
  signal: Signal,
  { writeLine }: Pick<SendingHost, 'writeLine'>,
): Transport {
  return openDebugTransport({ verbosity, signal, write: writeLine })
}

/** The `debug` exporter: prints requests instead of sending them. */
export function openDebugTransport({
  verbosity,
  signal = 'traces',
  write,
}: DebugTransportSettings): Transport {
  return {
    send(request) {
      try {
        for (const line of SHOW[signal](request, verbosity)) write(line.replaceAll(/[\n\r\t]+/g, ' '))
        return Promise.resolve(delivered(0, ''))
      } catch (error) {
        const reason = `cannot be shown: ${errorText(error)}`
        return Promise.resolve({ kind: 'refused', splittable: true, reason })
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function itemLines<T>(
  items: RequestItem<T>[],
  verbosity: Verbosity,
  line: (item: RequestItem<T>) => string,
  lines: (item: RequestItem<T>) => string[],
): string[] {
  switch (verbosity) {
    case 'basic':
      return []
    case 'normal':
      return items.map(line)
    case 'detailed':
      return items.flatMap(lines)
  }
}

export type SpanJson = OtlpJson<'Span'>
type SpanItem = RequestItem<SpanJson>

/** A span on one line: name, trace id, span id, attributes. */
function spanLine({ item }: SpanItem): string {
  const { name = '', traceId = '', spanId = '', attributes } = item
  return [name, traceId, spanId, ...attributeTexts(attributes)].join(' ')
}

/** A span with all of its fields, one per line. */
export function spanLines({ resource, scope, item }: SpanItem): string[] {
  return [
    `Span ${item.name ?? ''}`,
    `    trace id: ${item.traceId ?? ''}`,
    `    span id: ${item.spanId ?? ''}`,
    `    parent span id: ${item.parentSpanId ?? 'none'}`,
    `    kind: ${named(SPAN_KINDS, item.kind)}`,
    `    start: ${timeText(item.startTimeUnixNano)}`,
    `    end: ${timeText(item.endTimeUnixNano)}`,
    `    status: ${named(SPAN_STATUSES, item.status?.code)} ${item.status?.message ?? ''}`.trimEnd(),
    `    scope: ${scope.name ?? ''} ${scope.version ?? ''}`.trimEnd(),
    ...attributeTexts(resource.attributes).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item.attributes).map((text) => `    attribute: ${text}`),
    ...(item.events ?? []).map((event) => `    event: ${eventText(event)}`),
    ...(item.links ?? []).map((link) => `    link: ${linkText(link)}`),
    ...droppedTexts(item),
  ]
}

function eventText({ timeUnixNano, name = '', attributes }: OtlpJson<'Event'>): string {
  return [timeText(timeUnixNano), name, ...attributeTexts(attributes)].join(' ')
}

function linkText({ traceId = '', spanId = '', attributes }: OtlpJson<'Link'>): string {
  return [traceId, spanId, ...attributeTexts(attributes)].join(' ')
}

function droppedTexts(item: SpanJson): string[] {
  const counts = {
    attributes: item.droppedAttributesCount,
    events: item.droppedEventsCount,
    links: item.droppedLinksCount,
  }
  return Object.entries(counts).flatMap(([what, count = 0]) =>
    count > 0 ? [`    dropped ${what}: ${count}`] : [],
  )
}

function timeText(nanos = '0'): string {
  return rfc3339(BigInt(nanos))
}

function named(names: readonly string[], value = 0): string {
  return names[value] ?? String(value)
}

type LogItem = RequestItem<OtlpJson<'LogRecord'>>

/** A log record on one line: event name, body, attributes. */
export function logLine({ item: { eventName, body, attributes } }: LogItem): string {
  const event = eventName === undefined ? [] : [eventName]
  return [...event, anyValueText(body), ...attributeTexts(attributes)].join(' ')
}

/** A log record with all of its fields, one per line. */
export function logLines({ resource, scope, item }: LogItem): string[] {
  return [
    `LogRecord ${item.eventName ?? ''}`,
    `    time: ${rfc3339(BigInt(item.timeUnixNano ?? 0))}`,
    `    observed time: ${rfc3339(BigInt(item.observedTimeUnixNano ?? 0))}`,
    `    severity: ${item.severityNumber ?? 0} ${item.severityText ?? ''}`,
    `    body: ${anyValueText(item.body)}`,
    `    trace id: ${item.traceId ?? ''}`,
    `    span id: ${item.spanId ?? ''}`,
    `    scope: ${scope.name ?? ''} ${scope.version ?? ''}`,
    ...attributeTexts(resource.attributes).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item.attributes).map((text) => `    attribute: ${text}`),
  ].map((line) => line.trimEnd())
}

type MetricItem = RequestItem<OtlpJson<'Metric'>>

/** One of Causeway's own metrics on one line: name, unit, how many points. */
function metricLine({ item }: MetricItem): string {
  return `${item.name ?? ''} ${item.unit ?? ''} points=${pointsOf(item).length}`
}

/** One of Causeway's own metrics with its points, one a line. */
function metricLines(metric: MetricItem): string[] {
  return [`Metric ${metricLine(metric)}`, ...pointsOf(metric.item).map((text) => `    ${text}`)]
}

function pointsOf({ sum, histogram }: OtlpJson<'Metric'>): string[] {
  return [
    ...(sum?.dataPoints ?? []).map(({ attributes, asInt = '0' }) =>
      [...attributeTexts(attributes), `value=${asInt}`].join(' '),
    ),
    ...(histogram?.dataPoints ?? []).map((point) =>
      [...attributeTexts(point.attributes), `count=${point.count ?? 0}`, `sum=${point.sum ?? 0}`].join(' '),
    ),
  ]
}

/** Deeper values are shown as an ellipsis. */
const DEEPEST = 16

/** Each attribute as `key=value`, values written as JSON. */
function attributeTexts(attributes: readonly OtlpJson<'KeyValue'>[] = []): string[] {
  return attributes.map(({ key = '', value }) => `${key}=${anyValueText(value)}`)
}

/** An AnyValue as JSON text; bytes as base64, an empty value as null. */
function anyValueText(value: OtlpJson<'AnyValue'> = {}, depth = 0): string {
  if (depth === DEEPEST) return '…'
  const { arrayValue, kvlistValue, intValue, doubleValue } = value
  if (arrayValue !== undefined)
    return `[${(arrayValue.values ?? []).map((item) => anyValueText(item, depth + 1)).join(',')}]`
  if (kvlistValue !== undefined) {
    const pairs = (kvlistValue.values ?? []).map(
      (pair) => `${JSON.stringify(pair.key ?? '')}:${anyValueText(pair.value, depth + 1)}`,
    )
    return `{${pairs.join(',')}}`
  }
  // 64-bit integers and non-finite numbers are strings in OTLP/JSON.
  if (intValue !== undefined || doubleValue !== undefined) return String(intValue ?? doubleValue)
  return JSON.stringify(value.stringValue ?? value.boolValue ?? value.bytesValue ?? null)
}

/** A span, log record or metric in OTLP/JSON, with the resource and scope it came under. */
interface RequestItem<T> {
  resource: OtlpJson<'Resource'>
  scope: OtlpJson<'InstrumentationScope'>
  item: T
}

type Nested = Readonly<Record<string, unknown>>

/** The list fields of each signal's request, outermost first (opentelemetry-proto v1). */
const LISTS: Record<Signal, readonly [string, string, string]> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
}

/** The items of an export request, and the number of resources. Throws MalformedOtlp. */
function requestItems<T>(
  signal: Signal,
  request: Uint8Array,
): { resources: number; items: RequestItem<T>[] } {
  const [groups, scopes, records] = LISTS[signal]
  const resources = listIn(jsonOfProtobuf(EXPORT_REQUEST[signal], request), groups)
  const items = resources.flatMap((group) =>
    listIn(group, scopes).flatMap((scoped) =>
      listIn(scoped, records).map((item) => ({
        resource: group['resource'] ?? {},
        scope: scoped['scope'] ?? {},
        item: item as T,
      })),
    ),
  )
  return { resources: resources.length, items }
}

function listIn(message: Nested, name: string): readonly Nested[] {
  return (ownValue(message, name) ?? []) as readonly Nested[]
}
