import type { ArrivedSpan, ChangeSpan, Trace } from '../model/linking-ports.ts'
import { type Cpid, cpidBytes, type CpidNode } from '../model/merge-graph.ts'
import { nanosOfMs, type UnixNanos } from '../model/time-and-size.ts'
import { driversOfChange } from './causes.ts'
import { ensureChangeSpan, sendMergedInto, sendRootChange, sourceLinks } from './change-spans.ts'
import type { LinkContext } from './link-context.ts'
import { listedRoots, noteActivity, settle, tracesFor } from './open-traces.ts'
import {
  changeAttributes,
  changeTime,
  derivedSpanId,
  extendBounds,
  openingTime,
  sendSynthetic,
  stampIn,
} from './synthetic-spans.ts'
import { changeBytes } from './trace-room.ts'
import { waitsUntil } from './waiting.ts'

/** Adds a CPID's change to its traces. */
export function placeChange(ctx: LinkContext, cpid: number): void {
  if (ctx.settings.mode === 'cascade') enterChange(ctx, cpid)
  else enterOwnTrace(ctx, cpid)
}

export function waitToEnter(
  { waiting }: LinkContext,
  arrival: number,
  cpid: number,
  until: number,
  reporterSpanId?: bigint,
): void {
  if (waiting.changeOf(cpid) !== undefined) return
  waiting.add(
    { arrival, kind: 'change', cpid, origin: undefined, parentId: reporterSpanId, behindUntilMs: undefined },
    until,
  )
}

/** In links mode, sends the change span of a CPID that was first seen on a span after the wait, with or without a mergelog. */
export function awaitChange(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode !== 'links' || !needsChangeSpan(ctx, cpid)) return
  const until = waitsUntil(ctx, cpid)
  if (until === undefined) placeChange(ctx, cpid)
  else waitToEnter(ctx, span.row, cpid, until)
}

export function needsChangeSpan({ graph, changes }: LinkContext, cpid: number): boolean {
  return !graph.node(cpid).hasMergelog && changes.newest(cpid, 1).length === 0
}

/** Enters the change of a CPID whose mergelog arrived: a change span in each of its traces, and back links from its sources. */
function enterChange(ctx: LinkContext, cpid: number): void {
  const { graph } = ctx
  const node = graph.node(cpid)
  const mergelog = ctx.mergelogs.find(cpid)
  const ns = mergelog === undefined ? nanosOfMs(ctx.clock.wallMs) : changeTime(mergelog)
  const hasSources = mergelog !== undefined && mergelog.sources.length > 0
  const provisional = hasSources ? ctx.traces.ofRoot(cpid).filter((trace) => trace.provisional) : []
  const roots = listedRoots(ctx, cpid)
  const drivers = driversOfChange(ctx, cpid, roots)
  const traces = tracesFor(ctx, { cpid, roots, drivers }, ns)
  for (const { trace, driven } of traces) {
    ensureChangeSpan(ctx, trace, cpid, ns, driven)
    if (driven) noteActivity(ctx, trace)
  }
  markCutRoots(ctx, node)
  const trace = traces[0]?.trace
  if (trace === undefined) return
  const change = ensureChangeSpan(ctx, trace, cpid, ns, true)
  const to = { trace, change, node }
  const entered = traces.map((one) => one.trace)
  linkSourcesForward(ctx, mergelog?.sources ?? [], to, entered)
  if (hasSources) relinkLate(ctx, node, provisional, to)
}

type Target = Parameters<typeof sendMergedInto>[2]

/** Sends a span into each trace of a source that the merge does not enter, with a link to the merge. */
function linkSourcesForward(
  ctx: LinkContext,
  sources: readonly Cpid[],
  to: Target,
  entered: readonly Trace[],
): void {
  const done = new Set(entered.map((trace) => trace.id))
  for (const cpid of sources) {
    const source = ctx.graph.find(cpid)
    if (source === undefined) continue
    for (const { trace: id, spanId } of ctx.changes.newest(source.id, ctx.settings.maxFanout)) {
      const trace = done.has(id) ? undefined : ctx.traces.trace(id)
      done.add(id)
      if (trace === undefined || ctx.changes.find(to.node.id, id) !== undefined) continue
      sendMergedInto(ctx, { trace, parentId: spanId, source }, to)
    }
  }
}

/** Counts open roots that do not fit into the CPID's list, and marks their traces. */
function markCutRoots(ctx: LinkContext, node: CpidNode): void {
  const { graph, counts } = ctx
  const kept = new Set(node.roots)
  if (kept.size < ctx.settings.maxFanout) return
  const cut = new Set<number>()
  for (const source of graph.sourcesOf(node.id)) {
    for (const root of graph.node(source).roots ?? []) if (!kept.has(root)) cut.add(root)
  }
  for (const root of cut) {
    const trace = ctx.traces.currentOf(root)
    if (trace?.open !== true) continue
    counts.cutRoots++
    trace.truncated = true
    ctx.traces.touch(trace)
  }
}

/**
 * Handles a CPID that had counted as a root and turns out to have sources. What was sent into its provisional traces, and its
 * descendants that were sent without its mergelog, are sent again into the traces that are right and still open, before anything else
 * (move-spans.ts). The provisional traces say where it continues, and settle.
 */
function relinkLate(
  ctx: LinkContext,
  node: CpidNode,
  provisional: readonly Trace[],
  to: { trace: Trace; change: ChangeSpan; node: CpidNode },
): void {
  if (ctx.settings.mode !== 'cascade') return
  const moved = new Set(provisional.flatMap((trace) => ctx.changes.cpidsIn(trace.id)))
  for (const cpid of sentBelow(ctx, node.id)) moved.add(cpid)
  const { arrival: row = 0, replaces = false } = ctx.mergelogs.find(node.id) ?? {}
  if (replaces) moved.add(node.id)
  for (const cpid of moved) ctx.first.push({ kind: 'moved', row, cpid })
  for (const trace of provisional) {
    sendMergedInto(ctx, { trace, parentId: trace.rootSpan, source: node }, to)
    settle(ctx, trace)
  }
}

/** How many CPIDs below a late mergelog are visited; further ones stay where they were sent. */
const MOST_BELOW = 256

/** The descendants of a CPID that have entered traces already, nearest first. */
function sentBelow({ graph, changes }: LinkContext, cpid: number): number[] {
  const below = new Set([cpid])
  for (const at of below) {
    const left = MOST_BELOW - below.size
    if (left <= 0) break
    for (const target of graph.targetsAfter(at, 0, left)) below.add(target)
  }
  below.delete(cpid)
  return [...below].filter((target) => changes.newest(target, 1).length > 0)
}

/**
 * Enters a change in modes in which every CPID has its own trace. The change span is sent once the CPID is explained or has
 * waited long enough; a mergelog that arrives later adds its links in a span of its own. `startTimes`: times by which the
 * change had begun.
 */
function enterOwnTrace(ctx: LinkContext, cpid: number, startTimes: readonly UnixNanos[] = []): void {
  const { graph } = ctx
  const node = graph.node(cpid)
  const mergelog = ctx.mergelogs.find(cpid)
  const ns = mergelog === undefined ? openingTime(ctx, cpid, startTimes) : changeTime(mergelog)
  if (mergelog !== undefined) openSources(ctx, mergelog.sources, ns)
  // A span that adds links to the change span that was sent before.
  const input = { cpid, roots: [node], drivers: undefined }
  const trace = tracesFor(ctx, input, ns, changeBytes(ctx, cpid))[0]?.trace
  if (trace === undefined) return
  noteActivity(ctx, trace)
  if (!trace.rootSent) {
    extendBounds(ctx, trace, ns, ns)
    sendRootChange(ctx, trace, node, ns)
  } else if (mergelog !== undefined && mergelog.sources.length > 0) {
    const at = stampIn(ctx, trace, ns)
    const spanId = derivedSpanId('merged from', trace.traceId, cpidBytes(node.cpid))
    if (!mergelog.replaces || !ctx.outbox.wasOwnSent(trace.id, spanId))
      sendSynthetic(ctx, trace, {
        spanId,
        parentId: trace.rootSpan,
        name: 'merged from',
        cpid: node.cpid,
        startNs: at,
        attributes: changeAttributes(mergelog, ns),
        links: sourceLinks(ctx, trace, mergelog, undefined),
        senderScope: mergelog.scope,
      })
  }
  if (mergelog === undefined) return
  const change = ctx.changes.find(cpid, trace.id)
  if (change === undefined) return
  linkSourcesForward(ctx, mergelog.sources, { trace, change, node }, [trace])
}

/**
 * Opens the traces of a merge's sources, which it links to and which say where they continue. The change span of a source whose
 * mergelog is stored is sent when the linker comes to that; a source whose mergelog is missing has been waited for long enough.
 */
function openSources(ctx: LinkContext, sources: readonly Cpid[], ns: UnixNanos): void {
  for (const cpid of sources) {
    const node = ctx.graph.find(cpid)
    if (node === undefined || node.pruned || ctx.traces.currentOf(node.id) !== undefined) continue
    if (node.hasMergelog) tracesFor(ctx, { cpid: node.id, roots: [node], drivers: undefined }, ns)
    else enterOwnTrace(ctx, node.id, [ns])
  }
}
