/** Why a write that was seen from outside the cluster was made. */
export const WRITE_CAUSES = ['operator', 'self', 'exact', 'inferred'] as const
export type WriteCause = (typeof WRITE_CAUSES)[number]

/** Why a controller began a change by itself (`cpid.reason`, where `cpid.cause` is `self`). */
export const SELF_REASONS = ['health', 'schedule', 'expiry', 'metric', 'renewal', 'unknown'] as const
export type SelfReason = (typeof SELF_REASONS)[number]

/** What a span says of a write that was seen from outside the cluster (`cpid.cause`). */
export interface SeenWrite {
  /** `cpid.actor`, else `user.name`, where one is known; else the service stands for who wrote. */
  user: string | undefined
  cause: WriteCause
  /** Versions of the object before this one were not seen. */
  gap: boolean
  /** How many there were at least, if the object itself shows it. */
  missed?: number
  /** The API server's number of the request. */
  auditId?: string
  /** The id of the trace in which the API server called admission: 16 bytes. */
  admittedTrace?: Uint8Array
}
