import { buildRequest, fieldHeader, sentSpan } from '../model/otlp/outgoing-records.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages } from '../model/queries.ts'
import { jsonObjectOf, jsonObjectsOf, jsonTextOf, type SentSpanJson, SpanRenderer } from './sent-span-json.ts'
import { durationNs } from './span-tree.ts'
import {
  findTraces,
  type FoundTrace,
  KINDS,
  MatchingEffort,
  MAX_MATCHED_LENGTH,
  startAndEnd,
  STATUSES,
  type TraceSearch,
} from './trace-search.ts'

/**
 * A trace as Tempo's protobuf: version 1 answers its Trace, version 2 a TraceByIDResponse around it. A piece is a text
 * with a character a byte; a message in several pieces is one message, since protobuf joins what comes again.
 */
export function* tempoProtobuf(
  queries: CausewayQueries,
  pages: Pages<OutboxItem>,
  version: 1 | 2,
): Generator<string> {
  for (const page of pages) {
    const spans = page.flatMap((item) => {
      const bytes = sentSpan(item)
      return bytes === undefined ? [] : [{ scope: item.scope, bytes }]
    })
    const trace = buildRequest(spans, queries)
    const header = version === 2 && trace.length > 0 ? fieldHeader(1, trace.length).toString('latin1') : ''
    yield header + trace.toString('latin1')
  }
}

/** The same in JSON, as Go's protobuf writes it: ids in base64, enums by name. */
export function* tempoJson(
  queries: CausewayQueries,
  pages: Pages<OutboxItem>,
  version: 1 | 2,
): Generator<string> {
  const shower = new SpanRenderer(queries)
  yield version === 1 ? '{"batches":[' : '{"trace":{"resourceSpans":['
  let separator = ''
  for (const page of pages) {
    yield ''
    for (const group of groupsOf(page.flatMap((item) => shower.show(item)))) {
      yield separator + JSON.stringify(group)
      separator = ','
    }
  }
  yield version === 1 ? ']}' : ']}}'
}

/** Spans one after the other under the same resource and scope come together. */
function* groupsOf(shown: readonly SentSpanJson[]): Generator<JsonObject> {
  for (let at = 0; at < shown.length;) {
    const first = shown[at]
    if (first === undefined) return
    const spans: Json[] = []
    for (; shown[at]?.scope === first.scope; at++) spans.push(tempoSpan(shown[at]?.span ?? {}))
    yield { resource: first.resource, scopeSpans: [{ scope: first.scope, spans }] }
  }
}

function tempoSpan(span: JsonObject): JsonObject {
  const links = jsonObjectsOf(span['links']).map((link) => ({
    ...link,
    ...inBase64(link, 'traceId', 'spanId'),
  }))
  const { code, ...status } = jsonObjectOf(span['status'])
  return {
    ...span,
    ...inBase64(span, 'traceId', 'spanId', 'parentSpanId'),
    kind: `SPAN_KIND_${(KINDS[Number(span['kind'] ?? 0)] ?? 'unspecified').toUpperCase()}`,
    ...(links.length > 0 && { links }),
    status: {
      ...status,
      ...(code !== undefined && {
        code: `STATUS_CODE_${(STATUSES[Number(code)] ?? 'unset').toUpperCase()}`,
      }),
    },
  }
}

function inBase64(of: JsonObject, ...names: ('traceId' | 'spanId' | 'parentSpanId')[]): JsonObject {
  const present = names.filter((name) => jsonTextOf(of[name]) !== '')
  return Object.fromEntries(
    present.map((name) => [name, Buffer.from(jsonTextOf(of[name]), 'hex').toString('base64')]),
  )
}

/** What a search finds, as Tempo answers it. */
export function* tempoSearchJson(queries: CausewayQueries, search: TraceSearch): Generator<string> {
  let separator = ''
  let inspected = 0
  yield '{"traces":['
  const effort = new MatchingEffort()
  for (const found of findTraces(queries, search, effort)) {
    if (found === undefined) {
      yield ''
      continue
    }
    inspected += found.matched
    yield separator + JSON.stringify(foundJson(found))
    separator = ','
  }
  yield `],"metrics":{"inspectedSpans":"${inspected}","completedJobs":1,"totalJobs":1}${inPart(effort)}}`
}

/** As Tempo says of other answers that something was left out. */
function inPart({ passedOver }: MatchingEffort): string {
  if (passedOver === 0) return ''
  const message =
    `${passedOver} texts were not matched with regular expressions: one may have ${MAX_MATCHED_LENGTH} characters, and all of a ` +
    'span cost no more than a large expression on such a text'
  return `,"status":"PARTIAL","message":${JSON.stringify(message)}`
}

function foundJson({ trace, rootName, rootServiceName, spans, matched }: FoundTrace): JsonObject {
  const spanSet = { spans: spans.map(({ span }) => foundSpanJson(span)), matched }
  return {
    traceID: trace.traceId.toString('hex'),
    rootServiceName,
    rootTraceName: rootName,
    startTimeUnixNano: String(trace.startNs),
    durationMs: Number((trace.lastNs - trace.startNs) / 1_000_000n),
    spanSet,
    spanSets: [spanSet],
  }
}

function foundSpanJson(span: JsonObject): JsonObject {
  const times = startAndEnd(span)
  return {
    spanID: jsonTextOf(span['spanId']),
    name: jsonTextOf(span['name']),
    startTimeUnixNano: String(times.startNs),
    durationNanos: String(durationNs(times)),
    attributes: Array.isArray(span['attributes']) ? span['attributes'] : [],
  }
}
