import { cpidBytes } from '../../model/cpid.ts'
import type { LinkContext } from '../link-context.ts'
import { noteActivity } from './settling.ts'
import { changeAttributes, changeTime } from '../changes/change-attributes.ts'
import { sendRootChange, sourceLinks } from '../changes/change-spans.ts'
import { derivedSpanId } from '../changes/derived-ids.ts'
import { linkSourcesForward } from '../changes/enter-change.ts'
import { extendBounds, openingTime } from '../causes/plausible-time.ts'
import { sendSynthetic, stampIn } from '../changes/synthetic-span.ts'
import { tracesFor } from './trace-openings.ts'
import { changeBytes } from './trace-room.ts'

/**
 * Modes in which no span is duplicated: every CPID is a trace of its own. Its change span leaves once it is explained
 * or has waited long enough; a mergelog that comes later adds its links in a span of their own.
 */
export function enterOwnTrace(ctx: LinkContext, cpid: number): void {
  const { graph } = ctx
  const node = graph.node(cpid)
  const mergelog = ctx.mergelogs.find(cpid)
  const ns = mergelog === undefined ? openingTime(ctx, cpid, []) : changeTime(mergelog)
  // A span that adds links to the one of a change that is there already.
  const trace = tracesFor(ctx, { cpid, roots: [node], drivers: undefined }, ns, changeBytes(ctx, cpid))[0]
  if (trace === undefined) return
  noteActivity(ctx, trace)
  if (!trace.rootSent) {
    extendBounds(ctx, trace, ns, ns)
    sendRootChange(ctx, trace, node, ns)
  } else if (mergelog !== undefined && mergelog.sources.length > 0) {
    const at = stampIn(ctx, trace, ns)
    sendSynthetic(ctx, trace, {
      spanId: derivedSpanId('merged from', trace.traceId, cpidBytes(node.cpid)),
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
