import { STATUS_ERROR } from '../model/arrivals.ts'
import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { durationNs } from './span-tree.ts'
import { findTraces, type FoundTrace, SearchEffort, type TraceSearch } from './trace-search.ts'
import type { Read } from './traceql/conditions.ts'
import type { SpanView } from './traceql/fetch-plan.ts'
import type { Spanset } from './traceql/pipeline.ts'
import { staticJson } from './traceql/static-values.ts'
import { TraceQlError } from './traceql/syntax.ts'
import type { StoredTrace } from './traceql/trace-data.ts'

/** What a search finds, as Tempo answers it, and whether that is all there is. */
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
      const shown = foundJson(found, Math.min(search.spansPerTrace, left))
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

/** How many spans one answer shows, so that it is not too large to be held. */
const MOST_SHOWN = 50_000

/** The effort of a search, and what the answer lacks. */
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

function foundJson(found: FoundTrace, spansPerSet: number): JsonObject {
  const { trace, facts, sets } = found
  const spanSets = sets.map((set) => spansetJson(set, found, spansPerSet))
  const [first = {}] = spanSets
  return {
    traceID: trace.traceId,
    rootServiceName: facts.rootServiceName,
    rootTraceName: facts.rootName,
    startTimeUnixNano: String(facts.startNs),
    durationMs: Number(durationNs(facts) / 1_000_000n),
    spanSet: first,
    spanSets,
    serviceStats: serviceStats(trace),
  }
}

function spansetJson({ spans, attributes }: Spanset, found: FoundTrace, most: number): JsonObject {
  return {
    spans: spans.slice(0, most).map((view) => spanJson(view, found.selected(view.stored))),
    matched: spans.length,
    ...(attributes.length > 0 && {
      attributes: attributes.map(({ name, value }) => ({ key: name, value: staticJson(value) })),
    }),
  }
}

/** What every span is shown with anyway. */
const SHOWN: readonly string[] = [
  'name',
  'duration',
  'traceDuration',
  'rootName',
  'rootServiceName',
  'trace:id',
  'span:id',
]

function spanJson(view: SpanView, selected: SpanView | undefined): JsonObject {
  const { stored } = view
  const read = new Map<string, Read>()
  for (const one of [...view.all(), ...(selected?.all() ?? [])]) {
    const { scope, name } = one.attribute
    const isShown = scope === 'intrinsic' && SHOWN.includes(name)
    if (!isShown && one.value.type !== 'nil') read.set(`${scope} ${name}`, one)
  }
  return {
    spanID: stored.spanId,
    name: stored.name,
    startTimeUnixNano: String(stored.startNs),
    durationNanos: String(durationNs(stored)),
    attributes: [...read.values()].map(({ attribute, value }) => ({
      key: attribute.name,
      value: staticJson(value),
    })),
  }
}

function serviceStats({ spans }: StoredTrace): JsonObject {
  const stats = new Map<string, { spanCount: number; errorCount?: number }>()
  for (const { scope, status } of spans) {
    const known = stats.get(scope.service) ?? { spanCount: 0 }
    known.spanCount++
    if (status === STATUS_ERROR) known.errorCount = (known.errorCount ?? 0) + 1
    stats.set(scope.service, known)
  }
  return Object.fromEntries(stats)
}
