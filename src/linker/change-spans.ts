import {
  CPID_CASCADE_CLOCK_SKEW,
  CPID_CASCADE_DURATION_MS,
  CPID_CASCADE_MERGES,
  CPID_CASCADE_MISSING,
  CPID_CASCADE_SERVICES,
  CPID_CASCADE_SPANS,
  CPID_CASCADE_TRUNCATED,
  CPID_ID,
  CPID_MERGED_INTO,
  CPID_MERGED_INTO_TRACE_ID,
} from '../model/attributes.ts'
import type { ChangeSpan, StoredMergelog, Trace } from '../model/linking-ports.ts'
import { type Cpid, cpidBytes, type CpidNode } from '../model/merge-graph.ts'
import type { SpanLink } from '../model/otlp/encode-telemetry.ts'
import { NANOS_PER_MS, type UnixNanos } from '../model/time-and-size.ts'
import { changeInCascade, observeCascade } from './causes.ts'
import type { LinkContext } from './link-context.ts'
import {
  changeAttributes,
  changeName,
  changeSpanId,
  changeTime,
  derivedSpanId,
  noteChange,
  numberBytes,
  sendSynthetic,
  stampIn,
} from './synthetic-spans.ts'
import { hasRoomFor, mergelogBytes } from './trace-room.ts'

/** Jaeger's page fails near depth 3,000; deeper change spans hang under the root. */
const MAX_DEPTH = 256

/** Sends the root span of a main trace: the change span of its root CPID. It begins no later than anything known of the trace. */
export function sendRootChange(ctx: LinkContext, trace: Trace, root: CpidNode, activityNs: UnixNanos): void {
  const mergelog = ctx.mergelogs.find(root.id)
  if (mergelog !== undefined) noteChange(ctx, trace, mergelog)
  if (mergelog?.object !== undefined) ctx.objects.addNamespace(trace.cascade, mergelog.object)
  sendSynthetic(ctx, trace, {
    spanId: trace.rootSpan,
    parentId: 0n,
    name: mergelog !== undefined && mergelog.sources.length > 0 ? 'merge' : changeName('change', mergelog),
    cpid: root.cpid,
    startNs: trace.firstNs,
    attributes: changeAttributes(mergelog, activityNs),
    links: sourceLinks(ctx, trace, mergelog, undefined),
    senderScope: mergelog?.scope,
  })
  trace.rootSent = true
}

/** The change span of a CPID in a trace, sent now if it is not there yet. It counts as a merge if the trace's root drives it. */
export function ensureChangeSpan(
  ctx: LinkContext,
  trace: Trace,
  cpid: number,
  activityNs: UnixNanos,
  driven: boolean,
): ChangeSpan {
  const there = ctx.changes.find(cpid, trace.id)
  if (there !== undefined) {
    if (driven && !there.driven) ctx.changes.noteDriven(cpid, there)
    return there
  }
  const { graph } = ctx
  const node = graph.node(cpid)
  const mergelog = ctx.mergelogs.find(cpid)
  const known = changeInCascade(ctx, trace, cpid)
  const { here, inCascade } = nearestSource(ctx, trace, mergelog)
  const deep = inCascade === undefined || inCascade.depth >= MAX_DEPTH
  const parent = deep ? undefined : here
  const change: ChangeSpan = {
    trace: trace.id,
    spanId: changeSpanId(trace.traceId, node.cpid),
    depth: known?.depth ?? (deep ? 1 : inCascade.depth + 1),
    driven,
  }
  const ns = stampIn(ctx, trace, mergelog === undefined ? activityNs : changeTime(mergelog))
  if (mergelog !== undefined) noteChange(ctx, trace, mergelog)
  sendSynthetic(ctx, trace, {
    spanId: change.spanId,
    parentId: parent?.spanId ?? trace.rootSpan,
    name: mergelog === undefined || mergelog.sources.length === 0 ? changeName('change', mergelog) : 'merge',
    cpid: node.cpid,
    startNs: ns,
    attributes: changeAttributes(mergelog, activityNs),
    links: sourceLinks(ctx, trace, mergelog, parent?.spanId),
    senderScope: mergelog?.scope,
    ...(!deep && inCascade.trace !== trace.id && { above: inCascade }),
  })
  ctx.changes.add(cpid, change)
  if (driven && known === undefined && mergelog !== undefined && mergelog.sources.length > 0) trace.merges++
  return change
}

/**
 * Sends a span into a trace that one of its CPIDs was merged into another trace, since no backend shows links backward. A full trace
 * gets none; the merge links to it all the same.
 */
export function sendMergedInto(
  ctx: LinkContext,
  from: { trace: Trace; parentId: bigint; source: CpidNode },
  to: { trace: Trace; change: ChangeSpan; node: CpidNode },
): void {
  const mergelog = ctx.mergelogs.find(to.node.id)
  const spanId = derivedSpanId('merged into', from.trace.traceId, cpidBytes(to.node.cpid))
  if (mergelog?.replaces === true && ctx.outbox.wasOwnSent(from.trace.id, spanId)) return
  if (!hasRoomFor(ctx, from.trace, { spans: 1, bytes: mergelogBytes(ctx.scopes, mergelog) })) {
    ctx.counts.leftOut++
    return
  }
  const ns = stampIn(ctx, from.trace, mergelog === undefined ? from.trace.lastNs : changeTime(mergelog))
  sendSynthetic(ctx, from.trace, {
    spanId,
    parentId: from.parentId,
    name: 'merged into',
    cpid: from.source.cpid,
    startNs: ns,
    attributes: {
      ...changeAttributes(mergelog, ns),
      [CPID_MERGED_INTO]: to.node.cpid,
      [CPID_MERGED_INTO_TRACE_ID]: to.trace.traceId.toString('hex'),
    },
    links: [{ traceId: to.trace.traceId, spanId: to.change.spanId, attributes: { [CPID_ID]: to.node.cpid } }],
    senderScope: mergelog?.scope,
  })
}

/** Links to the change spans of the sources: in this trace if they are there, else in their newest trace. */
export function sourceLinks(
  { traces, changes, graph }: LinkContext,
  trace: Trace,
  mergelog: StoredMergelog | undefined,
  parentId: bigint | undefined,
): SpanLink[] {
  const links: SpanLink[] = []
  for (const source of mergelog?.sources ?? []) {
    const node = graph.find(source)
    if (node === undefined) continue
    const here = changes.find(node.id, trace.id)
    if (here !== undefined) {
      if (here.spanId !== parentId) {
        links.push({ traceId: trace.traceId, spanId: here.spanId, attributes: { [CPID_ID]: source } })
      }
      continue
    }
    const newest = changes.newest(node.id, 1)[0]
    const other = newest === undefined ? undefined : traces.trace(newest.trace)
    if (newest === undefined || other === undefined) continue
    links.push({ traceId: other.traceId, spanId: newest.spanId, attributes: { [CPID_ID]: source } })
  }
  return links
}

interface NearestSource {
  here: ChangeSpan | undefined
  inCascade: ChangeSpan | undefined
}

/** The source with a change span nearest the root, in this trace and in all traces of its cascade; ties go to the lowest CPID. */
function nearestSource(ctx: LinkContext, trace: Trace, mergelog: StoredMergelog | undefined): NearestSource {
  let here: ChangeSpan | undefined
  let inCascade: ChangeSpan | undefined
  for (const source of mergelog?.sources ?? []) {
    const node = ctx.graph.find(source)
    const change = node === undefined ? undefined : changeInCascade(ctx, trace, node.id)
    if (change === undefined) continue
    if (inCascade === undefined || change.depth < inCascade.depth) inCascade = change
    if (change.trace === trace.id && (here === undefined || change.depth < here.depth)) here = change
  }
  return { here, inCascade }
}

/**
 * Sends the `cascade` span when the last trace of a cascade settles. It is under the root of the first trace, and spans the
 * first to the last activity in all of them.
 */
export function sendCascadeSpan(ctx: LinkContext, last: Trace, root: Cpid): void {
  const parts = last.cascade === last.id ? [last] : ctx.traces.partsOf(last.cascade)
  const first = parts[0] ?? last
  const { startNs, endNs } = boundsOf(parts)
  const sum = (of: 'controllerSpans' | 'merges'): bigint =>
    BigInt(parts.reduce((total, part) => total + part[of], 0))
  const spanId = derivedSpanId('cascade', first.traceId, numberBytes(last.episode))
  sendSynthetic(ctx, first, {
    spanId,
    parentId: first.rootSpan,
    name: 'cascade',
    cpid: root,
    startNs,
    endNs,
    attributes: {
      [CPID_CASCADE_DURATION_MS]: (endNs - startNs) / NANOS_PER_MS,
      [CPID_CASCADE_SPANS]: sum('controllerSpans'),
      [CPID_CASCADE_SERVICES]: BigInt(
        parts.length === 1 ? first.services : ctx.traces.servicesIn(last.cascade),
      ),
      [CPID_CASCADE_MERGES]: sum('merges'),
      [CPID_CASCADE_MISSING]: BigInt(last.missing),
      ...(parts.some(({ clockSkew }) => clockSkew) && { [CPID_CASCADE_CLOCK_SKEW]: true }),
      ...(parts.some(({ truncated }) => truncated) && { [CPID_CASCADE_TRUNCATED]: true }),
    },
    senderScope: ctx.mergelogs.find(last.root)?.scope,
  })
  observeCascade(ctx, { spanId, traceId: first.traceId, ns: endNs - startNs })
}

/** The bounds of the traces whose times are plausible, or of all traces if none is. */
function boundsOf(parts: readonly Trace[]): { startNs: UnixNanos; endNs: UnixNanos } {
  const sure = parts.filter(({ doubtfulTimes }) => !doubtfulTimes)
  const [one, ...others] = sure.length === 0 ? parts : sure
  let [startNs, endNs] = [one?.firstNs ?? 0n, one?.lastNs ?? 0n]
  for (const { firstNs, lastNs } of others) {
    if (firstNs < startNs) startNs = firstNs
    if (lastNs > endNs) endNs = lastNs
  }
  return { startNs, endNs }
}
