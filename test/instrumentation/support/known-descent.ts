import type { TraceContext } from '../../../packages/instrumentation/src/context/trace-context.ts'

/** By what the contexts list, also through each other: the given CPIDs that each given CPID descends from. */
export function knownDescent(contexts: readonly TraceContext[]): Map<string, Set<string>> {
  const known = new Map(contexts.map((context) => [context.cpid, new Set<string>()]))
  for (const { cpid, ancestors } of contexts) {
    for (const ancestor of ancestors)
      if (ancestor !== cpid && known.has(ancestor)) known.get(cpid)?.add(ancestor)
  }
  for (const [middle, above] of known) {
    for (const ancestors of known.values()) {
      if (ancestors.has(middle)) for (const ancestor of above) ancestors.add(ancestor)
    }
  }
  return known
}
