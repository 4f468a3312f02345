import type { Cpid } from '../../model/cpid.ts'
import type { CpidNode } from '../../model/ports/graph-port.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import { nanosOfMs } from '../../model/clock.ts'
import { changeTime } from './change-attributes.ts'
import { ensureChangeSpan, sendMergedInto } from './change-spans.ts'
import { relinkProvisional } from './late-mergelogs.ts'
import type { LinkContext } from '../link-context.ts'
import { noteActivity } from '../traces/settling.ts'
import { drives, driversIn, driversOfChange } from '../drives/drivers.ts'
import { listedRoots, tracesFor } from '../traces/trace-openings.ts'

/** A CPID whose mergelog arrived takes its place: a change span in each of its traces, back links from its sources. */
export function enterChange(ctx: LinkContext, cpid: number): void {
  const { graph } = ctx
  const node = graph.node(cpid)
  const mergelog = ctx.mergelogs.find(cpid)
  const ns = mergelog === undefined ? nanosOfMs(ctx.clock.wallMs) : changeTime(mergelog)
  const hasSources = mergelog !== undefined && mergelog.sources.length > 0
  const provisional = hasSources ? ctx.traces.ofRoot(cpid).filter((trace) => trace.provisional) : []
  const roots = listedRoots(ctx, cpid)
  const drivers = driversOfChange(ctx, cpid, roots)
  const traces = tracesFor(ctx, { cpid, roots, drivers }, ns)
  const left = driversIn(traces, drivers)
  for (const trace of traces) {
    const driven = drives(left, trace)
    ensureChangeSpan(ctx, trace, cpid, ns, driven)
    if (driven) noteActivity(ctx, trace)
  }
  markCutRoots(ctx, node)
  const into = traces[0]
  if (into === undefined) return
  const change = ensureChangeSpan(ctx, into, cpid, ns, true)
  linkSourcesForward(ctx, mergelog?.sources ?? [], { trace: into, change, node }, traces)
  relinkProvisional(ctx, node, provisional, { trace: into, change, node })
}

type Target = Parameters<typeof sendMergedInto>[2]

/** Every trace of a source that the merge does not enter says, once, where it went. */
export function linkSourcesForward(
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

/** An open root that does not fit into the list of the CPID is counted, and its trace says so. */
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
