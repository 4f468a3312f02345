import { STATUS_ERROR } from '../model/arrivals.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages } from '../model/queries.ts'
import { recordsJson } from './list-json.ts'
import {
  attributesOf,
  attributeValue,
  jsonObjectOf,
  jsonObjectsOf,
  jsonTextOf,
  sentRecords,
  type SentSpanJson,
  serviceOf,
  SpanRenderer,
  startAndEnd,
} from './sent-span-json.ts'
import { durationNs } from './span-tree.ts'
import { partialJson } from './tempo-search-json.ts'
import { findTraces, SearchEffort, type TraceSearch } from './trace-search.ts'
import { KINDS } from './traceql/syntax.ts'

/** The end of an answer; what it lacks is an error beside what there is. */
export function endOfJaeger(lacks?: string, total = 0): string {
  return endWith(lacks === undefined ? [] : [{ code: PARTIAL_CONTENT, msg: lacks }], total)
}

function endWith(errors: readonly object[], total = 0): string {
  return `],"total":${total},"limit":0,"offset":0,"errors":${errors.length === 0 ? 'null' : JSON.stringify(errors)}}`
}
const PARTIAL_CONTENT = 206

/** A trace in the shape that Jaeger's page reads. */
export function* jaegerTraceJson(
  queries: CausewayQueries,
  traceId: string,
  pages: Pages<OutboxItem>,
): Generator<string> {
  yield '{"data":['
  yield* traceObject(queries, traceId, pages)
  yield endOfJaeger()
}

/** Traces by their ids, in that order. */
export function* jaegerTracesJson(queries: CausewayQueries, traceIds: readonly string[]): Generator<string> {
  const absent: object[] = []
  let separator = ''
  yield '{"data":['
  for (const traceID of traceIds) {
    const pages = queries.traceSent(Buffer.from(traceID, 'hex'))
    if (pages === undefined) absent.push({ msg: NO_TRACE, traceID })
    else {
      yield separator
      yield* traceObject(queries, traceID, pages)
      separator = ','
    }
  }
  yield endWith(absent)
}
const NO_TRACE = 'trace not found'

/** The ids of traces with a span that is looked for, newest first. Their spans are read again when they are shown: all are many. */
export function* foundTraces(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string, { readonly traces: readonly string[]; readonly lacks: string | undefined }> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  const found = yield* findTraces(queries, search, effort, ({ trace }) => trace.traceId)
  return { traces: [...new Set(found)], lacks: effort.lacks }
}

/** The traces of a search with all their spans (`/api/traces`). */
export function* jaegerSearchJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  let separator = ''
  const { traces, lacks } = yield* foundTraces(queries, search, nowMs)
  yield '{"data":['
  for (const traceId of traces) {
    yield separator
    yield* traceObject(queries, traceId, sentInto(queries, traceId))
    separator = ','
  }
  yield endOfJaeger(lacks)
}

export function* jaegerIdsJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const { traces, lacks } = yield* foundTraces(queries, search, nowMs)
  yield `{"traceIds":${JSON.stringify(traces.map((traceId) => ({ traceId })))}${partialJson(lacks)}}`
}

/** The same as OTLP/JSON, as Jaeger's newer API answers. */
export function* jaegerV3SearchJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const { traces, lacks } = yield* foundTraces(queries, search, nowMs)
  yield '{"result":'
  yield* recordsJson('spans', sentRecords(pagesOf(queries, traces)), {}, queries)
  yield `${partialJson(lacks)}}`
}

function* pagesOf(queries: CausewayQueries, traceIds: readonly string[]): Generator<readonly OutboxItem[]> {
  for (const traceId of traceIds) yield* sentInto(queries, traceId)
}

/** Nothing for a trace that has been deleted since it was found. */
export function sentInto(queries: CausewayQueries, traceId: string): Pages<OutboxItem> {
  return queries.traceSent(Buffer.from(traceId, 'hex')) ?? []
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

function spanObject({ span, scope }: SentSpanJson, processID: string) {
  const times = startAndEnd(span)
  return {
    traceID: jsonTextOf(span['traceId']),
    spanID: jsonTextOf(span['spanId']),
    operationName: jsonTextOf(span['name']),
    references: referencesOf(span),
    startTime: Number(times.startNs / 1000n),
    duration: Number(durationNs(times) / 1000n),
    tags: spanTags(span, scope),
    logs: jsonObjectsOf(span['events']).map((event) => ({
      timestamp: Number(BigInt(jsonTextOf(event['timeUnixNano']) || '0') / 1000n),
      fields: [{ key: 'event', type: 'string', value: jsonTextOf(event['name']) }, ...jaegerTags(event)],
    })),
    processID,
    warnings: null,
  }
}

/** The parent first, then the links. */
function referencesOf(span: JsonObject) {
  const parent = jsonTextOf(span['parentSpanId'])
  const links = jsonObjectsOf(span['links']).map((link) => {
    const isChild = attributesOf(link).some(
      ([key, value]) => key === 'opentracing.ref_type' && attributeValue(value) === 'child_of',
    )
    return {
      refType: isChild ? 'CHILD_OF' : 'FOLLOWS_FROM',
      traceID: jsonTextOf(link['traceId']),
      spanID: jsonTextOf(link['spanId']),
    }
  })
  if (parent === '') return links
  return [{ refType: 'CHILD_OF', traceID: jsonTextOf(span['traceId']), spanID: parent }, ...links]
}

/** Attributes with what else Jaeger keeps as tags, by key. */
function spanTags(span: JsonObject, scope: JsonObject): JaegerTag[] {
  const kind = KINDS[Number(span['kind'] ?? 0)] ?? 'unspecified'
  const status = jsonObjectsOf([span['status'] ?? {}])[0] ?? {}
  const code = Number(status['code'] ?? 0)
  const text = (key: string, value: string): JaegerTag[] =>
    value === '' ? [] : [{ key, type: 'string', value }]
  return [
    ...jaegerTags(span),
    ...text('otel.scope.name', jsonTextOf(scope['name'])),
    ...text('otel.scope.version', jsonTextOf(scope['version'])),
    ...text('span.kind', kind === 'unspecified' ? '' : kind),
    ...text('otel.status_code', code === STATUS_ERROR ? 'ERROR' : code === 1 ? 'OK' : ''),
    ...text('otel.status_description', jsonTextOf(status['message'])),
    ...text('w3c.tracestate', jsonTextOf(span['traceState'])),
    ...(code === STATUS_ERROR ? [{ key: 'error', type: 'bool', value: true } as const] : []),
  ].sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** What Jaeger's page lists of the traces with a span that is looked for (api_v3, FindTraceSummaries). */
export function* jaegerSummariesJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  let separator = ''
  const { traces, lacks } = yield* foundTraces(queries, search, nowMs)
  yield '{"summaries":['
  for (const traceId of traces) {
    const summary = yield* summaryOf(queries, traceId)
    yield separator + JSON.stringify(summary)
    separator = ','
  }
  yield `]${partialJson(lacks)}}`
}

function* summaryOf(queries: CausewayQueries, traceId: string): Generator<string, JsonObject> {
  const shower = new SpanRenderer(queries)
  const summing = new Summing()
  for (const page of sentInto(queries, traceId)) {
    for (const shown of page.flatMap((item) => shower.show(item))) summing.add(shown)
    yield ''
  }
  return summing.json(traceId)
}

interface Counts {
  spans: number
  errors: number
}

class Summing {
  readonly #services = new Map<string, Counts>()
  readonly #spanIds = new Set<string>()
  /** How many spans name a parent, by its id. */
  readonly #parents = new Map<string, number>()
  readonly #all: Counts = { spans: 0, errors: 0 }
  #root: { startNs: bigint; name: string; service: string } | undefined
  #startNs: bigint | undefined
  #endNs = 0n

  add({ span, resource }: SentSpanJson): void {
    const { startNs, endNs } = startAndEnd(span)
    const service = serviceOf(resource)
    const counts = this.#services.get(service) ?? { spans: 0, errors: 0 }
    this.#services.set(service, counts)
    const isError = Number(jsonObjectOf(span['status'])['code'] ?? 0) === STATUS_ERROR
    for (const one of [counts, this.#all]) {
      one.spans++
      if (isError) one.errors++
    }
    if (this.#startNs === undefined || startNs < this.#startNs) this.#startNs = startNs
    if (endNs > this.#endNs) this.#endNs = endNs
    this.#spanIds.add(jsonTextOf(span['spanId']))
    const parent = jsonTextOf(span['parentSpanId'])
    if (parent !== '') this.#parents.set(parent, (this.#parents.get(parent) ?? 0) + 1)
    else if (this.#root === undefined || startNs < this.#root.startNs)
      this.#root = { startNs, name: jsonTextOf(span['name']), service }
  }

  /** As protobuf's JSON has it: long numbers are texts, and what is zero or empty is left out. */
  json(traceId: string): JsonObject {
    const orphans = [...this.#parents].reduce(
      (sum, [id, spans]) => sum + (this.#spanIds.has(id) ? 0 : spans),
      0,
    )
    const services = [...this.#services].sort(([a], [b]) => (a < b ? -1 : 1))
    return present({
      traceId,
      rootServiceName: this.#root?.service ?? '',
      rootOperationName: this.#root?.name ?? '',
      minStartTimeUnixNano: String(this.#startNs ?? 0n),
      maxEndTimeUnixNano: String(this.#endNs),
      spanCount: this.#all.spans,
      errorSpanCount: this.#all.errors,
      orphanSpanCount: orphans,
      services: services.map(([name, { spans, errors }]) =>
        present({ name, spanCount: spans, errorSpanCount: errors }),
      ),
    })
  }
}

function present(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== 0 && value !== ''))
}

interface JaegerTag {
  readonly key: string
  readonly type: 'string' | 'bool' | 'int64' | 'float64' | 'binary'
  readonly value: string | number | boolean
}

/** The attributes of something as Jaeger's tags; lists and maps are JSON in a text. */
function jaegerTags(of: JsonObject): JaegerTag[] {
  return attributesOf(of).map(([key, value]) => ({ key, ...tagValue(value) }))
}

function tagValue(value: JsonObject): Omit<JaegerTag, 'key'> {
  const { boolValue, intValue, doubleValue, bytesValue } = value
  if (boolValue !== undefined) return { type: 'bool', value: boolValue === true }
  if (intValue !== undefined) {
    const integer = Number(intValue)
    return { type: 'int64', value: Number.isSafeInteger(integer) ? integer : jsonTextOf(intValue) }
  }
  if (doubleValue !== undefined) return { type: 'float64', value: Number(doubleValue) }
  if (bytesValue !== undefined) return { type: 'binary', value: jsonTextOf(bytesValue) }
  if (value['arrayValue'] === undefined && value['kvlistValue'] === undefined) {
    return { type: 'string', value: jsonTextOf(value['stringValue']) }
  }
  return { type: 'string', value: escapedJson(plain(value)) }
}

function plain(value: JsonObject): Json {
  const { arrayValue, kvlistValue, intValue } = value
  if (arrayValue !== undefined) return jsonObjectsOf(jsonObjectOf(arrayValue)['values']).map(plain)
  if (kvlistValue !== undefined) {
    const pairs = jsonObjectsOf(jsonObjectOf(kvlistValue)['values'])
    return Object.fromEntries(
      pairs.map((pair) => [jsonTextOf(pair['key']), plain(jsonObjectOf(pair['value']))]),
    )
  }
  if (intValue !== undefined) return Number(intValue)
  return Object.values(value)[0] ?? ''
}

/** As Go writes JSON: it escapes the two ends of line that JavaScript has besides. */
function escapedJson(value: Json): string {
  return JSON.stringify(value).replaceAll(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)
}
