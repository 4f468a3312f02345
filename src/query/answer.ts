import { namespaceOfObject } from '../model/kubernetes-objects.ts'
import { type Cpid, parseCpid, parseCpidPrefix } from '../model/merge-graph.ts'
import { buildRequest, fieldHeader, sentSpan } from '../model/otlp/outgoing-records.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { Absent, CascadeFacts, CausewayQueries, Pages, Position } from '../model/queries.ts'
import type { Found } from './answer-schemas.ts'
import { cascadeJson, cascadeOutline, cascadeVersion, compareJson } from './cascade-json.ts'
import { inFrames, storageSearchFrames, storageTraceFrames } from './grpc-answers.ts'
import {
  jaegerIdsJson,
  jaegerSearchJson,
  jaegerSummariesJson,
  jaegerTraceJson,
  jaegerTracesJson,
  jaegerV3SearchJson,
  jaegerV3TraceJson,
} from './jaeger-json.ts'
import { jaegerMetricsJson } from './jaeger-metrics-json.ts'
import { cpidListJson, decodeCursor, listJson, recordsJson, withFewEnvelopes } from './list-json.ts'
import { matchingSpansJson } from './matching-spans-json.ts'
import {
  cpidJson,
  graphJson,
  mergelogJson,
  objectJson,
  objectVersionJson,
  podStatsJson,
} from './object-json.ts'
import type { FindFilter, NoAnswer, PageRequest, Question, TraceQuestion, TraceShape } from './question.ts'
import { touchedObjectsJson } from './touched-objects-json.ts'
import {
  findSentSpan,
  jsonObjectOf,
  jsonObjectsOf,
  jsonTextOf,
  type SentSpanJson,
  SpanRenderer,
} from './sent-span-json.ts'
import { tempoMetricsJson } from './tempo-metrics-json.ts'
import { tempoSearchJson } from './tempo-search-json.ts'
import {
  jaegerDependenciesJson,
  jaegerOperationsJson,
  jaegerServicesJson,
  tempoTagsJson,
  tempoTagValuesJson,
} from './trace-names-json.ts'
import { traceDiffJson } from './trace-diff-json.ts'
import { whyJson } from './why-json.ts'
import { KINDS, STATUSES } from './traceql/syntax.ts'

/** JSON text in pieces, made lazily. Making a piece reads a bounded part of the database; a piece may be empty. */
type JsonPieces = Iterable<string>

/** `version` changes whenever the pieces do. It is set only where it is known before they are made. */
export type Answer = { kind: 'found'; pieces: JsonPieces; version?: string } | { kind: NoAnswer }

/** Answers a question in JSON, the same over HTTP and on the command line. Without `nowMs` there is no time limit. */
export function answer(queries: CausewayQueries, question: Question, nowMs: () => number = () => 0): Answer {
  switch (question.kind) {
    case 'cpid':
      return unlessAbsent(queries.cpid(question.cpid), (facts) => [JSON.stringify(cpidJson(facts))])
    case 'related':
    case 'ancestors':
    case 'roots': {
      const { kind, cpid } = question
      return unlessAbsent(queries[kind](cpid), (pages) => cpidListJson(cpid, kind, pages))
    }
    case 'mergelogs': {
      const { cpid, part } = question
      return inPart(
        part,
        cpid === undefined ? 2 : 3,
        (after) => (cpid === undefined ? queries.mergelogs(after) : queries.mergelogsOf(cpid, after)),
        (pages) => listJson('mergelogs', pages, part, mergelogJson),
      )
    }
    case 'spans':
    case 'logs': {
      const { kind, cpid, part } = question
      return inPart(
        part,
        cpid === undefined ? 1 : { spans: 4, logs: 2 }[kind],
        (after) => (cpid === undefined ? queries[kind](after) : queries[`${kind}Of`](cpid, after)),
        (pages) => recordsJson(kind, pages, part, queries),
      )
    }
    case 'cascades': {
      const { filter, part } = question
      return inPart(
        part,
        1,
        (after) => queries.cascades(filter, after),
        (pages) => listJson('cascades', pages, part, cascadeOutline),
      )
    }
    case 'cascade':
      return withFacts(queries, [question.root], ([facts]) => ({
        kind: 'found',
        pieces: cascadeJson(queries, facts),
        version: cascadeVersion(queries, facts),
      }))
    case 'compare':
      return withFacts(queries, [question.a, question.b], ([a, b]) =>
        found(compareJson({ queries, facts: a }, { queries, facts: b })),
      )
    case 'span':
      return withFacts(queries, [question.root], () => {
        const records = findSentSpan(queries, question)
        return records === undefined
          ? { kind: 'unknownSpan' }
          : found(recordsJson('spans', [records], {}, queries))
      })
    case 'cascadesOf': {
      const { cpid, part } = question
      const found = queries.cascadesOf(cpid)
      if (typeof found === 'string') return { kind: found }
      const driving = new Set(found.drivenBy)
      return inPart(
        part,
        1,
        (after) => queries.cascadesAmong(found.cascades, after),
        (pages) =>
          listJson('cascades', pages, part, (facts) => ({
            ...cascadeOutline(facts),
            drives: driving.has(facts.root),
          })),
      )
    }
    case 'graph': {
      const { cpid, limit } = question
      return unlessAbsent(queries.graph(cpid, limit), (around) => graphJson(cpid, around))
    }
    case 'objects': {
      const { ref, part } = question
      return inPart(
        part,
        2,
        (after) => queries.objects(ref, after, part.limit === undefined ? undefined : part.limit + 1),
        (pages) => listJson('objects', pages, part, objectJson),
      )
    }
    case 'objectVersions': {
      const { ref, part } = question
      return inPart(
        part,
        3,
        (after) => queries.objectVersions(ref, after, part.limit === undefined ? undefined : part.limit + 1),
        (pages) => listJson('versions', pages, part, objectVersionJson),
      )
    }
    case 'touchedObjects': {
      const { root, limit } = question
      return withFacts(queries, [root], ([facts]) => found(touchedObjectsJson(queries, facts, limit)))
    }
    case 'matchingSpans':
      return withFacts(queries, [question.root], () => found(matchingSpansJson(queries, question, nowMs)))
    case 'podStats': {
      const { root, limit } = question
      return withFacts(queries, [root], ([facts]) => found(podStatsJson(queries, facts, limit)))
    }
    case 'why':
      return found(whyJson(queries, question.ref))
    case 'find':
      return found(findJson(queries, question.text, question.limit, question.filter))
    case 'facets':
      return found([JSON.stringify(queries.facets())])
    case 'sentTrace':
    case 'sentTraces':
    case 'traceDiff':
    case 'searchTraces':
    case 'services':
    case 'operations':
    case 'tags':
    case 'tagValues':
    case 'metrics':
    case 'jaegerMetrics':
    case 'dependencies': {
      const pieces = answerTraceQuestion(queries, question, nowMs)
      return pieces === undefined ? { kind: 'unknownTrace' } : found(pieces)
    }
    case 'grpc': {
      const pieces = answerTraceQuestion(queries, question.question, nowMs)
      return pieces === undefined ? { kind: 'unknownTrace' } : found(inFrames(pieces, question.as, nowMs))
    }
  }
}

function found(pieces: JsonPieces): Answer {
  return { kind: 'found', pieces }
}

/** Calls `answerWith` with the facts of the cascades of `roots`, if all of them exist. */
function withFacts<const Roots extends readonly Cpid[]>(
  queries: CausewayQueries,
  roots: Roots,
  answerWith: (facts: { [At in keyof Roots]: CascadeFacts }) => Answer,
): Answer {
  const facts: CascadeFacts[] = []
  for (const root of roots) {
    const read = queries.cascade(root)
    if (typeof read === 'string') return { kind: read }
    facts.push(read)
  }
  return answerWith(facts as { [At in keyof Roots]: CascadeFacts })
}

function unlessAbsent<T extends object>(found: T | Absent, toPieces: (found: T) => JsonPieces): Answer {
  return typeof found === 'string' ? { kind: found } : { kind: 'found', pieces: toPieces(found) }
}

/** Answers with the page of a list after the cursor `after`, which encodes a position of `parts` numbers (see CausewayQueries). */
function inPart<T>(
  { after }: PageRequest,
  parts: number,
  read: (after: Position | undefined) => Pages<T> | Absent,
  toPieces: (pages: Pages<T>) => JsonPieces,
): Answer {
  const position = after === undefined ? undefined : decodeCursor(after, parts)
  if (after !== undefined && position === undefined) return { kind: 'badCursor' }
  return unlessAbsent(read(position), toPieces)
}

const SEARCHES = {
  jaeger: jaegerSearchJson,
  jaegerV3: jaegerV3SearchJson,
  jaegerStorage: storageSearchFrames,
  jaegerIds: jaegerIdsJson,
  jaegerSummaries: jaegerSummariesJson,
  tempo: tempoSearchJson,
} as const

/** The pieces of the answer; undefined if a trace that it needs was never sent. */
function answerTraceQuestion(
  queries: CausewayQueries,
  question: TraceQuestion,
  nowMs: () => number,
): Iterable<string> | undefined {
  switch (question.kind) {
    case 'sentTrace': {
      const pages = queries.traceSent(Buffer.from(question.traceId, 'hex'))
      return pages && inShape(queries, question.traceId, question.shape, pages)
    }
    case 'sentTraces':
      return jaegerTracesJson(queries, question.traceIds)
    case 'traceDiff': {
      const { base, compare } = question
      const [before, after] = [base, compare].map((id) => queries.traceSent(Buffer.from(id, 'hex')))
      return before && after && traceDiffJson(queries, question, [before, after])
    }
    case 'searchTraces':
      return SEARCHES[question.shape](queries, question.search, nowMs)
    case 'services':
      return jaegerServicesJson(queries, question.version)
    case 'operations':
      return jaegerOperationsJson(queries, question, nowMs)
    case 'tags':
      return tempoTagsJson(queries, question, nowMs)
    case 'tagValues':
      return tempoTagValuesJson(queries, question, nowMs)
    case 'metrics':
      return tempoMetricsJson(queries, question, nowMs)
    case 'jaegerMetrics':
      return jaegerMetricsJson(queries, question, nowMs)
    case 'dependencies':
      return jaegerDependenciesJson(queries, question, nowMs)
  }
}

function inShape(
  queries: CausewayQueries,
  traceId: string,
  shape: TraceShape,
  pages: Pages<OutboxItem>,
): Iterable<string> {
  switch (shape) {
    case 'jaeger':
      return jaegerTraceJson(queries, traceId, pages)
    case 'jaegerV3':
      return jaegerV3TraceJson(queries, pages)
    case 'jaegerStorage':
      return storageTraceFrames(queries, pages)
    case 'tempoProtobuf':
      return tempoProtobuf(queries, pages, 1)
    case 'tempoProtobufV2':
      return tempoProtobuf(queries, pages, 2)
    case 'tempoJson':
      return tempoJson(queries, pages, 1)
    case 'tempoJsonV2':
      return tempoJson(queries, pages, 2)
  }
}

/** How many events of an object found are read to find its cascades. */
const EVENTS_READ = 100
/** How many objects are examined for one that the actor of the filter touched. */
const LOOKED_AT = 1_000

/**
 * Answers what a search text may stand for: a CPID (all of it or its first digits), a trace id, or objects whose reference contains the
 * text; each with its cascades, newest first.
 */
function* findJson(
  queries: CausewayQueries,
  asked: string,
  limit: number,
  filter: FindFilter = {},
): Generator<string> {
  const text = asked.trim()
  const prefix = parseCpidPrefix(text)
  const beginning = prefix === undefined ? [] : queries.cpidsBeginning(prefix, Math.max(limit, 2))
  // A unique prefix counts as the whole CPID.
  const whole = parseCpid(text)
  const cpid = whole ?? (beginning.length === 1 ? beginning[0] : undefined)
  const objects: string[] = []
  const roots = new Set<Cpid>()
  let state: NonNullable<Found['cpid']>['state'] = 'unknown'
  if (cpid !== undefined) {
    for (const some of queries.rootsOfTrace(Buffer.from(cpid.replaceAll('-', ''), 'hex'))) {
      for (const root of some) roots.add(root)
      yield ''
      if (roots.size >= limit) break
    }
    const found = queries.cascadesOf(cpid)
    if (typeof found !== 'string') for (const root of found.cascades) roots.add(root)
    state = typeof found === 'string' ? found : 'known'
  }
  if (whole === undefined && text !== '') {
    for (const object of objectsNamed(queries, text, filter)) {
      if (object !== undefined && objects.push(object) >= limit) break
      yield ''
    }
    for (const object of objects) {
      for (const root of cascadesTouching(queries, object)) roots.add(root)
      yield ''
      if (roots.size >= limit) break
    }
  }
  const cascades = []
  for (const page of queries.cascadesAmong([...roots], undefined, filter)) cascades.push(...page)
  yield JSON.stringify({
    cpid: cpid === undefined ? null : { cpid, state },
    cpids: cpid === undefined ? beginning.slice(0, limit) : [],
    cascades: cascades.slice(0, limit).map(cascadeOutline),
    objects,
  } satisfies Found)
}

/** Yields undefined after a page in which no object matched, so that other questions get their turn. */
function* objectsNamed(
  queries: CausewayQueries,
  text: string,
  filter: FindFilter,
): Generator<string | undefined> {
  let left = LOOKED_AT
  for (const page of queries.objectsNamed(text)) {
    yield undefined
    for (const object of page) {
      if (filter.namespace !== undefined && namespaceOfObject(object) !== filter.namespace) continue
      if (filter.actor === undefined) yield object
      else if (left-- === 0) return
      else yield isTouched(queries, object, filter) ? object : undefined
    }
  }
}

function isTouched(queries: CausewayQueries, object: string, filter: FindFilter): boolean {
  for (const page of queries.cascadesAmong([...cascadesTouching(queries, object)], undefined, filter))
    if (page.length > 0) return true
  return false
}

function cascadesTouching(queries: CausewayQueries, object: string): Set<Cpid> {
  const roots = new Set<Cpid>()
  let seen = 0
  for (const page of queries.objects(object, undefined, EVENTS_READ)) {
    for (const { cascades } of page) for (const root of cascades) roots.add(root)
    seen += page.length
    if (seen >= EVENTS_READ) break
  }
  return roots
}

/**
 * A trace as Tempo's protobuf: version 1 is a Trace, version 2 a TraceByIDResponse around it. A character of a piece is a byte;
 * concatenated, the pieces are one message, since protobuf merges repeated fields.
 */
function* tempoProtobuf(
  queries: CausewayQueries,
  pages: Pages<OutboxItem>,
  version: 1 | 2,
): Generator<string> {
  for (const page of withFewEnvelopes(pages, queries)) {
    const spans = page.flatMap((item) => {
      const bytes = sentSpan(item)
      return bytes === undefined ? [] : [{ scope: item.scope, bytes }]
    })
    const trace = buildRequest(spans, queries)
    const header = version === 2 && trace.length > 0 ? fieldHeader(1, trace.length).toString('latin1') : ''
    yield header + trace.toString('latin1')
  }
}

/** A trace as Tempo's JSON, written as Go's protobuf does: ids in base64, enums by name. */
function* tempoJson(queries: CausewayQueries, pages: Pages<OutboxItem>, version: 1 | 2): Generator<string> {
  const shower = new SpanRenderer(queries)
  yield version === 1 ? '{"batches":[' : '{"trace":{"resourceSpans":['
  let separator = ''
  for (const page of withFewEnvelopes(pages, queries)) {
    yield ''
    for (const group of groupsOf(page.flatMap((item) => shower.show(item)))) {
      yield separator + JSON.stringify(group)
      separator = ','
    }
  }
  yield version === 1 ? ']}' : ']}}'
}

/** Groups consecutive spans of the same resource and scope. */
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
