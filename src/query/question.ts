import type { Cpid } from '../model/cpid.ts'
import type { CascadeFilter } from '../model/query-port.ts'

/** Which part of a list is asked for: at most `limit` items (all without one) after a cursor. */
export interface Part {
  readonly limit?: number
  readonly after?: string
}

/** Everything that can be asked, over HTTP or on the command line. Plain data: it goes from thread to thread. */
export type Question =
  | { readonly kind: 'cpid' | 'related' | 'ancestors' | 'roots'; readonly cpid: Cpid }
  /** Those of the CPIDs related to one, or all there are. */
  | { readonly kind: 'mergelogs' | 'spans' | 'logs'; readonly cpid?: Cpid; readonly part: Part }
  | { readonly kind: 'cascades'; readonly filter: CascadeFilter; readonly part: Part }
  | { readonly kind: 'cascade'; readonly root: Cpid }

/** Why a question has no answer. `badCursor`: `after` is no cursor of that list. */
export type Refusal = 'unknown' | 'pruned' | 'badCursor'
