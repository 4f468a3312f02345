import { DEPLOYMENTS, UNAVOIDABLE_MERGES } from './paper.ts'

interface Criterion {
  limit: number
  /** The most that (count - floor) / (count at N = 0 - floor) may be. */
  atMost: number
}

/** The floor: what no list of ancestors can save. */
export const FLOOR = UNAVOIDABLE_MERGES * DEPLOYMENTS

export const CRITERIA: readonly Criterion[] = [
  { limit: 5, atMost: 0.2 },
  { limit: 10, atMost: 0.03 },
  { limit: 15, atMost: 0 },
  { limit: 20, atMost: 0 },
  { limit: 30, atMost: 0 },
]

/** How much of what could be saved is not: 1 without ancestors, 0 at the floor. */
export function avoidablePart(count: number, countAtZero: number): number {
  return (count - FLOOR) / (countAtZero - FLOOR)
}
