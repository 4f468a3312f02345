import type { ArrivedSpan, ChangeSpan, LinkPorts, ObjectVersion, Trace } from '../model/linking-ports.ts'
import type { CpidNode } from '../model/merge-graph.ts'
import { NANOS_PER_MS } from '../model/time-and-size.ts'
import type { LinkContext } from './link-context.ts'

/** Jaeger's page fails near depth 3,000, and nobody reads deeper than this. */
const MAX_DEPTH = 256
/** Writes of one object that are checked, highest version first. */
const MAX_WRITERS = 64

/** A span that wrote what another observed, and the version that connects the two. */
export interface Cause {
  readonly writer: ArrivedSpan
  /** The trace of the cascade with the writer: the observer's own trace if the writer is there too. */
  readonly trace: Trace
  readonly version: ObjectVersion
}

/**
 * The causal parent of a span in a trace: the span of its cascade, from another original trace and not below it, that wrote the
 * highest version, at or below the observed one, of an object which the span observed. Among several objects, and among writers
 * of one version, it is the one that ends last. `hasNoneBelow`: nothing was sent below the span yet.
 */
export function causeIn(
  ctx: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
  hasNoneBelow: boolean,
): Cause | undefined {
  let cause: Cause | undefined
  for (const version of highestOfEach(ctx.objects.versions(span.row, 'observed'))) {
    const found = newestWriter(ctx, trace, { span, hasNoneBelow }, version)
    if (found !== undefined && (cause === undefined || endsLater(found.writer, cause.writer))) cause = found
  }
  return cause
}

/** The highest version of each object. */
function highestOfEach(observed: readonly ObjectVersion[]): Iterable<ObjectVersion> {
  if (observed.length < 2) return observed
  const highest = new Map<string, ObjectVersion>()
  for (const version of observed) {
    const key = `${version.object} ${version.uid ?? ''}`
    const other = highest.get(key)
    if (other === undefined || version.version > other.version) highest.set(key, version)
  }
  return highest.values()
}

function newestWriter(
  ctx: LinkContext,
  trace: Trace,
  { span, hasNoneBelow }: { span: ArrivedSpan; hasNoneBelow: boolean },
  version: ObjectVersion,
): Cause | undefined {
  for (const row of ctx.objects.writersIn(trace.cascade, version, MAX_WRITERS)) {
    const writer = row === span.row ? undefined : ctx.spans.span(row)
    if (writer === undefined || writer.origin === span.origin) continue
    const part = partWith(ctx, trace, row)
    if (part === undefined) continue
    const depth = hasNoneBelow ? ctx.outbox.depthIn(part.id, row) : undefined
    const mayBeParent = depth === undefined ? canBeParentOf(ctx, part, writer, span) : depth <= MAX_DEPTH
    if (mayBeParent) return { writer, trace: part, version }
  }
  return undefined
}

/** True when the writer can be the span's parent: the path up from the writer is short enough and does not contain the span. */
export function canBeParentOf(
  { outbox, spans }: Pick<LinkPorts, 'outbox' | 'spans'>,
  part: Trace,
  writer: ArrivedSpan,
  span: ArrivedSpan,
): boolean {
  let at: ArrivedSpan | undefined = writer
  let trace = part.id
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    if (at.row === span.row) return false
    // An ancestor that is not sent yet will get its local parent as a parent.
    const placed = outbox.placed(trace, at.row)
    if (placed !== undefined && placed.cause === undefined && placed.parentId !== at.parentId) return true
    // A local parent that has not arrived may be the span itself.
    if (placed?.cause === undefined && at.origin === span.origin && at.parentId === span.spanId) return false
    const above: number | undefined = placed?.cause ?? at.parentRow
    trace = placed?.causeTrace ?? trace
    at = above === undefined ? undefined : spans.span(above)
    if (at === undefined) return true
  }
  return false
}

/** Which of two writers ends last. */
function endsLater(a: ArrivedSpan, b: ArrivedSpan): boolean {
  return a.endNs > b.endNs || (a.endNs === b.endNs && a.row > b.row)
}

/**
 * The listed roots that a span or change is activity of (docs/linking.md, rule 6). Undefined: all of them. A span that joined
 * another change is activity of no root.
 */
export type Drivers = readonly number[] | undefined

type CausePorts = Pick<
  LinkPorts,
  'events' | 'spans' | 'objects' | 'mergelogs' | 'outbox' | 'traces' | 'waiting'
>

const NONE: Drivers = []

/** Objects whose writers are searched in the traces of each root, if no writer of the observed version is known. */
const MAX_SEARCHED = 16
/** Writes of one object that are checked in a trace. */
const MAX_WRITERS_A_TRACE = 8

/**
 * The roots that drive a span: those that drive its local parent; without a parent, the changes that it began itself, whatever
 * it read; else those that drive its cause, in all its traces. Without any of these, or when none of these roots is listed any
 * more, all roots drive it.
 */
export function driversOf(ctx: CausePorts, span: ArrivedSpan, roots: readonly CpidNode[]): Drivers {
  if (span.joined) return NONE
  if (roots.length < 2) return undefined
  const driving = isSent(ctx, span.parentRow) ? rootsDriving(ctx, span.parentRow) : []
  if (driving.length > 0) return listedOf(driving, roots)
  const begun = roots.flatMap(({ id }) => (began(ctx, span, id) ? id : []))
  if (begun.length > 0) return begun
  return span.observes ? driversByCause(ctx, span, roots) : undefined
}

/** The roots that drive a change: those of the span that reported it, if that is known. */
export function driversOfChange(ctx: CausePorts, cpid: number, roots: readonly CpidNode[]): Drivers {
  if (roots.length < 2) return undefined
  const reporter = ctx.mergelogs.reporterOf(cpid)
  const row = reporter && ctx.spans.find(reporter.traceId, reporter.spanId)
  return isSent(ctx, row) ? listedOf(rootsDriving(ctx, row), roots) : undefined
}

/** The roots of which a sent span is activity. */
export function rootsDriving(
  { outbox, traces }: Pick<CausePorts, 'outbox' | 'traces'>,
  row: number,
): number[] {
  const roots = new Set<number>()
  for (const id of outbox.tracesDriven(row)) {
    const trace = traces.trace(id)
    if (trace !== undefined) roots.add(trace.root)
  }
  return [...roots]
}

/** True of a span that has arrived and does not wait. */
export function isSent(
  { events, waiting }: Pick<CausePorts, 'events' | 'waiting'>,
  row: number | undefined,
): row is number {
  return row !== undefined && events.isLinked(row) && !waiting.hasSpan(row)
}

function began({ mergelogs, spans }: CausePorts, span: ArrivedSpan, root: number): boolean {
  const reporter = mergelogs.reporterOf(root)
  return reporter?.spanId === span.spanId && spans.find(reporter.traceId, reporter.spanId) === span.row
}

function listedOf(driving: readonly number[], roots: readonly CpidNode[]): Drivers {
  const listed = driving.filter((root) => roots.some(({ id }) => id === root))
  return listed.length === 0 ? undefined : listed
}

interface Writer {
  readonly span: ArrivedSpan
  readonly driving: readonly number[]
}

/**
 * The roots that drive the span's cause, which is found as in rule 4 of docs/linking.md, but in all traces at once and at any
 * depth. If the span observed several versions of one object, the writers of those count too.
 */
function driversByCause(ctx: CausePorts, span: ArrivedSpan, roots: readonly CpidNode[]): Drivers {
  let last: (Writer & { readonly of: ObjectVersion }) | undefined
  let searched = 0
  const observed = ctx.objects.versions(span.row, 'observed')
  for (const version of highestOfEach(observed)) {
    const row = ctx.objects.writerOf(version)
    let found = row === undefined ? undefined : writerAt(ctx, span, row, roots)
    if (found === undefined && searched++ < MAX_SEARCHED) found = highestWriter(ctx, span, version, roots)
    if (found !== undefined && (last === undefined || endsLater(found.span, last.span)))
      last = { ...found, of: version }
  }
  if (last === undefined) return undefined
  const { of, driving } = last
  const others = observed.filter(
    (one) => one.object === of.object && one.uid === of.uid && one.version !== of.version,
  )
  if (others.length === 0) return driving
  const rows = others.slice(0, MAX_SEARCHED).flatMap((version) => ctx.objects.writerOf(version) ?? [])
  return [...new Set([driving, ...rows.map((row) => writerAt(ctx, span, row, roots)?.driving ?? [])].flat())]
}

function writerAt(
  ctx: CausePorts,
  span: ArrivedSpan,
  row: number,
  roots: readonly CpidNode[],
): Writer | undefined {
  if (row === span.row || !isSent(ctx, row)) return undefined
  const driving = listedOf(rootsDriving(ctx, row), roots)
  const writer = driving === undefined ? undefined : ctx.spans.span(row)
  if (writer === undefined || driving === undefined || writer.origin === span.origin) return undefined
  return { span: writer, driving }
}

/** The writer of the highest version up to this one, in the newest cascades of the roots. */
function highestWriter(
  ctx: CausePorts,
  span: ArrivedSpan,
  version: ObjectVersion,
  roots: readonly CpidNode[],
): Writer | undefined {
  let highest: Writer | undefined
  for (const root of roots) {
    const trace = ctx.traces.currentOf(root.id)
    if (trace === undefined) continue
    for (const row of ctx.objects.writersIn(trace.cascade, version, MAX_WRITERS_A_TRACE)) {
      const found = writerAt(ctx, span, row, roots)
      if (found === undefined) continue
      if (highest === undefined || wroteLater(ctx, version, found.span, highest.span)) highest = found
      break
    }
  }
  return highest
}

function wroteLater(ctx: CausePorts, upTo: ObjectVersion, a: ArrivedSpan, b: ArrivedSpan): boolean {
  if (a.row === b.row) return false
  const [ofA, ofB] = [writtenVersion(ctx, upTo, a.row), writtenVersion(ctx, upTo, b.row)]
  return ofA > ofB || (ofA === ofB && endsLater(a, b))
}

function writtenVersion({ objects }: CausePorts, upTo: ObjectVersion, row: number): bigint {
  let highest = -1n
  for (const { object, version } of objects.versions(row, 'wrote')) {
    if (object === upTo.object && version <= upTo.version && version > highest) highest = version
  }
  return highest
}

/** How many traces with a change span of the CPID are checked, newest first, for one of the same cascade. */
const MAX_LOOKED_AT = 32

/** True when the cascade may have other traces: a full trace continues in an episode. */
export function hasOtherParts(trace: Trace): boolean {
  return trace.cascade !== trace.id || !trace.open
}

/** The trace of a cascade that holds the span: this one, or else another part. */
export function partWith(
  { outbox, traces }: Pick<LinkPorts, 'outbox' | 'traces'>,
  trace: Trace,
  row: number,
): Trace | undefined {
  if (outbox.wasSent(trace.id, row)) return trace
  if (!hasOtherParts(trace)) return undefined
  for (const id of outbox.tracesOfSpan(row)) {
    const part = traces.trace(id)
    if (part !== undefined && part.id !== trace.id && part.cascade === trace.cascade) return part
  }
  return undefined
}

/** The change span of a CPID in a cascade: in this trace, or else in another part. */
export function changeInCascade(
  { changes, traces }: Pick<LinkPorts, 'changes' | 'traces'>,
  trace: Trace,
  cpid: number,
): ChangeSpan | undefined {
  const here = changes.find(cpid, trace.id)
  if (here !== undefined || !hasOtherParts(trace)) return here
  return changes
    .newest(cpid, MAX_LOOKED_AT)
    .find((change) => traces.trace(change.trace)?.cascade === trace.cascade)
}

const MS_PER_SECOND = 1000

/**
 * Measures how long a write took to be observed: only if the span observed exactly the written version, and only for the first
 * span of its service, since controllers see the same version again at every resync. Clock skew may make it negative, which
 * counts as zero.
 */
export function observeHop(
  { objects, observations }: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
  { writer, version }: Cause,
): void {
  if (!objects.wrote(writer.row, version) || !objects.isFirstToObserve(span.service, version)) return
  const waitedNs = span.startNs - writer.endNs
  observations.push({
    kind: 'hop',
    service: span.service,
    objectKind: objects.kindOf(version.object),
    seconds: waitedNs > 0n ? secondsOf(waitedNs) : 0,
    traceId: trace.traceId,
    spanId: span.spanId,
  })
}

/** Measures how long a cascade took, once it has settled; the ids are those of its `cascade` span. */
export function observeCascade(
  { observations }: LinkContext,
  { ns, traceId, spanId }: { ns: bigint; traceId: Buffer; spanId: bigint },
): void {
  observations.push({ kind: 'cascade', seconds: secondsOf(ns), traceId, spanId })
}

const secondsOf = (ns: bigint): number => Number(ns) / Number(NANOS_PER_MS) / MS_PER_SECOND
