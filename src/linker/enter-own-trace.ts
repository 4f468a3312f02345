import { cpidBytes } from '../model/cpid.ts'
import { nanosOfMs } from '../model/clock.ts'
import type { LinkContext } from './link-context.ts'
import { noteActivity } from './settling.ts'
import { changeAttributes, changeTime } from './change-attributes.ts'
import { sendRootChange, sourceLinks } from './change-spans.ts'
import { derivedSpanId } from './derived-ids.ts'
import { linkSourcesForward } from './enter-change.ts'
import { sendSynthetic, stampIn } from './synthetic-span.ts'
import { tracesFor } from './trace-openings.ts'

/**
 * Modes in which no span is duplicated: every CPID is a trace of its own. Its change span leaves once it is explained
 * or has waited long enough; a mergelog that comes later adds its links in a span of their own.
 */
export function enterOwnTrace(ctx: LinkContext, cpid: number): void {
  const { store, graph } = ctx
  const node = graph.node(cpid)
  const mergelog = store.mergelog(cpid)
  const ns =
    mergelog === undefined ? (store.firstSpanNs(cpid) ?? nanosOfMs(store.wallMs)) : changeTime(mergelog)
  const trace = tracesFor(ctx, cpid, ns)[0]
  if (trace === undefined) return
  noteActivity(ctx, trace)
  if (!trace.rootSent) sendRootChange(ctx, trace, node, ns)
  else if (mergelog !== undefined && mergelog.sources.length > 0) {
    const at = stampIn(trace, ns)
    sendSynthetic(ctx, trace, {
      spanId: derivedSpanId('merged from', trace.traceId, cpidBytes(node.cpid)),
      parentId: trace.rootSpan,
      name: 'merged from',
      cpid: node.cpid,
      startNs: at,
      endNs: at,
      attributes: changeAttributes(mergelog, ns),
      links: sourceLinks(ctx, trace, mergelog, undefined),
      senderScope: mergelog.scope,
    })
  }
  if (mergelog === undefined) return
  const change = store.changeSpan(cpid, trace.id)
  if (change === undefined) return
  linkSourcesForward(ctx, mergelog.sources, { trace, change, node }, [trace])
}
