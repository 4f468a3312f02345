import type { ExtraPatch } from '../../model/ports/linking/decisions.ts'
import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'

/**
 * The trace ids of a span's links whose target is known to have moved, by position: into this trace where the target
 * is here too, else into its newest one. Undefined when no link changes.
 */
export function repointedLinks(
  { spans, outbox, traces: all }: Pick<LinkPorts, 'spans' | 'outbox' | 'traces'>,
  trace: Trace,
  row: number,
  parentId: bigint,
): ExtraPatch['links'] {
  const links: Record<number, string> = {}
  spans.linksOf(row).forEach((link, position) => {
    // Jaeger would show a link to the parent in the parent's place.
    if (link.spanId === parentId) return
    const target = spans.find(link.traceId, link.spanId)
    if (target === undefined) return
    const traces = outbox.tracesOfSpan(target)
    const into = target === row || traces.includes(trace.id) ? trace : all.trace(Math.max(0, ...traces))
    if (into !== undefined) links[position] = into.traceId.toString('hex')
  })
  return Object.keys(links).length === 0 ? undefined : links
}
