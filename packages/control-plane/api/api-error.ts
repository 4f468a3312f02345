/** Why the API server refused: the reasons of Kubernetes' `metav1.Status`, with its HTTP status codes. */
export type Refusal = 'NotFound' | 'AlreadyExists' | 'Conflict' | 'Expired' | 'Invalid'

export const STATUS_CODES: Readonly<Record<Refusal, number>> = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Invalid: 422,
}

export class ApiError extends Error {
  readonly reason: Refusal

  constructor(reason: Refusal, message: string) {
    super(message)
    this.name = 'ApiError'
    this.reason = reason
  }
}

export function isRefusal(error: unknown, reason: Refusal): boolean {
  return error instanceof ApiError && error.reason === reason
}
