import type { CascadeFacts, CausewayQueries, TraceFacts } from '../model/query-port.ts'
import { spanIdHex } from '../otlp/encode-span.ts'
import { millis, rfc3339 } from './rfc3339.ts'
import { spanTree, type TreeSpan } from './span-tree.ts'
import { TimePerService, type ServiceTime } from './time-per-service.ts'

/** How many CPIDs without a mergelog are named. */
const MISSING_NAMED = 100
const SPANS_AT_ONCE = 200

/** A cascade in a list. */
export function cascadeOutline(facts: CascadeFacts) {
  return {
    root: facts.root,
    traceId: facts.traceId.toString('hex'),
    state: facts.open ? 'open' : 'settled',
    start: rfc3339(facts.startNs),
    lastActivity: rfc3339(facts.lastNs),
    durationMs: millis(facts.lastNs - facts.startNs),
    traceCount: facts.traces,
    spans: facts.spans,
    services: facts.services,
    merges: facts.merges,
    missing: facts.missing,
    truncated: facts.truncated,
    object: facts.object ?? null,
    service: facts.service ?? null,
  }
}

/**
 * A cascade with the span trees of its traces, one trace after the other. A tree is a list, parents before children,
 * with depths: JSON nested as deep as traces can be is more than parsers take.
 */
export function* cascadeJson(queries: CausewayQueries, facts: CascadeFacts): Generator<string> {
  const missingCpids = queries.missingIn(facts.root, MISSING_NAMED)
  yield `${JSON.stringify({ ...cascadeOutline(facts), missingCpids }).slice(0, -1)},"traces":[`
  const times = new TimePerService()
  let separator = ''
  for (const trace of queries.tracesOf(facts.root)) {
    const spans = queries.linkedSpans(trace.id)
    times.add(spans)
    yield `${separator}${JSON.stringify(traceJson(trace)).slice(0, -1)},"spans":[`
    separator = ','
    const tree = spanTree(spans)
    for (let at = 0; at < tree.length; at += SPANS_AT_ONCE) {
      const some = tree.slice(at, at + SPANS_AT_ONCE)
      yield (at === 0 ? '' : ',') + some.map((span) => JSON.stringify(spanJson(span, facts))).join(',')
    }
    yield ']}'
  }
  yield `],"timePerService":${JSON.stringify(times.totals().map(serviceJson))}}`
}

function traceJson({ traceId, episode, open, startNs, lastNs }: TraceFacts) {
  return {
    traceId: traceId.toString('hex'),
    episode,
    state: open ? 'open' : 'settled',
    start: rfc3339(startNs),
    lastActivity: rfc3339(lastNs),
  }
}

function spanJson({ span, depth, parentMissing }: TreeSpan, { startNs }: CascadeFacts) {
  return {
    spanId: spanIdHex(span.spanId),
    parentSpanId: span.parentId === 0n ? null : spanIdHex(span.parentId),
    depth,
    name: span.name,
    service: span.service,
    cpid: span.cpid ?? null,
    start: rfc3339(span.startNs),
    offsetMs: millis(span.startNs - startNs),
    durationMs: millis(span.endNs - span.startNs),
    kind: span.kind,
    status: span.status,
    synthetic: span.row === undefined,
    copy: span.copy,
    parentMissing,
  }
}

function serviceJson({ service, totalNs, spans, firstNs, lastNs }: ServiceTime) {
  return { service, totalMs: millis(totalNs), spans, firstStart: rfc3339(firstNs), lastEnd: rfc3339(lastNs) }
}
