import { ApiError, STATUS_CODES, type Refusal } from './api-error.ts'

/** How the Kubernetes API says that a request failed, or that there is nothing more to say (`metav1.Status`). */
interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: object
  status: 'Success' | 'Failure'
  message?: string
  reason?: string
  code: number
}

/** Why a request was refused before anyone looked at the objects. */
export class HttpRefusal extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.name = 'HttpRefusal'
    this.code = code
    this.reason = reason
  }
}

export const SUCCESS: Status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  code: 200,
}

export function badRequest(message: string): HttpRefusal {
  return new HttpRefusal(400, 'BadRequest', message)
}

export function statusFor(error: unknown): Status {
  const message = error instanceof Error ? error.message : String(error)
  const failure = { ...SUCCESS, status: 'Failure' as const, message }
  if (error instanceof ApiError) return { ...failure, reason: error.reason, code: STATUS_CODES[error.reason] }
  if (error instanceof HttpRefusal) return { ...failure, reason: error.reason, code: error.code }
  return { ...failure, reason: 'InternalError', code: 500 }
}

/** The error that a Status tells of; `request` says what was asked for. */
export function errorFor(status: unknown, request: string): Error {
  const { reason, message } = (typeof status === 'object' ? (status ?? {}) : {}) as Partial<Status>
  if (isReason(reason)) return new ApiError(reason, message ?? reason)
  return new Error(`${request} failed: ${message ?? 'the API server did not say why'}`)
}

function isReason(reason: string | undefined): reason is Refusal {
  return reason !== undefined && Object.hasOwn(STATUS_CODES, reason)
}
