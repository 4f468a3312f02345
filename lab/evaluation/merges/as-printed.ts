import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
  type TraceContext,
} from 'causeway-instrumentation'

/**
 * Merges by Algorithm 1 of the paper exactly as it is printed, line 17 included: where a CPID takes the place of its
 * ancestors, it learns nothing from their lists. Where it has to merge, the ancestors are the sources and then each
 * source's own list, one after the other.
 */
export function mergingAsPrinted(settings: InstrumentationSettings): Instrumentation {
  const inner = createInstrumentation(settings)
  const { maxAncestors = 10 } = settings
  return {
    ...inner,
    merge(contexts, detail) {
      const given = [...contexts].filter((context) => context !== undefined)
      const graph = graphOf(given)
      const [first, ...others] = graph
      if (first === undefined) return inner.newRoot(detail)
      if (others.length === 0) return { cpid: first[0], ancestors: first[1].slice(0, maxAncestors) }
      const roots = [...graph.keys()].map((cpid): TraceContext => ({ cpid, ancestors: [] }))
      // Without lists the library has to merge them all, and sends the mergelog.
      const { cpid } = inner.merge(roots, detail)
      const ancestors = new Set([...graph.keys(), ...[...graph.values()].flat()])
      return { cpid, ancestors: [...ancestors].slice(0, maxAncestors) }
    },
  }
}

/** BUILDCPIDGRAPH: the CPIDs that none of the others is known to descend from, each with its ancestors. */
function graphOf(contexts: readonly TraceContext[]): Map<string, string[]> {
  const graph = new Map<string, string[]>()
  for (const { cpid, ancestors } of contexts) {
    for (const root of graph.keys()) if (ancestors.includes(root)) graph.delete(root)
    let isIncluded = false
    for (const [root, list] of graph) {
      if (root !== cpid && !list.includes(cpid)) continue
      for (const ancestor of [...ancestors].reverse()) if (!list.includes(ancestor)) list.unshift(ancestor)
      isIncluded = true
    }
    if (!isIncluded) graph.set(cpid, [...ancestors])
  }
  return graph
}
