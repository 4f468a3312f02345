import type { CascadeFacts, CausewayQueries, LinkedSpan, TraceFacts } from '../../model/ports/query-port.ts'
import { spanIdHex } from '../../otlp/write/encode-span.ts'
import type { Cascade, CascadeOutline } from '../answers/cascades.ts'
import type { Span, Trace } from '../answers/spans.ts'
import {
  analyseCascade,
  CRITICAL,
  PARENT_MISSING,
  type CascadeAnalysis,
  type CascadePlan,
} from './cascade-analysis.ts'
import { mergelogJson } from '../cpid-json.ts'
import { millis, rfc3339 } from '../../model/rfc3339.ts'
import { seenJson } from '../seen-json.ts'
import { clusterTimeJson, kindTimeJson, pathJson, serviceTimeJson } from './time-json.ts'

/** How many CPIDs without a mergelog are named. */
const MISSING_NAMED = 100
const MERGELOGS_SHOWN = 1000
const REFERENCES_SHOWN = 128
const SPANS_AT_ONCE = 200

/** A cascade in a list. */
export function cascadeOutline(facts: CascadeFacts): CascadeOutline {
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
    clockSkew: facts.clockSkew,
    object: facts.object ?? null,
    service: facts.service ?? null,
    actor: facts.actor ?? facts.service ?? null,
    gaps: facts.gaps,
    cluster: facts.cluster ?? null,
    reason: facts.reason ?? null,
  }
}

/** A text that changes with whatever `cascadeJson` shows. */
export function cascadeVersion(queries: CausewayQueries, facts: CascadeFacts): string {
  const traces = queries.tracesOf(facts.root).map(({ id, lastDecision }) => {
    const beingPlaced = queries.beingPlacedIn(id)
    return [lastDecision, ...beingPlaced].join(',')
  })
  const mergelogs = queries.mergelogsIn(facts.root, MERGELOGS_SHOWN + 1).length
  return `${JSON.stringify(cascadeOutline(facts))} ${mergelogs} ${traces.join(' ')}`
}

/**
 * A cascade with its span trees, one after the other: traces that were divided because they were full are one tree. A tree is a list, parents before children,
 * with depths: JSON nested as deep as traces can be is more than parsers take. Spans are read twice, once to find out
 * about them and once to show them, so that a slow reader keeps little in memory.
 */
export function* cascadeJson(queries: CausewayQueries, facts: CascadeFacts): Generator<string> {
  yield JSON.stringify({
    ...cascadeOutline(facts),
    missingCpids: queries.missingIn(facts.root, MISSING_NAMED),
  }).slice(0, -1)
  const analysing = analyseCascade(queries, facts.root)
  let found = analysing.next()
  while (found.done !== true) {
    yield ''
    found = analysing.next()
  }
  yield `,${JSON.stringify(totalsJson(found.value, facts)).slice(1, -1)}`
  const mergelogs = queries.mergelogsIn(facts.root, MERGELOGS_SHOWN + 1)
  yield `,"mergelogs":${JSON.stringify(mergelogs.slice(0, MERGELOGS_SHOWN).map(mergelogJson))}`
  if (mergelogs.length > MERGELOGS_SHOWN) yield ',"mergelogsTruncated":true'
  yield ',"traces":['
  let separator = ''
  for (const plan of found.value.plans) {
    const [first, ...rest] = plan.traces
    yield `${separator}${JSON.stringify(traceJson(first, null)).slice(0, -1)},"spans":[`
    separator = ','
    let spanSeparator = ''
    for (let at = 0; at < plan.decisions.length; at += SPANS_AT_ONCE) {
      const text = spansJson(queries, plan, at, facts)
      yield text === '' ? '' : spanSeparator + text
      if (text !== '') spanSeparator = ','
    }
    yield ']}'
    for (const trace of rest) yield `,${JSON.stringify({ ...traceJson(trace, first), spans: [] })}`
  }
  yield ']}'
}

/** The totals of a cascade as the API shows them. */
export function totalsJson(
  { services, clusters, kinds, path }: CascadeAnalysis,
  facts: CascadeFacts,
): Pick<Cascade, 'timePerService' | 'timePerCluster' | 'timePerKind' | 'criticalPath'> {
  return {
    timePerService: services.map(serviceTimeJson),
    timePerCluster: clusters.map(clusterTimeJson),
    timePerKind: kinds.map(kindTimeJson),
    criticalPath: pathJson(path, facts.startNs),
  }
}

/** `first`: the trace with which the tree begins in which its spans are shown, when that is another one. */
function traceJson(
  { traceId, episode, open, startNs, lastNs }: TraceFacts,
  first: TraceFacts | null,
): Omit<Trace, 'spans'> {
  return {
    traceId: traceId.toString('hex'),
    episode,
    state: open ? 'open' : 'settled',
    start: rfc3339(startNs),
    lastActivity: rfc3339(lastNs),
    continues: first === null ? null : first.traceId.toString('hex'),
  }
}

/** Spans that were pruned since they were counted are left out. */
function spansJson(queries: CausewayQueries, plan: CascadePlan, from: number, facts: CascadeFacts): string {
  const decisions = [...plan.decisions.subarray(from, from + SPANS_AT_ONCE)]
  const places = new Map(decisions.map((decision, position) => [decision, from + position]))
  const spans = queries.linkedSpansOf(decisions)
  return spans
    .map((span) => JSON.stringify(spanJson(span, plan, places.get(span.decision) ?? from, facts)))
    .join(',')
}

function spanJson(span: LinkedSpan, plan: CascadePlan, at: number, facts: CascadeFacts): Span {
  const { startNs } = facts
  const waitMs = plan.waitMs[at] ?? 0
  const marks = plan.marks[at] ?? 0
  const parentId = plan.parentIds[at] ?? 0n
  const part = plan.parts[at] ?? 0
  const elsewhere = plan.traces[part]
  return {
    spanId: spanIdHex(span.spanId),
    parentSpanId: parentId === 0n ? null : spanIdHex(parentId),
    ...(elsewhere !== undefined && part > 0 && { traceId: elsewhere.traceId.toString('hex') }),
    depth: plan.depths[at] ?? 0,
    name: span.name,
    service: span.service,
    ...(span.cluster !== undefined && span.cluster !== facts.cluster && { cluster: span.cluster }),
    cpid: span.cpid ?? null,
    start: rfc3339(span.startNs),
    offsetMs: millis(span.startNs - startNs),
    durationMs: millis(span.endNs - span.startNs),
    selfMs: plan.selfMs[at] ?? 0,
    ...(waitMs > 0 && { waitMs }),
    kind: span.kind,
    status: span.status,
    synthetic: span.row === undefined,
    copy: span.copy,
    ...(!span.activity && { activity: false }),
    parentMissing: (marks & PARENT_MISSING) !== 0,
    ...(span.beingPlaced === true && { beingPlaced: true }),
    ...((marks & CRITICAL) !== 0 && { critical: true }),
    ...(span.wrote.length > 0 && { wrote: span.wrote.slice(0, REFERENCES_SHOWN) }),
    ...(span.observed.length > 0 && { observed: span.observed.slice(0, REFERENCES_SHOWN) }),
    ...seenJson(span.seen),
  }
}
