import type { OutboxItem } from '../../model/ports/outbox-port.ts'
import type { CausewayQueries, Pages } from '../../model/ports/query-port.ts'
import type { JsonObject } from '../../otlp/json/protobuf-to-json.ts'
import { recordsJson } from '../records-json.ts'
import { sentRecords } from '../cascade/sent-spans-json.ts'
import { durationNs } from '../cascade/span-times.ts'
import { findTraces, serviceOf, type TraceSearch } from './find-traces.ts'
import { jaegerTags, type JaegerTag } from './jaeger-tags.ts'
import { KINDS, startAndEnd } from './matches-condition.ts'
import { attributesOf, listOf, plainValue, SpanRenderer, textOf, type ShownSpan } from './shown-span.ts'

const END = '],"total":0,"limit":0,"offset":0,"errors":null}'

/** A trace in the shape that Jaeger's page reads. */
export function* jaegerTraceJson(
  queries: CausewayQueries,
  traceId: string,
  pages: Pages<OutboxItem>,
): Generator<string> {
  yield '{"data":['
  yield* traceObject(queries, traceId, pages)
  yield END
}

/** Traces with a span that is looked for, each whole. */
export function* jaegerSearchJson(queries: CausewayQueries, search: TraceSearch): Generator<string> {
  let separator = ''
  yield '{"data":['
  for (const found of findTraces(queries, search)) {
    if (found === undefined) {
      yield ''
      continue
    }
    yield separator
    yield* traceObject(queries, found.trace.traceId.toString('hex'), queries.sentInto(found.trace.id))
    separator = ','
  }
  yield END
}

/** The same as OTLP/JSON, as Jaeger's newer API answers. */
export function* jaegerV3SearchJson(queries: CausewayQueries, search: TraceSearch): Generator<string> {
  yield '{"result":'
  yield* recordsJson('spans', sentRecords(pagesFound(queries, search)), {}, queries)
  yield '}'
}

function* pagesFound(queries: CausewayQueries, search: TraceSearch): Generator<readonly OutboxItem[]> {
  for (const found of findTraces(queries, search)) {
    if (found === undefined) yield []
    else yield* queries.sentInto(found.trace.id)
  }
}

export function* jaegerV3TraceJson(queries: CausewayQueries, pages: Pages<OutboxItem>): Generator<string> {
  yield '{"result":'
  yield* recordsJson('spans', sentRecords(pages), {}, queries)
  yield '}'
}

function* traceObject(
  queries: CausewayQueries,
  traceId: string,
  pages: Pages<OutboxItem>,
): Generator<string> {
  const shower = new SpanRenderer(queries)
  const processes = new Map<number, { id: string; resource: JsonObject }>()
  yield `{"traceID":"${traceId}","spans":[`
  let separator = ''
  for (const page of pages) {
    const spans = page
      .flatMap((item) => shower.show(item))
      .map((shown) => {
        let process = processes.get(shown.resourceId)
        if (process === undefined) {
          process = { id: `p${processes.size + 1}`, resource: shown.resource }
          processes.set(shown.resourceId, process)
        }
        return JSON.stringify(spanObject(shown, process.id))
      })
    if (spans.length === 0) continue
    yield separator + spans.join(',')
    separator = ','
  }
  const listed = [...processes.values()].map(({ id, resource }) => [id, processObject(resource)])
  yield `],"processes":${JSON.stringify(Object.fromEntries(listed))},"warnings":null}`
}

function processObject(resource: JsonObject) {
  const tags = jaegerTags(resource).filter(({ key }) => key !== 'service.name')
  return { serviceName: serviceOf(resource), tags }
}

function spanObject({ span, scope }: ShownSpan, processID: string) {
  const times = startAndEnd(span)
  return {
    traceID: textOf(span['traceId']),
    spanID: textOf(span['spanId']),
    operationName: textOf(span['name']),
    references: referencesOf(span),
    startTime: Number(times.startNs / 1000n),
    duration: Number(durationNs(times) / 1000n),
    tags: spanTags(span, scope),
    logs: listOf(span['events']).map((event) => ({
      timestamp: Number(BigInt(textOf(event['timeUnixNano']) || '0') / 1000n),
      fields: [{ key: 'event', type: 'string', value: textOf(event['name']) }, ...jaegerTags(event)],
    })),
    processID,
    warnings: null,
  }
}

/** The parent first, then the links. */
function referencesOf(span: JsonObject) {
  const parent = textOf(span['parentSpanId'])
  const links = listOf(span['links']).map((link) => {
    const isChild = attributesOf(link).some(
      ([key, value]) => key === 'opentracing.ref_type' && plainValue(value) === 'child_of',
    )
    return {
      refType: isChild ? 'CHILD_OF' : 'FOLLOWS_FROM',
      traceID: textOf(link['traceId']),
      spanID: textOf(link['spanId']),
    }
  })
  if (parent === '') return links
  return [{ refType: 'CHILD_OF', traceID: textOf(span['traceId']), spanID: parent }, ...links]
}

/** Attributes with what else Jaeger keeps as tags, by key. */
function spanTags(span: JsonObject, scope: JsonObject): JaegerTag[] {
  const kind = KINDS[Number(span['kind'] ?? 0)] ?? 'unspecified'
  const status = listOf([span['status'] ?? {}])[0] ?? {}
  const code = Number(status['code'] ?? 0)
  const text = (key: string, value: string): JaegerTag[] =>
    value === '' ? [] : [{ key, type: 'string', value }]
  return [
    ...jaegerTags(span),
    ...text('otel.scope.name', textOf(scope['name'])),
    ...text('otel.scope.version', textOf(scope['version'])),
    ...text('span.kind', kind === 'unspecified' ? '' : kind),
    ...text('otel.status_code', code === 2 ? 'ERROR' : code === 1 ? 'OK' : ''),
    ...text('otel.status_description', textOf(status['message'])),
    ...text('w3c.tracestate', textOf(span['traceState'])),
    ...(code === 2 ? [{ key: 'error', type: 'bool', value: true } as const] : []),
  ].sort((a, b) => (a.key < b.key ? -1 : 1))
}
