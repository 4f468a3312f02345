import type { ExtraPatch, LinkStore, Trace } from '../../model/ports/link-port.ts'

/**
 * The trace ids of a span's links whose target is known to have moved, by position: into this trace where the target
 * is here too, else into its newest one. Undefined when no link changes.
 */
export function repointedLinks(
  store: LinkStore,
  trace: Trace,
  row: number,
  parentId: bigint,
): ExtraPatch['links'] {
  const links: Record<number, string> = {}
  store.linksOf(row).forEach((link, position) => {
    // Jaeger would show a link to the parent in the parent's place.
    if (link.spanId === parentId) return
    const target = store.findSpan(link.traceId, link.spanId)
    if (target === undefined) return
    const traces = store.tracesOfSpan(target)
    const into = target === row || traces.includes(trace.id) ? trace : store.trace(Math.max(0, ...traces))
    if (into !== undefined) links[position] = into.traceId.toString('hex')
  })
  return Object.keys(links).length === 0 ? undefined : links
}
