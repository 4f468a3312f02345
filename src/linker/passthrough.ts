import { SENT_INHERITED_CPID, SENT_PATCHED, type ExtraPatch } from '../model/ports/linking/decisions.ts'
import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { spanIdHex } from '../otlp/write/encode-span.ts'
import { changeSpanId, traceIdOf } from './changes/derived-ids.ts'
import type { LinkContext } from './link-context.ts'

/** A span that stays in its original trace gains the roots of its CPID and links to their change spans. */
export function sendInPlace(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  const { graph } = ctx
  const self = graph.node(cpid)
  const roots = ctx.ancestry.roots(cpid).flatMap((root) => graph.maybeNode(root)?.cpid ?? [])
  const linked = [...new Set([self.cpid, ...roots])]
  const patch: ExtraPatch = {
    roots,
    addLinks: linked.map((target) => {
      const traceId = traceIdOf(target, 0)
      return { traceId: traceId.toString('hex'), spanId: spanIdHex(changeSpanId(traceId, target)) }
    }),
  }
  ctx.outbox.send({
    trace: 0,
    span: span.row,
    parentId: span.parentId,
    flags: SENT_PATCHED | (span.inherited ? SENT_INHERITED_CPID : 0),
    extra: Buffer.from(JSON.stringify(patch)),
  })
  ctx.counts.sent++
}
