import type { Cpid } from '../model/cpid.ts'
import type { CascadeFilter } from '../model/ports/query-port.ts'
import type { TraceQuestion } from './traces/trace-question.ts'

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
  | { readonly kind: 'cascadesOf'; readonly cpid: Cpid; readonly part: Part }
  | { readonly kind: 'compare'; readonly a: Cpid; readonly b: Cpid }
  /** A span of a cascade, by its 16 hex digits, and the 32 of the trace in which it is meant. */
  | { readonly kind: 'span'; readonly root: Cpid; readonly spanId: string; readonly traceId?: string }
  | { readonly kind: 'graph'; readonly cpid: Cpid; readonly limit: number }
  | { readonly kind: 'objects' | 'objectVersions'; readonly ref: string; readonly part: Part }
  | {
      readonly kind: 'find'
      readonly text: string
      readonly limit: number
      readonly filter?: FindFilter
    }
  | { readonly kind: 'facets' }
  | TraceQuestion

/** Narrows down what is found: cascades by both, objects by their namespace and by whether such a cascade touched them. */
export type FindFilter = Pick<CascadeFilter, 'actor' | 'namespace'>

/** Why a question has no answer. `badCursor`: `after` is no cursor of that list. */
export type NoAnswer = 'unknown' | 'pruned' | 'badCursor' | 'unknownSpan' | 'unknownTrace'
