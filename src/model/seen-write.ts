/** The causes of observed writes. */
export const WRITE_CAUSES = ['operator', 'self', 'exact', 'inferred'] as const
export type WriteCause = (typeof WRITE_CAUSES)[number]

/** Why a controller began a change by itself (`cpid.reason`, if `cpid.cause` is `self`). */
export const SELF_REASONS = ['health', 'schedule', 'expiry', 'metric', 'renewal', 'unknown'] as const
export type SelfReason = (typeof SELF_REASONS)[number]

/** What a span says about an observed write (`cpid.cause`). */
export interface InferredWrite {
  /** `cpid.actor`, or else `user.name`; undefined if unknown: then the service stands for the writer. */
  user: string | undefined
  cause: WriteCause
  /** Whether versions before this one were missed. */
  gap: boolean
  /** The least number of missed versions, if the object shows it. */
  missed?: number
  /** The audit id of the request. */
  auditId?: string
  /** The trace id of the admission call: 16 bytes. */
  admittedTrace?: Uint8Array
}
