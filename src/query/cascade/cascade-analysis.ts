import type { CausewayQueries, LinkedSpan, TraceFacts } from '../../model/ports/query-port.ts'
import type { Cpid } from '../../model/cpid.ts'
import { criticalPath } from './critical-path.ts'
import { CascadeFold, type FoldedSpan } from './fold-cascade.ts'
import { stepTimes, type StepTime } from './step-times.ts'
import { dominantSpans, type DominantSpan } from './dominant-spans.ts'
import { placedSpans } from './placed-spans.ts'
import { spanTimes, type SpanTimes } from './span-times.ts'
import { spanTree, type TreeSpan } from './span-tree.ts'
import { TimePerKind, type KindTime } from './time-per-kind.ts'
import { serviceInCluster, TimePerService, type ServiceTime } from './time-per-service.ts'
import { wholeCascades } from './whole-cascades.ts'

/** In which order the spans of one cascade are shown, and what was found out about each: a few bytes a span. */
export interface CascadePlan {
  /** Its traces: more than one where some were full. */
  readonly traces: readonly [TraceFacts, ...TraceFacts[]]
  readonly decisions: Float64Array
  /** Positions in `traces`. */
  readonly parts: Uint32Array
  readonly depths: Uint32Array
  /** Ids of the spans above, as sent; 0n for none. */
  readonly parentIds: BigInt64Array
  readonly selfMs: Float64Array
  readonly waitMs: Float64Array
  /** PARENT_MISSING, CRITICAL */
  readonly marks: Uint8Array
}

export const PARENT_MISSING = 1
export const CRITICAL = 2

/** A step of the critical path of a whole cascade. */
export interface PathStep extends StepTime {
  readonly traceId: Buffer
  readonly span: LinkedSpan
  readonly selfNs: bigint
  /** The span inside it that took most of what it held up, when that is not the step itself. */
  readonly mostly: DominantSpan | undefined
}

type StepWithin = Omit<PathStep, keyof StepTime>

export interface CascadeAnalysis {
  /** As the traces of the cascade are listed. */
  readonly plans: readonly CascadePlan[]
  readonly services: readonly ServiceTime[]
  /** The same in each cluster; none where all of it is in one. */
  readonly clusters: readonly ServiceTime[]
  readonly kinds: readonly KindTime[]
  readonly path: readonly PathStep[]
}

type Read = Pick<CausewayQueries, 'tracesOf' | 'linkedSpans' | 'linkedSpansOf'>

/**
 * Finds out where the time of a cascade went, a trace at a step; only what is small is kept. Traces that were divided
 * because they were full count as one. The critical path leads to the span ending last, and where that stands in an
 * episode that began later, on to what ended last before the episode began.
 */
export function* analyseCascade(queries: Read, root: Cpid): Generator<undefined, CascadeAnalysis> {
  const services = new TimePerService()
  const clusters = new TimePerService(serviceInCluster)
  const kinds = new TimePerKind()
  const plans: CascadePlan[] = []
  const path: StepWithin[] = []
  const all = queries.tracesOf(root)
  const lastActive = newestActivity(all)
  let byNs: bigint | undefined
  for (const traces of wholeCascades(all).reverse()) {
    const fold = new CascadeFold(traces)
    for (const trace of traces) {
      const spans = queries.linkedSpans(trace.id)
      kinds.add(spans.filter(isPlaced))
      fold.add(trace, spans.map(slim))
      yield
    }
    const folded = fold.spans()
    const tree = spanTree(folded)
    const times = spanTimes(tree)
    const counted = folded.filter(isPlaced)
    services.add(counted, times)
    clusters.add(counted, times)
    kinds.addTimes(times)
    const placed = placedSpans(tree)
    const steps = traces[0].episode > lastActive ? [] : criticalPath(placed, byNs)
    plans.push(planOf(traces, tree, times, new Set(steps)))
    path.unshift(...stepsWithin(queries, placed, steps, times))
    byNs = path[0]?.span.startNs
    yield
  }
  return {
    plans: plans.reverse(),
    services: services.totals(),
    clusters: ofSeveral(clusters.totals()),
    kinds: kinds.totals(),
    path: heldOf(path),
  }
}

/** The same at once, for callers who keep nobody waiting. */
export function wholeAnalysis(...args: Parameters<typeof analyseCascade>): CascadeAnalysis {
  const analysing = analyseCascade(...args)
  for (let found = analysing.next(); ; found = analysing.next()) if (found.done === true) return found.value
}

function ofSeveral(times: readonly ServiceTime[]): readonly ServiceTime[] {
  return new Set(times.map(({ cluster }) => cluster)).size > 1 ? times : []
}

function isPlaced(span: LinkedSpan): boolean {
  return span.beingPlaced !== true
}

const NONE: readonly string[] = []

/** A span without what is read again when it is shown. */
function slim(span: LinkedSpan): LinkedSpan {
  return {
    ...span,
    name: span.row === undefined ? span.name : '',
    cpid: span.row === undefined ? span.cpid : undefined,
    observed: NONE,
    wrote: NONE,
  }
}

/** The episode that was active last. */
function newestActivity(traces: readonly TraceFacts[]): number {
  let newest: TraceFacts | undefined
  for (const trace of traces) if (newest === undefined || trace.lastNs >= newest.lastNs) newest = trace
  return newest?.episode ?? 0
}

function stepsWithin(
  queries: Read,
  tree: readonly TreeSpan<FoldedSpan>[],
  steps: readonly FoldedSpan[],
  times: ReadonlyMap<LinkedSpan, SpanTimes>,
): StepWithin[] {
  const most = dominantSpans(tree, steps, stepTimes(steps))
  const shown = asSent(queries, [...steps, ...most.flatMap((within) => within?.span ?? [])])
  return steps.map((span, at) => {
    const mostly = most[at]
    return {
      traceId: span.part.traceId,
      span: shown(span),
      selfNs: times.get(span)?.selfNs ?? 0n,
      mostly: mostly && { ...mostly, span: shown(mostly.span) },
    }
  })
}

/** Spans with the names and ids with which they were sent, and the times that they have in the cascade. */
function asSent(queries: Read, spans: readonly LinkedSpan[]): (span: LinkedSpan) => LinkedSpan {
  const sent = new Map(
    queries.linkedSpansOf(spans.map(({ decision }) => decision)).map((span) => [span.decision, span]),
  )
  return (span) => ({ ...(sent.get(span.decision) ?? span), startNs: span.startNs, endNs: span.endNs })
}

/** Divides the time of the path through all traces among its steps. */
function heldOf(path: readonly StepWithin[]): PathStep[] {
  const held = stepTimes(path.map(({ span }) => span))
  return path.flatMap((step, at) => {
    const time = held[at]
    return time === undefined ? [] : [{ ...step, ...time }]
  })
}

function planOf(
  traces: CascadePlan['traces'],
  tree: readonly TreeSpan<FoldedSpan>[],
  times: ReadonlyMap<LinkedSpan, SpanTimes>,
  critical: ReadonlySet<LinkedSpan>,
): CascadePlan {
  const positions = new Map(traces.map((trace, at) => [trace, at]))
  return {
    traces,
    decisions: Float64Array.from(tree, ({ span }) => span.decision),
    parts: Uint32Array.from(tree, ({ span }) => positions.get(span.part) ?? 0),
    depths: Uint32Array.from(tree, ({ depth }) => depth),
    parentIds: BigInt64Array.from(tree, ({ span, parent }) => parent?.sentId ?? span.sentParentId),
    selfMs: Float64Array.from(tree, ({ span }) => Number(times.get(span)?.selfNs ?? 0n) / 1e6),
    waitMs: Float64Array.from(tree, ({ span }) => Number(times.get(span)?.waitNs ?? 0n) / 1e6),
    marks: Uint8Array.from(
      tree,
      ({ span, parentMissing }) => (parentMissing ? PARENT_MISSING : 0) | (critical.has(span) ? CRITICAL : 0),
    ),
  }
}
