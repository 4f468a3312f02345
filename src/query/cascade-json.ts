import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import type { CascadeFacts, CausewayQueries, LinkedSpan, TraceFacts } from '../model/queries.ts'
import { millis, rfc3339, type UnixNanos } from '../model/time-and-size.ts'
import type {
  Cascade,
  CascadeOutline,
  ClusterTimeAnswer,
  Comparison,
  CriticalPath,
  HeldWithinAnswer,
  KindTimeAnswer,
  ServiceTimeAnswer,
  Span,
  Trace,
} from './answer-schemas.ts'
import {
  analyseCascade,
  type CascadeAnalysis,
  type CascadePlan,
  CRITICAL,
  type DominantSpan,
  PARENT_MISSING,
  type PathStep,
  positionOfMost,
} from './cascade-analysis.ts'
import { mergelogJson, seenJson } from './object-json.ts'
import { durationNs } from './span-tree.ts'
import type { KindTime, ServiceTime } from './time-totals.ts'

/** The most CPIDs without a mergelog that an answer lists. */
const MISSING_NAMED = 100
const MERGELOGS_SHOWN = 1000
const REFERENCES_SHOWN = 128
const SPANS_AT_ONCE = 200

/** The queries behind an answer about a cascade. */
export type CascadeRead = Pick<
  CausewayQueries,
  'tracesOf' | 'linkedSpans' | 'linkedSpansOf' | 'missingIn' | 'mergelogsIn'
>

/** A cascade in a list. */
export function cascadeOutline(facts: Omit<CascadeFacts, 'position'>): CascadeOutline {
  return {
    root: facts.root,
    traceId: facts.traceId.toString('hex'),
    state: facts.open ? 'open' : 'settled',
    start: rfc3339(facts.startNs),
    lastActivity: rfc3339(facts.lastNs),
    durationMs: millis(facts.lastNs - facts.startNs),
    traceCount: facts.traces,
    spans: facts.spans,
    failed: facts.failed,
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
    ...(facts.supersededBy !== undefined && { supersededBy: facts.supersededBy }),
  }
}

/** A text that changes whenever the answer of `cascadeJson` does. */
export function cascadeVersion(queries: CausewayQueries, facts: CascadeFacts): string {
  const traces = queries.tracesOf(facts.root).map(({ id, lastDecision }) => {
    const beingPlaced = queries.beingPlacedIn(id)
    return [lastDecision, ...beingPlaced].join(',')
  })
  const mergelogs = queries.mergelogsIn(facts.root, MERGELOGS_SHOWN + 1).length
  return `${JSON.stringify(cascadeOutline(facts))} ${mergelogs} ${traces.join(' ')}`
}

/**
 * A cascade with its span trees, one after the other; a full trace and those that continue it are one tree. A tree is a list, parents
 * before children, with depths, since JSON parsers refuse JSON that is nested as deep as traces can be. Spans are read twice, first for the
 * analysis and then for the answer, so that a slow client does not keep them in memory.
 */
export function* cascadeJson(queries: CascadeRead, facts: CascadeFacts): Generator<string> {
  yield JSON.stringify({
    ...cascadeOutline(facts),
    missedVersions: facts.missedVersions,
    missingCpids: queries.missingIn(facts.root, MISSING_NAMED),
  }).slice(0, -1)
  const analysis = yield* analyseCascade(queries, facts)
  yield `,${JSON.stringify(totalsJson(analysis, facts)).slice(1, -1)}`
  const mergelogs = queries.mergelogsIn(facts.root, MERGELOGS_SHOWN + 1)
  yield `,"mergelogs":${JSON.stringify(mergelogs.slice(0, MERGELOGS_SHOWN).map(mergelogJson))}`
  if (mergelogs.length > MERGELOGS_SHOWN) yield ',"mergelogsTruncated":true'
  yield ',"traces":['
  let separator = ''
  for (const plan of analysis.plans) {
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

function totalsJson(
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

/** `first` is the first trace of the tree, if this trace continues another. */
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

/** Leaves out spans that were pruned since the analysis. */
function spansJson(queries: CascadeRead, plan: CascadePlan, from: number, facts: CascadeFacts): string {
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

function serviceTimeJson(time: ServiceTime): ServiceTimeAnswer {
  return {
    service: time.service,
    totalMs: millis(time.totalNs),
    selfMs: millis(time.selfNs),
    waitMs: millis(time.waitNs),
    spans: time.spans,
    errors: time.errors,
    firstStart: rfc3339(time.firstNs),
    lastEnd: rfc3339(time.lastNs),
  }
}

/** The time of a service in one cluster, as the API shows it. */
function clusterTimeJson(time: ServiceTime): ClusterTimeAnswer {
  return { cluster: time.cluster ?? null, ...serviceTimeJson(time) }
}

function kindTimeJson(time: KindTime): KindTimeAnswer {
  return {
    kind: time.kind,
    totalMs: millis(time.totalNs),
    selfMs: millis(time.selfNs),
    waitMs: millis(time.waitNs),
    spans: time.spans,
    writes: time.writes,
    objects: time.objects,
  }
}

/** The critical path as the API shows it. Offsets count from the start of the cascade. */
function pathJson(path: readonly PathStep[], startNs: UnixNanos): CriticalPath {
  return {
    durationMs: millis(path.reduce((sum, { waitNs, heldNs }) => sum + waitNs + heldNs, 0n)),
    longestStep: positionOfMost(path, ({ heldNs }) => heldNs) ?? null,
    longestWait: positionOfMost(path, ({ waitNs }) => waitNs) ?? null,
    steps: path.map(({ span, traceId, selfNs, waitNs, heldNs, mostly }) => ({
      spanId: spanIdHex(span.spanId),
      traceId: traceId.toString('hex'),
      service: span.service,
      name: span.name,
      offsetMs: millis(span.startNs - startNs),
      durationMs: millis(durationNs(span)),
      selfMs: millis(selfNs),
      waitMs: millis(waitNs),
      heldMs: millis(heldNs),
      mostly: mostly === undefined ? null : withinJson(mostly),
    })),
  }
}

function withinJson({ span, heldNs }: DominantSpan): HeldWithinAnswer {
  return {
    spanId: spanIdHex(span.spanId),
    service: span.service,
    name: span.name,
    heldMs: millis(heldNs),
  }
}

/** The facts of a cascade, and the queries for the rest of it. */
export interface ReadableCascade {
  readonly facts: CascadeFacts
  readonly queries: CascadeRead
}

/** Compares two cascades: their services and kinds of objects, those with the largest increase first. */
export function* compareJson(one: ReadableCascade, other: ReadableCascade): Generator<string> {
  const [a, b] = [one.facts, other.facts]
  const ofA = yield* analyseCascade(one.queries, one.facts)
  const ofB = yield* analyseCascade(other.queries, other.facts)
  const [durationA, durationB] = [a, b].map(({ startNs, lastNs }) => lastNs - startNs) as [bigint, bigint]
  yield JSON.stringify({
    a: cascadeOutline(a),
    b: cascadeOutline(b),
    durationMs: { a: millis(durationA), b: millis(durationB), difference: millis(durationB - durationA) },
    services: pairByName(ofA.services, ofB.services, ({ service }) => service).map((pair) => ({
      service: pair.name,
      a: pair.a === undefined ? null : serviceTimeJson(pair.a),
      b: pair.b === undefined ? null : serviceTimeJson(pair.b),
      differenceMs: millis(pair.differenceNs),
    })),
    kinds: pairByName(ofA.kinds, ofB.kinds, ({ kind }) => kind).map((pair) => ({
      kind: pair.name,
      a: pair.a === undefined ? null : kindTimeJson(pair.a),
      b: pair.b === undefined ? null : kindTimeJson(pair.b),
      differenceMs: millis(pair.differenceNs),
    })),
  } satisfies Comparison)
}

interface Total {
  readonly totalNs: bigint
}

interface Pair<T> {
  readonly name: string
  readonly a: T | undefined
  readonly b: T | undefined
  /** The time in `b` minus the time in `a`. */
  readonly differenceNs: bigint
}

/** Pairs the items of two lists that have the same name, the largest increase first. */
export function pairByName<T extends Total>(
  a: readonly T[],
  b: readonly T[],
  nameOf: (item: T) => string,
): Pair<T>[] {
  const ofA = new Map(a.map((item) => [nameOf(item), item]))
  const ofB = new Map(b.map((item) => [nameOf(item), item]))
  return [...new Set([...ofA.keys(), ...ofB.keys()])]
    .map((name) => {
      const [inA, inB] = [ofA.get(name), ofB.get(name)]
      return { name, a: inA, b: inB, differenceNs: (inB?.totalNs ?? 0n) - (inA?.totalNs ?? 0n) }
    })
    .sort((one, other) => {
      if (one.differenceNs !== other.differenceNs) return one.differenceNs > other.differenceNs ? -1 : 1
      return one.name < other.name ? -1 : 1
    })
}
