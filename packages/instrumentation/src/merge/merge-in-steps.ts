import type { Mergelog } from './merge-trace-contexts.ts'

/**
 * Splits a mergelog into several with at most `maxSources` sources each: groups of sources first merge into intermediate CPIDs. The
 * mergelog of the CPID itself comes last.
 */
export function mergeInSteps(
  { cpid, sources }: Mergelog,
  maxSources: number,
  newCpid: () => string,
): Mergelog[] {
  const steps: Mergelog[] = []
  let left = sources
  while (left.length > maxSources) {
    const merged: string[] = []
    for (let start = 0; start < left.length; start += maxSources) {
      const group = left.slice(start, start + maxSources)
      const [only] = group
      if (only !== undefined && group.length === 1) {
        merged.push(only)
        continue
      }
      const step = { cpid: newCpid(), sources: group }
      steps.push(step)
      merged.push(step.cpid)
    }
    left = merged
  }
  return [...steps, { cpid, sources: left }]
}
