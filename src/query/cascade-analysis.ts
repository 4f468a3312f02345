import type { CascadeFacts, CausewayQueries, LinkedSpan, TraceFacts } from '../model/queries.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import {
  CascadeFold,
  earlier,
  type FoldedSpan,
  later,
  spanTimes,
  type SpanTimes,
  spanTree,
  type TreeSpan,
} from './span-tree.ts'
import {
  type KindTime,
  serviceInCluster,
  type ServiceTime,
  TimePerKind,
  TimePerService,
} from './time-totals.ts'

/** The order of the spans of one tree, and what the analysis found about each, in a few bytes a span. */
export interface CascadePlan {
  /** The traces of the tree: several if a trace was full and another one continues it. */
  readonly traces: readonly [TraceFacts, ...TraceFacts[]]
  readonly decisions: Float64Array
  /** For each span, the index of its trace in `traces`. */
  readonly parts: Uint32Array
  readonly depths: Uint32Array
  /** Ids of the parent spans, as sent; 0n for none. */
  readonly parentIds: BigInt64Array
  readonly selfMs: Float64Array
  readonly waitMs: Float64Array
  /** Flags: PARENT_MISSING, CRITICAL. */
  readonly marks: Uint8Array
}

export const PARENT_MISSING = 1
export const CRITICAL = 2

/** A step of the critical path of a whole cascade. */
export interface PathStep extends StepTime {
  readonly traceId: Buffer
  readonly span: LinkedSpan
  readonly selfNs: bigint
  /** The span inside the step that took most of the time the step held up; undefined if that is the step itself. */
  readonly mostly: DominantSpan | undefined
}

type StepWithin = Omit<PathStep, keyof StepTime>

export interface CascadeAnalysis {
  /** In the order of the cascade's traces. */
  readonly plans: readonly CascadePlan[]
  readonly services: readonly ServiceTime[]
  /** The times of each service in each cluster; empty if there is a single cluster. */
  readonly clusters: readonly ServiceTime[]
  readonly kinds: readonly KindTime[]
  readonly path: readonly PathStep[]
}

type Whole = Pick<CascadeFacts, 'root' | 'startNs' | 'lastNs'>

type Read = Pick<CausewayQueries, 'tracesOf' | 'linkedSpans' | 'linkedSpansOf'>

/**
 * Computes where the time of a cascade went, trace by trace, and keeps only small results. Yields an empty piece after each trace, so that
 * other questions get their turn. Traces that continue a full one count as one with it. The critical path ends at the span that ends last.
 * If that span is in a later episode, the path starts in an earlier one, at the span that ended last before the later episode began.
 */
export function* analyseCascade(queries: Read, facts: Whole): Generator<string, CascadeAnalysis> {
  const services = new TimePerService()
  const clusters = new TimePerService(serviceInCluster)
  const kinds = new TimePerKind()
  const plans: CascadePlan[] = []
  const path: StepWithin[] = []
  const all = queries.tracesOf(facts.root)
  const within = possibleTimes(facts)
  const lastActive = newestActivity(all)
  let byNs: bigint | undefined
  for (const traces of joinDividedTraces(all).reverse()) {
    const fold = new CascadeFold(traces)
    for (const trace of traces) {
      const spans = queries.linkedSpans(trace.id).map(within)
      kinds.add(spans.filter(isPlaced))
      fold.add(trace, spans.map(forAnalysis))
      yield ''
    }
    const folded = fold.spans()
    const tree = spanTree(folded)
    const times = spanTimes(tree)
    const counted = folded.filter(isPlaced)
    services.add(counted, times)
    clusters.add(counted, times)
    kinds.addTimes(times)
    const placed = withoutUnplacedSpans(tree)
    const steps = traces[0].episode > lastActive ? [] : criticalPath(placed, byNs)
    plans.push(planOf(traces, tree, times, new Set(steps)))
    path.unshift(...stepsWithin(queries, placed, steps, times))
    byNs = path[0]?.span.startNs
    yield ''
  }
  return {
    plans: plans.reverse(),
    services: services.totals(),
    clusters: ofSeveral(clusters.totals()),
    kinds: kinds.totals(),
    path: heldOf(path),
  }
}

/** `analyseCascade` in one go, for callers that block nobody. */
export function analyseCascadeAtOnce(...args: Parameters<typeof analyseCascade>): CascadeAnalysis {
  const analysing = analyseCascade(...args)
  for (let found = analysing.next(); ; found = analysing.next()) if (found.done === true) return found.value
}

function ofSeveral(times: readonly ServiceTime[]): readonly ServiceTime[] {
  return new Set(times.map(({ cluster }) => cluster)).size > 1 ? times : []
}

function isPlaced(span: LinkedSpan): boolean {
  return span.beingPlaced !== true
}

/** A time this far outside the activity of a cascade is taken for wrong: a day. */
const FAR_NS = 86_400_000_000_000n

/** Replaces times that are far outside the activity of a cascade, such as 0, by the nearest time inside. */
function possibleTimes({ startNs: fromNs, lastNs: untilNs }: Whole): (span: LinkedSpan) => LinkedSpan {
  const possible = (ns: bigint): bigint => {
    if (ns < fromNs - FAR_NS) return fromNs
    return ns > untilNs + FAR_NS ? untilNs : ns
  }
  return (span) => {
    const { startNs, endNs, above } = span
    const times = { startNs: possible(startNs), endNs: possible(endNs) }
    const isAbovePossible = above?.endNs === undefined || possible(above.endNs) === above.endNs
    if (times.startNs === startNs && times.endNs === endNs && isAbovePossible) return span
    return {
      ...span,
      ...times,
      ...(above?.endNs !== undefined && { above: { ...above, endNs: possible(above.endNs) } }),
    }
  }
}

const NONE: readonly string[] = []

/** A span without the fields that are read again when it is shown. */
function forAnalysis(span: LinkedSpan): LinkedSpan {
  return {
    ...span,
    name: span.row === undefined ? span.name : '',
    cpid: span.row === undefined ? span.cpid : undefined,
    observed: NONE,
    wrote: NONE,
    changed: NONE,
  }
}

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

/** Spans with the names and ids under which they were sent, and with the times corrected for the cascade. */
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

/** The most spans of one tree: some 50 MB. */
const MAX_SPANS = 100_000

/**
 * Groups the traces of a root into trees: a full trace and the traces that continue it are one tree. A cascade with too many spans for one
 * analysis is divided. An episode that began after its root had settled is a cascade of its own.
 */
export function joinDividedTraces(traces: readonly TraceFacts[]): (readonly [TraceFacts, ...TraceFacts[]])[] {
  const wholes: [TraceFacts, ...TraceFacts[]][] = []
  let spans = 0
  for (const trace of traces) {
    const whole = wholes.at(-1)
    spans += trace.spans
    if (whole?.[0].cascade === trace.cascade && spans <= MAX_SPANS) whole.push(trace)
    else {
      wholes.push([trace])
      spans = trace.spans
    }
  }
  return wholes
}

/** A tree without spans whose parent is still undecided, and without their descendants: their path from the root is not known yet. */
function withoutUnplacedSpans<Span extends LinkedSpan>(tree: readonly TreeSpan<Span>[]): TreeSpan<Span>[] {
  let leftOutFrom = Infinity
  return tree.filter(({ span, depth }) => {
    if (depth > leftOutFrom) return false
    leftOutFrom = span.beingPlaced === true ? depth : Infinity
    return span.beingPlaced !== true
  })
}

/**
 * The path from the root of a trace to the received span that ends last, the root first. Only spans that are activity of the trace and end
 * by `byNs` count. A span's predecessor is what it waited for, or else its parent. Of several that end last, the deepest is taken. Empty if
 * there is none.
 */
export function criticalPath<Span extends LinkedSpan>(
  tree: readonly TreeSpan<Span>[],
  byNs?: bigint,
): Span[] {
  let last: TreeSpan<Span> | undefined
  for (const at of tree) {
    if (at.span.row === undefined || !at.span.activity || (byNs !== undefined && at.span.endNs > byNs))
      continue
    if (last === undefined || endsLater(at, last)) last = at
  }
  if (last === undefined) return []
  const parents = new Map(tree.map(({ span, parent }) => [span, parent]))
  const progress = new RollingProgress(tree)
  const waitedFor = (span: Span): Span | undefined => {
    const parent = parents.get(span)
    return progress.takeBefore(span, parent?.endNs ?? span.startNs) ?? parent
  }
  // Wrong clocks can make the spans wait for one another in a circle.
  return wayTo(last.span, waitedFor) ?? wayTo(last.span, (span) => parents.get(span)) ?? []
}

/** The chain of predecessors of a span, the first one first; undefined if it is circular. */
function wayTo<Span>(last: Span, before: (span: Span) => Span | undefined): Span[] | undefined {
  const way = new Set<Span>()
  for (let span: Span | undefined = last; span !== undefined; span = before(span)) {
    if (way.has(span)) return undefined
    way.add(span)
  }
  return [...way].reverse()
}

function endsLater(a: TreeSpan, b: TreeSpan): boolean {
  if (a.span.endNs !== b.span.endNs) return a.span.endNs > b.span.endNs
  return a.depth > b.depth
}

/** How long a step of the critical path waited, and how long it held up the path. */
interface StepTime {
  /** From the hand-over by the previous step to the start of this one; 0n if this one had started before. */
  readonly waitNs: bigint
  /** When the step began to hold up the path: the end of the wait. */
  readonly fromNs: UnixNanos
  /** From `fromNs` to the start of the next step, or to the end of this one if that is earlier; includes the spans inside the step. */
  readonly heldNs: bigint
}

/**
 * Divides the time from the start of a path to the end of its last step among its steps. The intervals neither overlap nor leave gaps, so
 * waits and held times add up to the total even if clocks are wrong.
 */
export function stepTimes(path: readonly { startNs: UnixNanos; endNs: UnixNanos }[]): StepTime[] {
  const startNs = path[0]?.startNs ?? 0n
  const overNs = later(startNs, path.at(-1)?.endNs ?? startNs)
  let atNs = startNs
  return path.map((step, index) => {
    const fromNs = earlier(later(atNs, step.startNs), overNs)
    const nextNs = path[index + 1]?.startNs ?? overNs
    const untilNs = later(fromNs, earlier(earlier(step.endNs, nextNs), overNs))
    const held = { waitNs: fromNs - atNs, fromNs, heldNs: untilNs - fromNs }
    atNs = untilNs
    return held
  })
}

/** The position of the first maximum; undefined if all are zero. */
export function positionOfMost<T>(items: readonly T[], ofItem: (item: T) => bigint): number | undefined {
  let found: number | undefined
  let most = 0n
  items.forEach((item, position) => {
    if (ofItem(item) <= most) return
    most = ofItem(item)
    found = position
  })
  return found
}

/** A span inside a step of the critical path, and how much of the step's held time is self time of this span. */
export interface DominantSpan {
  readonly span: LinkedSpan
  readonly heldNs: bigint
}

/**
 * For each step of a path through a trace, the span inside it that took most of its held time; undefined if that is the step itself. Spans
 * inside are the step's own work, neither what they caused nor the next step.
 */
export function dominantSpans(
  tree: readonly TreeSpan[],
  path: readonly LinkedSpan[],
  times: readonly StepTime[],
): (DominantSpan | undefined)[] {
  const steps = new Map(path.map((span, position) => [span, position]))
  const stepOf = new Map(steps)
  const whole = new Map<LinkedSpan, LinkedSpan>()
  const pieces = new Map<LinkedSpan, LinkedSpan>()
  const work: TreeSpan[] = []
  for (const placed of tree) {
    const { span, parent } = placed
    if (!steps.has(span) && parent !== undefined && !span.byCause && span.row !== undefined) {
      const above = stepOf.get(parent)
      if (above !== undefined) stepOf.set(span, above)
    }
    const held = times[stepOf.get(span) ?? -1]
    if (held === undefined) continue
    const piece = cut(span, held)
    whole.set(piece, span)
    pieces.set(span, piece)
    const within = steps.has(span) ? undefined : parent && pieces.get(parent)
    work.push({ ...placed, span: piece, parent: within })
  }
  const most: (DominantSpan | undefined)[] = path.map(() => undefined)
  for (const [piece, { selfNs }] of spanTimes(work)) {
    const span = whole.get(piece)
    const position = span && stepOf.get(span)
    if (span === undefined || position === undefined) continue
    if (selfNs > (most[position]?.heldNs ?? 0n)) most[position] = { span, heldNs: selfNs }
  }
  return most.map((found) => (found === undefined || steps.has(found.span) ? undefined : found))
}

/** A span, clipped to the held time of a step. */
function cut(span: LinkedSpan, { fromNs, heldNs }: StepTime): LinkedSpan {
  const untilNs = fromNs + heldNs
  const within = (ns: bigint): bigint => (ns < fromNs ? fromNs : ns > untilNs ? untilNs : ns)
  return { ...span, startNs: within(span.startNs), endNs: within(span.endNs) }
}

/**
 * Controllers that write an owner again once its dependents are far enough, as a rollout continues once Pods are ready. Inference names the
 * owner's spec as the cause of their writes. The critical path needs what they waited for instead.
 */
const WAITING: ReadonlySet<string> = new Set([
  'deployment-controller',
  'statefulset-controller',
  'daemon-set-controller',
])

/** Finds what a controller may have waited for before an observed write. */
class RollingProgress<Span extends LinkedSpan> {
  /** Writes of other services to the dependents of an owner, ordered by end. */
  readonly #byOwner: Map<string, Span[]>

  constructor(tree: readonly TreeSpan<Span>[]) {
    const written = tree.map(({ span }) => span).filter(isProgress)
    this.#byOwner = Map.groupBy(written, ({ owner }) => owner ?? '')
    for (const spans of this.#byOwner.values()) spans.sort((a, b) => Number(a.endNs - b.endNs))
  }

  /**
   * Returns the last write of another service to a dependent of the span's owner that ended after `sinceNs` and before the span began. Call
   * it for later spans first: it drops writes that ended after the span began.
   */
  takeBefore({ seen, service, owner, startNs }: Span, sinceNs: bigint): Span | undefined {
    if (seen === undefined || !WAITING.has(service) || owner === undefined) return undefined
    const spans = this.#byOwner.get(owner) ?? []
    let last = spans.pop()
    while (last !== undefined && last.endNs > startNs) last = spans.pop()
    if (last === undefined || last.endNs > sinceNs) return last
    spans.push(last)
    return undefined
  }
}

function isProgress({ seen, service, owner, row, activity }: LinkedSpan): boolean {
  return seen !== undefined && !WAITING.has(service) && Boolean(owner) && row !== undefined && activity
}
