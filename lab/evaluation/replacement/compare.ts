import type { Attribution } from './attribution.ts'

/** How right a method is about a run; a pair is a span and a change that it is said or ought to belong to. */
export interface Verdict {
  spans: number
  /** Pairs that are true. */
  pairs: number
  /** Pairs that the method claims and are not true. */
  wrong: number
  /** Pairs that are true and it does not know. */
  missed: number
  /** Spans with a wrong pair or a missed one. */
  misattributedSpans: number
}

/** Throws when the two are not of the same run. */
export function compare(claimed: Attribution, truth: Attribution): Verdict {
  if (claimed.size !== truth.size)
    throw new Error(`${claimed.size} spans beside ${truth.size}: not the same run`)
  const verdict = { spans: truth.size, pairs: 0, wrong: 0, missed: 0, misattributedSpans: 0 }
  for (const [id, changes] of truth) {
    const said = claimed.get(id)
    if (said === undefined) throw new Error(`span ${id} is in one run only`)
    const wrong = countBeyond(said, changes)
    const missed = countBeyond(changes, said)
    verdict.pairs += changes.size
    verdict.wrong += wrong
    verdict.missed += missed
    if (wrong + missed > 0) verdict.misattributedSpans++
  }
  return verdict
}

export function sumOf(verdicts: readonly Verdict[]): Verdict {
  const sum = { spans: 0, pairs: 0, wrong: 0, missed: 0, misattributedSpans: 0 }
  for (const verdict of verdicts) for (const key of KEYS) sum[key] += verdict[key]
  return sum
}

const KEYS = ['spans', 'pairs', 'wrong', 'missed', 'misattributedSpans'] as const

function countBeyond(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  return [...one].filter((change) => !other.has(change)).length
}
