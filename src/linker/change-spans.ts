import type { UnixNanos } from '../model/clock.ts'
import type { CpidNode } from '../model/graph-port.ts'
import type { ChangeSpan, StoredMergelog, Trace } from '../model/link-port.ts'
import { cpidBytes } from '../model/cpid.ts'
import type { SpanLink } from '../otlp/encode-span.ts'
import { changeAttributes, changeName, changeTime } from './change-attributes.ts'
import { changeSpanId, derivedSpanId } from './derived-ids.ts'
import type { LinkContext } from './link-context.ts'
import { sendSynthetic, stampIn } from './synthetic-span.ts'

/** Jaeger's page fails near depth 3,000; deeper change spans hang under the root. */
const MAX_DEPTH = 256

/** Sends the root span of a main trace: the change span of its root CPID. */
export function sendRootChange(ctx: LinkContext, trace: Trace, root: CpidNode, activityNs: UnixNanos): void {
  const mergelog = ctx.store.mergelog(root.id)
  const ns = mergelog === undefined ? activityNs : changeTime(mergelog)
  sendSynthetic(ctx, trace, {
    spanId: trace.rootSpan,
    parentId: 0n,
    name: mergelog !== undefined && mergelog.sources.length > 0 ? 'merge' : changeName(mergelog),
    cpid: root.cpid,
    startNs: ns,
    endNs: ns,
    attributes: changeAttributes(mergelog, ns),
    links: sourceLinks(ctx, trace, mergelog, undefined),
    senderScope: mergelog?.scope,
  })
  trace.rootSent = true
}

/** The change span of a CPID in a trace, sent now if it is not there yet. */
export function ensureChangeSpan(
  ctx: LinkContext,
  trace: Trace,
  cpid: number,
  activityNs: UnixNanos,
): ChangeSpan {
  const there = ctx.store.changeSpan(cpid, trace.id)
  if (there !== undefined) return there
  const { store, graph } = ctx
  const node = graph.node(cpid)
  const mergelog = store.mergelog(cpid)
  const above = nearestSource(ctx, trace, mergelog)
  const deep = above === undefined || above.depth >= MAX_DEPTH
  const change: ChangeSpan = {
    trace: trace.id,
    spanId: changeSpanId(trace.traceId, node.cpid),
    depth: deep ? 1 : above.depth + 1,
  }
  const ns = stampIn(trace, mergelog === undefined ? activityNs : changeTime(mergelog))
  sendSynthetic(ctx, trace, {
    spanId: change.spanId,
    parentId: deep ? trace.rootSpan : above.spanId,
    name: mergelog === undefined || mergelog.sources.length === 0 ? changeName(mergelog) : 'merge',
    cpid: node.cpid,
    startNs: ns,
    endNs: ns,
    attributes: changeAttributes(mergelog, activityNs),
    links: sourceLinks(ctx, trace, mergelog, deep ? undefined : above.spanId),
    senderScope: mergelog?.scope,
  })
  store.addChangeSpan(cpid, change)
  if (mergelog !== undefined && mergelog.sources.length > 0) trace.merges++
  if (ns > trace.lastNs) trace.lastNs = ns
  return change
}

/** Tells a trace that a CPID of it was merged into one that goes on elsewhere: no backend draws a link backward. */
export function sendMergedInto(
  ctx: LinkContext,
  from: { trace: Trace; parentId: bigint; source: CpidNode },
  to: { trace: Trace; change: ChangeSpan; node: CpidNode },
): void {
  const mergelog = ctx.store.mergelog(to.node.id)
  const ns = stampIn(from.trace, mergelog === undefined ? from.trace.lastNs : changeTime(mergelog))
  sendSynthetic(ctx, from.trace, {
    spanId: derivedSpanId('merged into', from.trace.traceId, cpidBytes(to.node.cpid)),
    parentId: from.parentId,
    name: 'merged into',
    cpid: from.source.cpid,
    startNs: ns,
    endNs: ns,
    attributes: {
      ...changeAttributes(mergelog, ns),
      'cpid.merged_into': to.node.cpid,
      'cpid.merged_into.trace_id': to.trace.traceId.toString('hex'),
    },
    links: [{ traceId: to.trace.traceId, spanId: to.change.spanId, attributes: { 'cpid.id': to.node.cpid } }],
    senderScope: mergelog?.scope,
  })
}

/** Links to the change spans of the sources: in this trace if they are there, else in their newest trace. */
export function sourceLinks(
  { store, graph }: LinkContext,
  trace: Trace,
  mergelog: StoredMergelog | undefined,
  parentId: bigint | undefined,
): SpanLink[] {
  const links: SpanLink[] = []
  for (const source of mergelog?.sources ?? []) {
    const node = graph.find(source)
    if (node === undefined) continue
    const here = store.changeSpan(node.id, trace.id)
    if (here !== undefined) {
      if (here.spanId !== parentId) {
        links.push({ traceId: trace.traceId, spanId: here.spanId, attributes: { 'cpid.id': source } })
      }
      continue
    }
    const newest = store.newestChangeSpans(node.id, 1)[0]
    const other = newest === undefined ? undefined : store.trace(newest.trace)
    if (newest === undefined || other === undefined) continue
    links.push({ traceId: other.traceId, spanId: newest.spanId, attributes: { 'cpid.id': source } })
  }
  return links
}

/** Among the sources with a change span in the trace, the one nearest the root; ties go to the lowest CPID. */
function nearestSource(
  { store, graph }: LinkContext,
  trace: Trace,
  mergelog: StoredMergelog | undefined,
): ChangeSpan | undefined {
  let nearest: ChangeSpan | undefined
  for (const source of mergelog?.sources ?? []) {
    const node = graph.find(source)
    const change = node === undefined ? undefined : store.changeSpan(node.id, trace.id)
    if (change !== undefined && (nearest === undefined || change.depth < nearest.depth)) nearest = change
  }
  return nearest
}
