import type { Cascade } from '../../../src/query/answer-schemas.ts'
import type { SpanRows } from './span-rows.ts'

/** The spans in a picture of a cascade, and how many of them other changes drive. */
export interface Drawn {
  spans: number
  /** The number of Causeway's own spans among them. */
  synthetic: number
  /** The number of spans among them that another change drives. */
  others: number
  durationMs: number
}

export function drawnOf({ spans }: Pick<SpanRows, 'spans'>): Drawn {
  let fromMs = Infinity
  let toMs = -Infinity
  let others = 0
  let synthetic = 0
  for (const { offsetMs, durationMs, activity, synthetic: isSynthetic } of spans) {
    fromMs = Math.min(fromMs, offsetMs)
    toMs = Math.max(toMs, offsetMs + durationMs)
    if (isSynthetic) synthetic++
    else if (activity === false) others++
  }
  return { spans: spans.length, synthetic, others, durationMs: Math.max(0, toMs - fromMs) }
}

/** The CPIDs of spans that another change drives, and of merge sources outside of the cascade, each once. */
export function cpidsOfOthers({ spans }: Pick<SpanRows, 'spans'>): string[] {
  return [
    ...new Set(spans.flatMap(({ activity, cpid }) => (activity === false && cpid !== null ? [cpid] : []))),
  ]
}

/** Sources of mergelogs that are not part of the cascade. */
export function otherSources({ mergelogs, root }: Pick<Cascade, 'mergelogs' | 'root'>): Set<string> {
  const own = new Set([root, ...mergelogs.map(({ cpid }) => cpid)])
  return new Set(mergelogs.flatMap(({ sources }) => sources).filter((source) => !own.has(source)))
}
