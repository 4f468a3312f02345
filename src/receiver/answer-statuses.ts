import { status } from '@grpc/grpc-js'
import type { IngestOutcome } from '../model/otlp-requests.ts'
import type { RpcStatus } from '../model/otlp/responses.ts'

/** An outcome that is not success. */
export type Refusal = Exclude<IngestOutcome, { kind: 'accepted' }>

/** The gRPC and HTTP statuses a request is answered with, and whether the sender may send it again. */
interface AnswerStatus {
  readonly grpc: status
  readonly http: number
  readonly retryable: boolean
}

/**
 * The statuses of each outcome of an OTLP request (OTLP specification, Failures, Message Size Limits and Throttling). No other file
 * chooses one. Senders do not retry RESOURCE_EXHAUSTED without RetryInfo.
 */
export const ANSWER_STATUSES = {
  accepted: { grpc: status.OK, http: 200, retryable: false },
  malformed: { grpc: status.INVALID_ARGUMENT, http: 400, retryable: false },
  tooLarge: { grpc: status.RESOURCE_EXHAUSTED, http: 413, retryable: false },
  busy: { grpc: status.UNAVAILABLE, http: 503, retryable: true },
  failed: { grpc: status.UNAVAILABLE, http: 503, retryable: true },
  wrongPath: { grpc: status.UNIMPLEMENTED, http: 404, retryable: false },
  wrongMethod: { grpc: status.UNIMPLEMENTED, http: 405, retryable: false },
  wrongType: { grpc: status.INVALID_ARGUMENT, http: 415, retryable: false },
  unknownCoding: { grpc: status.UNIMPLEMENTED, http: 400, retryable: false },
  headersTooLarge: { grpc: status.RESOURCE_EXHAUSTED, http: 431, retryable: false },
  tooSlow: { grpc: status.DEADLINE_EXCEEDED, http: 503, retryable: true },
  tooManyConnections: { grpc: status.RESOURCE_EXHAUSTED, http: 503, retryable: true },
  foreignPage: { grpc: status.PERMISSION_DENIED, http: 403, retryable: false },
  unauthenticated: { grpc: status.UNAUTHENTICATED, http: 401, retryable: false },
} satisfies Readonly<Record<string, AnswerStatus>>

/** Why a request may be refused before there is an outcome. */
export type RequestFault = Exclude<keyof typeof ANSWER_STATUSES, IngestOutcome['kind']>

/** The google.rpc.Status of a refusal; only a busy one says how long to wait. */
export function rpcStatusOf(refusal: Refusal): RpcStatus {
  const base = { code: ANSWER_STATUSES[refusal.kind].grpc, message: refusal.reason }
  return refusal.kind === 'busy' ? { ...base, retryAfterMs: Math.max(0, refusal.retryAfterMs) } : base
}

/** The Retry-After header of a refusal: whole seconds, at least one; undefined when it has none. */
export function retryAfterSeconds(refusal: Refusal): number | undefined {
  return refusal.kind === 'busy' ? Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)) : undefined
}
