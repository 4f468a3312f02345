import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
  type KubernetesObject,
  type TraceContext,
} from 'causeway-instrumentation'

/**
 * Merges as soon as objects are observed, in every reconcile, also in one that then finds nothing to write. The write
 * that follows takes the same outcome.
 */
export function mergingEagerly(
  settings: InstrumentationSettings,
  instrument: (settings: InstrumentationSettings) => Instrumentation = createInstrumentation,
): Instrumentation {
  const inner = instrument(settings)
  let last: { key: string; outcome: TraceContext } | undefined
  return {
    ...inner,
    observed(objects, type) {
      inner.observed(objects, type)
      const all = Array.isArray(objects)
        ? (objects as readonly KubernetesObject[])
        : [objects as KubernetesObject]
      const contexts = all.map(inner.extractFromObject).filter((context) => context !== undefined)
      if (contexts.length > 0) last = { key: keyOf(contexts), outcome: inner.merge(contexts) }
    },
    merge(contexts, detail) {
      const all = [...contexts].filter((context) => context !== undefined)
      return last?.key === keyOf(all) ? last.outcome : inner.merge(all, detail)
    },
  }
}

function keyOf(contexts: readonly TraceContext[]): string {
  return contexts.map(({ cpid, ancestors }) => [cpid, ...ancestors].join(' ')).join()
}
