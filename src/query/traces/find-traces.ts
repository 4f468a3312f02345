import type { CausewayQueries, TraceFacts } from '../../model/ports/query-port.ts'
import type { UnixNanos } from '../../model/clock.ts'
import { serviceIn, type Condition } from './condition.ts'
import { MatchingEffort } from './matching-effort.ts'
import { matchesCondition, type TraceAround } from './matches-condition.ts'
import { attributesOf, plainValue, SpanRenderer, textOf, type ShownSpan } from './shown-span.ts'

/** How many traces are looked into for one search. */
export const MAX_INSPECTED = 5_000
/** How many matching spans of a trace are kept while it is looked through. */
const MAX_KEPT = 1_000

export interface TraceSearch {
  readonly condition: Condition
  /** Traces whose activity reaches into the time between these. */
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
  readonly limit: number
  /** How many matching spans of each trace are shown. */
  readonly spansPerTrace: number
}

export interface FoundTrace extends TraceAround {
  readonly trace: TraceFacts
  /** The first of the matching spans. */
  readonly spans: readonly ShownSpan[]
  readonly matched: number
}

/** Outgoing traces with a span that meets a condition, newest first. An undefined one only lets others take a turn. */
export function* findTraces(
  queries: CausewayQueries,
  { condition, fromNs, toNs, limit, spansPerTrace }: TraceSearch,
  effort = new MatchingEffort(),
): Generator<FoundTrace | undefined> {
  const service = serviceIn(condition)
  let [found, inspected] = [0, 0]
  const range = {
    ...(fromNs !== undefined && { fromNs }),
    ...(toNs !== undefined && { toNs }),
    ...(service !== undefined && { service }),
  }
  for (const page of queries.traces(range)) {
    yield undefined
    for (const trace of page) {
      if (found >= limit || ++inspected > MAX_INSPECTED) return
      const hit = yield* lookInto(queries, trace, {
        condition,
        most: Math.min(spansPerTrace, MAX_KEPT),
        effort,
      })
      if (hit.matched === 0) continue
      found++
      yield hit
    }
  }
}

function* lookInto(
  queries: CausewayQueries,
  trace: TraceFacts,
  { condition, most, effort }: { condition: Condition; most: number; effort: MatchingEffort },
): Generator<undefined, FoundTrace> {
  const shower = new SpanRenderer(queries)
  const spans: ShownSpan[] = []
  let matched = 0
  let around: TraceAround | undefined
  for (const page of queries.sentInto(trace.id)) {
    for (const shown of page.flatMap((item) => shower.show(item))) {
      around ??= aroundOf(trace, shown)
      if (effort.next()) yield
      if (!matchesCondition(condition, shown, around, effort)) continue
      matched++
      if (spans.length < most) spans.push(shown)
    }
    yield
  }
  return { trace, spans, matched, ...(around ?? { rootName: '', rootServiceName: '', durationNs: 0 }) }
}

/** The first span sent into a trace is its root. */
function aroundOf({ startNs, lastNs }: TraceFacts, { span, resource }: ShownSpan): TraceAround {
  return {
    rootName: textOf(span['name']),
    rootServiceName: serviceOf(resource),
    durationNs: Number(lastNs - startNs),
  }
}

/** The `service.name` of a resource; empty without one. */
export function serviceOf(resource: ShownSpan['resource']): string {
  const [, value] = attributesOf(resource).find(([key]) => key === 'service.name') ?? []
  return value === undefined ? '' : String(plainValue(value) ?? '')
}
