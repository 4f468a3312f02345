import { STATUS_ERROR } from '../model/arrivals.ts'
import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { durationNs } from './span-tree.ts'
import { findTraces, type FoundTrace, SearchEffort, type TraceSearch } from './trace-search.ts'
import type { Read } from './traceql/conditions.ts'
import type { SpanView } from './traceql/fetch-plan.ts'
import type { Spanset } from './traceql/pipeline.ts'
import { lengthOf, staticJson } from './traceql/static-values.ts'
import { TraceQlError } from './traceql/syntax.ts'
import { TextKeys } from './traceql/text-keys.ts'
import type { StoredTrace } from './traceql/trace-data.ts'

/** Answers a search as Tempo does. */
export function* tempoSearchJson(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const effort = new SearchEffort(nowMs, () => queries.bytesRead)
  let left = MOST_SHOWN
  let [traces, failure]: [JsonObject[], string | undefined] = [[], undefined]
  try {
    traces = yield* findTraces(queries, search, effort, (found) => {
      const shown = foundJson(found, Math.min(search.spansPerTrace, left), effort)
      for (const { spans } of found.sets)
        left = Math.max(0, left - Math.min(spans.length, search.spansPerTrace))
      return shown
    })
  } catch (error) {
    if (!(error instanceof TraceQlError)) throw error
    failure = error.message
  }
  yield '{"traces":['
  let separator = ''
  for (const trace of traces) {
    yield separator + JSON.stringify(trace)
    separator = ','
  }
  if (left === 0)
    effort.leaveOut(`no more than ${MOST_SHOWN} spans are shown in all: ask for fewer traces or spans`)
  yield `]${endJson(effort, failure)}`
}

/** The most spans in an answer, since it is built in memory. */
const MOST_SHOWN = 50_000

/** The end of the answer: the effort of the search, and what the answer lacks. */
export function endJson(effort: SearchEffort, failure: string | undefined): string {
  const lacks = failure ?? effort.lacks
  const metrics = {
    inspectedTraces: effort.inspectedTraces,
    inspectedBytes: String(effort.inspectedBytes),
    inspectedSpans: String(effort.inspectedSpans),
    completedJobs: lacks === undefined ? 1 : 0,
    totalJobs: 1,
  }
  return `,"metrics":${JSON.stringify(metrics)}${partialJson(lacks)}}`
}

/** The fields at the end of a partial answer. */
export function partialJson(lacks: string | undefined): string {
  return lacks === undefined ? '' : `,"status":"PARTIAL","message":${JSON.stringify(lacks)}`
}

/** The text that Tempo gives for a missing root. Grafana shows it. */
const NO_ROOT = '<root span not yet received>'

/** A trace found, as JSON; undefined if the answer has no room for it. */
function foundJson(found: FoundTrace, spansPerSet: number, effort: SearchEffort): JsonObject | undefined {
  const { trace, facts, sets } = found
  const stats = serviceStats(trace)
  const names = [facts.rootServiceName, facts.rootName, ...Object.keys(stats)]
  if (!effort.hasRoomFor(names.reduce((sum, { length }) => sum + length, OF_TRACE))) return undefined
  const spanSets: JsonObject[] = []
  for (const set of sets) {
    if (!effort.hasRoomFor(set.attributes.reduce((sum, { value }) => sum + lengthOf(value), OF_SPAN))) break
    spanSets.push(spansetJson(set, found, spansPerSet, effort))
  }
  const [first = {}] = spanSets
  return {
    traceID: trace.traceId,
    rootServiceName: facts.rootServiceName === '' ? NO_ROOT : facts.rootServiceName,
    rootTraceName: facts.rootName,
    startTimeUnixNano: String(facts.startNs),
    durationMs: Number(durationNs(facts) / 1_000_000n),
    spanSet: first,
    spanSets,
    serviceStats: stats,
  }
}

/** The estimated length of a trace without its names, and of a span set or span. */
const [OF_TRACE, OF_SPAN] = [200, 100]

function spansetJson(
  { spans, attributes }: Spanset,
  found: FoundTrace,
  most: number,
  effort: SearchEffort,
): JsonObject {
  const shown: JsonObject[] = []
  for (const view of spans.slice(0, most)) {
    const read = shownOf(view, found.selected(view.stored))
    const length = read.reduce(
      (sum, { attribute, value }) => sum + attribute.name.length + lengthOf(value),
      0,
    )
    if (!effort.hasRoomFor(length + view.stored.name.length + OF_SPAN)) break
    shown.push(spanJson(view, read))
  }
  return {
    spans: shown,
    matched: spans.length,
    ...(attributes.length > 0 && {
      attributes: attributes.map(({ name, value }) => ({ key: name, value: staticJson(value) })),
    }),
  }
}

/** The attributes that each span is shown with in any case. */
const SHOWN: readonly string[] = [
  'name',
  'duration',
  'traceDuration',
  'rootName',
  'rootServiceName',
  'trace:id',
  'span:id',
]

function shownOf(view: SpanView, selected: SpanView | undefined): Read[] {
  const read = new Map<string, Read>()
  for (const one of [...view.all(), ...(selected?.all() ?? [])]) {
    const { scope, name } = one.attribute
    const isShown = scope === 'intrinsic' && SHOWN.includes(name)
    if (!isShown && one.value.type !== 'nil') read.set(`${scope} ${name}`, one)
  }
  return [...read.values()]
}

function spanJson({ stored }: SpanView, read: readonly Read[]): JsonObject {
  return {
    spanID: stored.spanId,
    name: stored.name,
    startTimeUnixNano: String(stored.startNs),
    durationNanos: String(durationNs(stored)),
    attributes: read.map(({ attribute, value }) => ({
      key: attribute.name,
      value: staticJson(value),
    })),
  }
}

function serviceStats({ spans }: StoredTrace): JsonObject {
  const keys = new TextKeys()
  const stats = new Map<string, { service: string; counts: { spanCount: number; errorCount?: number } }>()
  for (const { scope, status } of spans) {
    const key = keys.of(scope.service)
    let known = stats.get(key)
    if (known === undefined) stats.set(key, (known = { service: scope.service, counts: { spanCount: 0 } }))
    const { counts } = known
    counts.spanCount++
    if (status === STATUS_ERROR) counts.errorCount = (counts.errorCount ?? 0) + 1
  }
  return Object.fromEntries([...stats.values()].map(({ service, counts }) => [service, counts]))
}
