import type { Part } from '../../query/question.ts'

/** Where a CPID is asked about: it may be malformed, unknown or pruned. */
export const ABOUT_CPID = [400, 404, 410] as const

/** How a list is asked for in parts. */
export const PART = ['limit', 'after'] as const

/** Of a list that may hold everything there is. */
export const DEFAULT_LIMIT = 1_000

interface Given {
  readonly limit: number | undefined
  readonly after: string | undefined
}

export function partOf({ limit, after }: Given, otherwise?: number): Part {
  const most = limit ?? otherwise
  return { ...(most !== undefined && { limit: most }), ...(after !== undefined && { after }) }
}
