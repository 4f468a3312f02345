import { STATUS_ERROR } from '../model/arrivals.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages } from '../model/queries.ts'
import { commaSeparated, recordsJson, withFewEnvelopes } from './list-json.ts'
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
import { TextKeys } from './traceql/text-keys.ts'

/** The end of a Jaeger answer. What the answer lacks is listed as an error. */
export function endOfJaeger(lacks?: string, total = 0): string {
  return endWith(lacks === undefined ? [] : [{ code: PARTIAL_CONTENT, msg: lacks }], total)
}

function endWith(errors: readonly object[], total = 0): string {
  return `],"total":${total},"limit":0,"offset":0,"errors":${errors.length === 0 ? 'null' : JSON.stringify(errors)}}`
}
const PARTIAL_CONTENT = 206

/** A trace in the JSON that Jaeger's UI reads. */
export function* jaegerTraceJson(
  queries: CausewayQueries,
  traceId: string,
  pages: Pages<OutboxItem>,
): Generator<string> {
  yield '{"data":['
  yield* traceObject(queries, traceId, pages)
  yield endOfJaeger()
}

/** Traces by id, in the order given. */
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

/** The ids of matching traces, newest first. Callers read the spans again: together they may be too large to keep. */
export function* foundTraces(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string, { readonly traces: readonly string[]; readonly effort: SearchEffort }> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  const ids = yield* findTraces(queries, search, effort, ({ trace }) => trace.traceId)
  return { traces: [...new Set(ids)], effort }
}

/** The traces that a search finds, with all spans (`/api/traces`). */
export function* jaegerSearchJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  let separator = ''
  const { traces, effort } = yield* foundTraces(queries, search, nowMs)
  yield '{"data":['
  for (const traceId of traces) {
    yield separator
    yield* traceObject(queries, traceId, sentInto(queries, traceId))
    separator = ','
  }
  yield endOfJaeger(effort.lacks)
}

export function* jaegerIdsJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const { traces, effort } = yield* foundTraces(queries, search, nowMs)
  yield `{"traceIds":${JSON.stringify(traces.map((traceId) => ({ traceId })))}${partialJson(effort.lacks)}}`
}

/** The traces that a search finds as OTLP/JSON, as Jaeger's API v3 answers. */
export function* jaegerV3SearchJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const { traces, effort } = yield* foundTraces(queries, search, nowMs)
  yield '{"result":'
  yield* recordsJson('spans', sentRecords(pagesOf(queries, traces)), {}, queries)
  yield `${partialJson(effort.lacks)}}`
}

function* pagesOf(queries: CausewayQueries, traceIds: readonly string[]): Generator<readonly OutboxItem[]> {
  for (const traceId of traceIds) yield* sentInto(queries, traceId)
}

/** The spans of a trace; none if it was deleted after the search found it. */
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
  const processes = new Map<number, { id: string; scope: number }>()
  yield `{"traceID":"${traceId}","spans":[`
  const shownJson = (item: OutboxItem): string[] =>
    shower.show(item).map((shown) => {
      let process = processes.get(shown.resourceId)
      if (process === undefined) {
        process = { id: `p${processes.size + 1}`, scope: item.scope }
        processes.set(shown.resourceId, process)
      }
      return JSON.stringify(spanObject(shown, process.id))
    })
  yield* commaSeparated(withFewEnvelopes(pages, queries), (page) => page.flatMap(shownJson).join(','))
  yield '],"processes":{'
  // Read again: all of them may be more than can be held.
  yield* commaSeparated(
    processes.values(),
    ({ id, scope }) => `"${id}":${JSON.stringify(processObject(shower.resourceOf(scope)))}`,
  )
  yield '},"warnings":null}'
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

/** A span's references: its parent, then its links. */
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

/** The attributes of a span, and its kind, status and scope, which Jaeger shows as tags too; sorted by key. */
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

/** Summaries of the traces that a search finds, for the list of Jaeger's UI (api_v3, FindTraceSummaries). */
export function* jaegerSummariesJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  let separator = ''
  const { traces, effort } = yield* foundTraces(queries, search, nowMs)
  yield '{"summaries":['
  for (const traceId of traces) {
    const summary = JSON.stringify(yield* summaryOf(queries, traceId))
    if (!effort.hasRoomFor(summary.length)) break
    yield separator + summary
    separator = ','
  }
  yield `]${partialJson(effort.lacks)}}`
}

function* summaryOf(queries: CausewayQueries, traceId: string): Generator<string, JsonObject> {
  const shower = new SpanRenderer(queries)
  const summing = new Summing()
  for (const page of withFewEnvelopes(sentInto(queries, traceId), queries)) {
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
  readonly #services = new Map<string, Counts & { readonly name: string }>()
  readonly #keys = new TextKeys()
  /** Service names by resource: reading one from its attributes again for each span is slow. */
  readonly #serviceByResource = new WeakMap<JsonObject, string>()
  readonly #spanIds = new Set<string>()
  /** How many spans have a parent with this id. */
  readonly #childCounts = new Map<string, number>()
  readonly #all: Counts = { spans: 0, errors: 0 }
  #root: { startNs: bigint; name: string; service: string } | undefined
  #startNs: bigint | undefined
  #endNs = 0n

  add({ span, resource }: SentSpanJson): void {
    const { startNs, endNs } = startAndEnd(span)
    const service = this.#serviceOf(resource)
    const key = this.#keys.of(service)
    const counts = this.#services.get(key) ?? { name: service, spans: 0, errors: 0 }
    this.#services.set(key, counts)
    const isError = Number(jsonObjectOf(span['status'])['code'] ?? 0) === STATUS_ERROR
    for (const one of [counts, this.#all]) {
      one.spans++
      if (isError) one.errors++
    }
    if (this.#startNs === undefined || startNs < this.#startNs) this.#startNs = startNs
    if (endNs > this.#endNs) this.#endNs = endNs
    this.#spanIds.add(jsonTextOf(span['spanId']))
    const parent = jsonTextOf(span['parentSpanId'])
    if (parent !== '') this.#childCounts.set(parent, (this.#childCounts.get(parent) ?? 0) + 1)
    else if (this.#root === undefined || startNs < this.#root.startNs)
      this.#root = { startNs, name: jsonTextOf(span['name']), service }
  }

  #serviceOf(resource: JsonObject): string {
    const named = this.#serviceByResource.get(resource) ?? serviceOf(resource)
    this.#serviceByResource.set(resource, named)
    return named
  }

  /** The summary in protobuf's JSON: 64-bit integers are strings, and fields that are zero or empty are omitted. */
  json(traceId: string): JsonObject {
    const orphans = [...this.#childCounts].reduce(
      (sum, [id, spans]) => sum + (this.#spanIds.has(id) ? 0 : spans),
      0,
    )
    const services = [...this.#services.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return present({
      traceId,
      rootServiceName: this.#root?.service ?? '',
      rootOperationName: this.#root?.name ?? '',
      minStartTimeUnixNano: String(this.#startNs ?? 0n),
      maxEndTimeUnixNano: String(this.#endNs),
      spanCount: this.#all.spans,
      errorSpanCount: this.#all.errors,
      orphanSpanCount: orphans,
      services: services.map(({ name, spans, errors }) =>
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

/** Attributes as Jaeger's tags. Lists and maps become JSON in a string. */
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

/** JSON as Go writes it: U+2028 and U+2029 are escaped. */
function escapedJson(value: Json): string {
  return JSON.stringify(value).replaceAll(/[\u2028\u2029]/g, (end) => `\\u${end.charCodeAt(0).toString(16)}`)
}
