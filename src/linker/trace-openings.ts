import { knownRoots } from '../dag/newest-roots.ts'
import type { UnixNanos } from '../model/clock.ts'
import type { CpidNode } from '../model/graph-port.ts'
import type { Trace } from '../model/link-port.ts'
import { changeTime } from './change-attributes.ts'
import { sendRootChange } from './change-spans.ts'
import { changeSpanId, derivedSpanId, numberBytes, traceIdOf } from './derived-ids.ts'
import type { LinkContext } from './link-context.ts'
import { settle } from './settling.ts'
import { rfc3339, sendSynthetic, stampIn } from './synthetic-span.ts'

/**
 * The traces that activity of a CPID goes into now, that of its newest root first: those of its listed roots that are
 * open. When all have settled it is the newest one's episode, opened here (design rules 5 and 7).
 */
export function tracesFor(ctx: LinkContext, cpid: number, activityNs: UnixNanos): Trace[] {
  const roots = listedRoots(ctx, cpid)
  const open: Trace[] = []
  for (const root of roots) {
    const trace = ctx.store.currentTrace(root.id) ?? openFirst(ctx, root, activityNs)
    if (trace?.open === true) open.push(withRoom(ctx, trace, activityNs))
  }
  const newest = roots[0]
  if (open.length === 0 && newest !== undefined) open.push(openEpisode(ctx, newest, activityNs))
  return open
}

/** The traces of a CPID's roots that are open, without opening any. */
export function openTracesOf(ctx: LinkContext, cpid: number, activityNs: UnixNanos): Trace[] {
  const open: Trace[] = []
  for (const root of listedRoots(ctx, cpid)) {
    const trace = ctx.store.currentTrace(root.id)
    if (trace?.open === true) open.push(withRoom(ctx, trace, activityNs))
  }
  return open
}

/** Where spans are not duplicated every CPID is the root of its own trace. */
export function listedRoots({ graph, settings, known }: LinkContext, cpid: number): CpidNode[] {
  const self = graph.node(cpid)
  if (settings.mode !== 'cascade') return [self]
  const roots = knownRoots(graph, cpid, settings.maxFanout, known.roots).flatMap(
    (root) => graph.maybeNode(root) ?? [],
  )
  return roots.length === 0 ? [self] : roots
}

/** The main trace of a root that has none yet; a root whose tombstone is left goes on with episodes. */
function openFirst(ctx: LinkContext, root: CpidNode, activityNs: UnixNanos): Trace | undefined {
  if (root.pruned || root.nextEpisode > 0) return undefined
  const mergelog = ctx.store.mergelog(root.id)
  const ns = mergelog === undefined ? (ctx.store.firstSpanNs(root.id) ?? activityNs) : changeTime(mergelog)
  const trace = addTrace(ctx, root, 0, ns, ctx.store.activeMs)
  if (ctx.settings.mode === 'cascade') sendRootChange(ctx, trace, root, ns)
  return trace
}

function openEpisode(
  ctx: LinkContext,
  root: CpidNode,
  activityNs: UnixNanos,
  openedMs = ctx.store.activeMs,
): Trace {
  const previous = ctx.store.currentTrace(root.id)
  const number = previous === undefined ? Math.max(root.nextEpisode, 1) : previous.episode + 1
  const trace = addTrace(ctx, root, number, activityNs, openedMs)
  const before = traceIdOf(root.cpid, number - 1)
  sendSynthetic(ctx, trace, {
    spanId: trace.rootSpan,
    parentId: 0n,
    name: 'episode',
    cpid: root.cpid,
    startNs: activityNs,
    endNs: activityNs,
    attributes: {
      'cpid.episode': BigInt(number),
      'cpid.time': rfc3339(activityNs),
      'cpid.continues.trace_id': before.toString('hex'),
    },
    links: [
      { traceId: before, spanId: changeSpanId(before, root.cpid), attributes: { 'cpid.id': root.cpid } },
    ],
    senderScope: ctx.store.mergelog(root.id)?.scope,
  })
  trace.rootSent = true
  ctx.counts.episodes++
  if (previous !== undefined) sendContinuedIn(ctx, previous, trace, root)
  return trace
}

/** A full trace goes on in an episode; its root stays open, since when it was opened is kept. */
export function withRoom(ctx: LinkContext, trace: Trace, activityNs: UnixNanos): Trace {
  const { maxTraceSpans, maxTraceBytes } = ctx.settings
  if (trace.sentSpans < maxTraceSpans && trace.sentBytes < maxTraceBytes) return trace
  settle(ctx, trace)
  return openEpisode(ctx, ctx.graph.node(trace.root), activityNs, trace.openedMs)
}

function sendContinuedIn(ctx: LinkContext, from: Trace, to: Trace, root: CpidNode): void {
  const ns = stampIn(from, to.firstNs)
  sendSynthetic(ctx, from, {
    spanId: derivedSpanId('continued in', from.traceId, numberBytes(to.episode)),
    parentId: from.rootSpan,
    name: 'continued in',
    cpid: root.cpid,
    startNs: ns,
    endNs: ns,
    attributes: {
      'cpid.episode': BigInt(to.episode),
      'cpid.time': rfc3339(to.firstNs),
      'cpid.continued_in.trace_id': to.traceId.toString('hex'),
    },
    links: [{ traceId: to.traceId, spanId: to.rootSpan, attributes: { 'cpid.id': root.cpid } }],
    senderScope: ctx.store.mergelog(root.id)?.scope,
  })
}

function addTrace(
  ctx: LinkContext,
  root: CpidNode,
  episode: number,
  firstNs: UnixNanos,
  openedMs: number,
): Trace {
  const { store, settings } = ctx
  const traceId = traceIdOf(root.cpid, episode)
  const trace = store.addTrace({
    traceId,
    root: root.id,
    episode,
    rootSpan: changeSpanId(traceId, root.cpid),
    open: true,
    openedMs,
    lastArrivalMs: store.activeMs,
    lastWallMs: store.wallMs,
    dueMs: store.activeMs + Math.min(settings.settleAfterMs, settings.maxOpenMs),
    firstNs,
    lastNs: firstNs,
    sentSpans: 0,
    sentBytes: 0,
    controllerSpans: 0,
    services: 0,
    merges: 0,
    missing: 0,
    truncated: false,
    rootSent: false,
    provisional: !root.hasMergelog && !root.explained,
  })
  store.addChangeSpan(root.id, { trace: trace.id, spanId: trace.rootSpan, depth: 0 })
  return trace
}
