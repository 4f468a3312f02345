import type { CausewayQueries, LinkedSpan, TraceFacts } from '../model/query-port.ts'
import type { Cpid } from '../model/cpid.ts'
import { criticalPath } from './critical-path.ts'
import { heldTimes, type HeldTime } from './held-times.ts'
import { mostWithin, type HeldWithin } from './held-within.ts'
import { spanTimes, type SpanTimes } from './span-times.ts'
import { spanTree, type TreeSpan } from './span-tree.ts'
import { TimePerKind, type KindTime } from './time-per-kind.ts'
import { TimePerService, type ServiceTime } from './time-per-service.ts'

/** In which order the spans of one trace are shown, and what was found out about each: a few bytes a span. */
export interface TracePlan {
  readonly trace: TraceFacts
  readonly decisions: Float64Array
  readonly depths: Uint32Array
  readonly selfMs: Float64Array
  readonly waitMs: Float64Array
  /** PARENT_MISSING, CRITICAL */
  readonly marks: Uint8Array
}

export const PARENT_MISSING = 1
export const CRITICAL = 2

/** A step of the critical path of a whole cascade. */
export interface PathStep extends HeldTime {
  readonly traceId: Buffer
  readonly span: LinkedSpan
  readonly selfNs: bigint
  /** The span inside it that took most of what it held up, when that is not the step itself. */
  readonly mostly: HeldWithin | undefined
}

type StepWithin = Omit<PathStep, keyof HeldTime>

export interface CascadeAnalysis {
  /** As the traces of the cascade are listed. */
  readonly plans: readonly TracePlan[]
  readonly services: readonly ServiceTime[]
  readonly kinds: readonly KindTime[]
  readonly path: readonly PathStep[]
}

/**
 * Finds out where the time of a cascade went, a trace at a step; only what is small is kept. The critical path leads to
 * the span ending last, and where that stands in an episode, on to what ended last before the episode began.
 */
export function* analyseCascade(
  queries: Pick<CausewayQueries, 'tracesOf' | 'linkedSpans'>,
  root: Cpid,
): Generator<undefined, CascadeAnalysis> {
  const services = new TimePerService()
  const kinds = new TimePerKind()
  const plans: TracePlan[] = []
  const path: StepWithin[] = []
  const traces = queries.tracesOf(root)
  const lastActive = newestActivity(traces)
  let byNs: bigint | undefined
  for (const trace of traces.toReversed()) {
    const spans = queries.linkedSpans(trace.id)
    const tree = spanTree(spans)
    const times = spanTimes(tree)
    services.add(spans, times)
    kinds.add(spans, times)
    const steps = trace.episode > lastActive ? [] : criticalPath(tree, byNs)
    plans.push(planOf(trace, tree, times, new Set(steps)))
    path.unshift(...stepsWithin(trace, tree, steps, times))
    byNs = path[0]?.span.startNs
    yield
  }
  return { plans: plans.reverse(), services: services.totals(), kinds: kinds.totals(), path: heldOf(path) }
}

/** The same at once, for callers who keep nobody waiting. */
export function wholeAnalysis(...args: Parameters<typeof analyseCascade>): CascadeAnalysis {
  const analysing = analyseCascade(...args)
  for (let found = analysing.next(); ; found = analysing.next()) if (found.done === true) return found.value
}

/** The episode that was active last. */
function newestActivity(traces: readonly TraceFacts[]): number {
  let newest: TraceFacts | undefined
  for (const trace of traces) if (newest === undefined || trace.lastNs >= newest.lastNs) newest = trace
  return newest?.episode ?? 0
}

function stepsWithin(
  { traceId }: TraceFacts,
  tree: readonly TreeSpan[],
  steps: readonly LinkedSpan[],
  times: ReadonlyMap<LinkedSpan, SpanTimes>,
): StepWithin[] {
  const most = mostWithin(tree, steps, heldTimes(steps))
  return steps.map((span, at) => ({
    traceId,
    span,
    selfNs: times.get(span)?.selfNs ?? 0n,
    mostly: most[at],
  }))
}

/** Divides the time of the path through all traces among its steps. */
function heldOf(path: readonly StepWithin[]): PathStep[] {
  const held = heldTimes(path.map(({ span }) => span))
  return path.flatMap((step, at) => {
    const time = held[at]
    return time === undefined ? [] : [{ ...step, ...time }]
  })
}

function planOf(
  trace: TraceFacts,
  tree: readonly TreeSpan[],
  times: ReadonlyMap<LinkedSpan, SpanTimes>,
  critical: ReadonlySet<LinkedSpan>,
): TracePlan {
  return {
    trace,
    decisions: Float64Array.from(tree, ({ span }) => span.decision),
    depths: Uint32Array.from(tree, ({ depth }) => depth),
    selfMs: Float64Array.from(tree, ({ span }) => Number(times.get(span)?.selfNs ?? 0n) / 1e6),
    waitMs: Float64Array.from(tree, ({ span }) => Number(times.get(span)?.waitNs ?? 0n) / 1e6),
    marks: Uint8Array.from(
      tree,
      ({ span, parentMissing }) => (parentMissing ? PARENT_MISSING : 0) | (critical.has(span) ? CRITICAL : 0),
    ),
  }
}
