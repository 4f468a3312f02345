import type { Cpid } from '../cpid.ts'

/** One decision with what is needed to build its bytes. */
export interface OutboxItem {
  readonly decision: number
  /** The stored span, or the synthetic one; undefined when its span has been pruned. */
  readonly raw: Buffer | undefined
  readonly synthetic: boolean
  readonly scope: number
  /** The outgoing trace id; undefined for the original trace. Lost when the trace is not in the database any more. */
  readonly traceId: Buffer | 'lost' | undefined
  readonly parentId: bigint
  readonly copy: boolean
  /** The CPID it inherited from an ancestor span. */
  readonly inherited: Cpid | undefined
  /** ExtraPatch as JSON. */
  readonly extra: Buffer | undefined
}

/** Everything of a ResourceSpans but its scopes, and of a ScopeSpans but its spans. */
export interface ScopeEnvelopes {
  readonly resourceId: number
  readonly resource: Buffer
  readonly scope: Buffer
}

export const envelopeBytes = ({ resource, scope }: ScopeEnvelopes): number => resource.length + scope.length

/** Reads the outbox; it never writes. */
export interface OutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): OutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
  /** How many decisions there are after `position`. */
  countAfter(position: number): number
}
