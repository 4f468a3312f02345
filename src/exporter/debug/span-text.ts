import { rfc3339 } from '../../model/rfc3339.ts'
import { attributeTexts, type KeyValueJson } from './any-value-text.ts'
import type { RequestItem } from './request-items.ts'

interface EventJson {
  timeUnixNano?: string
  name?: string
  attributes?: KeyValueJson[]
}

interface LinkJson {
  traceId?: string
  spanId?: string
  attributes?: KeyValueJson[]
}

/** What is shown of a Span in OTLP/JSON. */
export interface SpanJson extends LinkJson {
  parentSpanId?: string
  name?: string
  kind?: number
  startTimeUnixNano?: string
  endTimeUnixNano?: string
  droppedAttributesCount?: number
  events?: EventJson[]
  droppedEventsCount?: number
  links?: LinkJson[]
  droppedLinksCount?: number
  status?: { message?: string; code?: number }
}

type SpanItem = RequestItem<SpanJson>

const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']
const STATUSES = ['unset', 'ok', 'error']

/** A span on one line: name, trace id, span id, attributes. */
export function spanLine({ item }: SpanItem): string {
  const { name = '', traceId = '', spanId = '', attributes } = item
  return [name, traceId, spanId, ...attributeTexts(attributes)].join(' ')
}

/** A span with all that is in it, a fact a line. */
export function spanLines({ resource, scope, item }: SpanItem): string[] {
  return [
    `Span ${item.name ?? ''}`,
    `    trace id: ${item.traceId ?? ''}`,
    `    span id: ${item.spanId ?? ''}`,
    `    parent span id: ${item.parentSpanId ?? 'none'}`,
    `    kind: ${named(KINDS, item.kind)}`,
    `    start: ${timeText(item.startTimeUnixNano)}`,
    `    end: ${timeText(item.endTimeUnixNano)}`,
    `    status: ${named(STATUSES, item.status?.code)} ${item.status?.message ?? ''}`.trimEnd(),
    `    scope: ${scope.name ?? ''} ${scope.version ?? ''}`.trimEnd(),
    ...attributeTexts(resource.attributes).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item.attributes).map((text) => `    attribute: ${text}`),
    ...(item.events ?? []).map((event) => `    event: ${eventText(event)}`),
    ...(item.links ?? []).map((link) => `    link: ${linkText(link)}`),
    ...droppedTexts(item),
  ]
}

function eventText({ timeUnixNano, name = '', attributes }: EventJson): string {
  return [timeText(timeUnixNano), name, ...attributeTexts(attributes)].join(' ')
}

function linkText({ traceId = '', spanId = '', attributes }: LinkJson): string {
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
