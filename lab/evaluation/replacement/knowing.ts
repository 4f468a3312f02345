import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
  type TraceContext,
} from 'causeway-instrumentation'

/** The changes that began, by every CPID that carries them. */
export type Origins = Map<string, ReadonlySet<string>>

/**
 * What truly follows from what: each piece of work gets a CPID of its own, and all controllers write into one book which
 * changes it carries. No method, as the book grows without limit and all would have to share it; the measure of others.
 */
export function knowing(origins: Origins): (settings: InstrumentationSettings) => Instrumentation {
  return (settings) => {
    const inner = createInstrumentation({ ...settings, maxAncestors: 0 })
    const originsOf = (contexts: readonly TraceContext[]): Set<string> =>
      new Set(contexts.flatMap(({ cpid }) => [...(origins.get(cpid) ?? [])]))
    return {
      ...inner,
      newRoot(detail) {
        const root = inner.newRoot(detail)
        origins.set(root.cpid, new Set([root.cpid]))
        return root
      },
      merge(contexts, detail) {
        const given = [...contexts].filter((context) => context !== undefined)
        const known = originsOf(given)
        const outcome = inner.merge(given, detail)
        const before = origins.get(outcome.cpid)
        if (before === undefined)
          origins.set(outcome.cpid, known.size === 0 ? new Set([outcome.cpid]) : known)
        return outcome
      },
    }
  }
}
