import { arrayIn, numberIn, objectIn, textIn, type Json } from '../kubernetes/json-access.ts'

/** An answer of an API server that is no success: its Status, as far as it is one. */
export class ApiError extends Error {
  /** 403; 0 where the connection did not come to an answer. */
  readonly status: number
  /** `Forbidden`, `Expired`. */
  readonly reason: string
  /** It is in the form that API servers give errors; something else, such as a proxy, answers otherwise. */
  readonly isStatus: boolean
  /** When to ask again; undefined where it does not say. */
  readonly retryAfterMs: number | undefined
  /** `ResourceVersionTooLarge`, where the Status says why. */
  readonly causes: readonly string[]

  constructor(status: number, body: Json | undefined, retryAfterMs?: number) {
    const told = textIn(body, 'message')
    super(told === '' ? `it answered ${status}` : told)
    this.name = 'ApiError'
    const details = objectIn(body, 'details')
    const seconds = numberIn(details, 'retryAfterSeconds')
    this.status = status === 0 ? numberIn(body, 'code') : status
    this.reason = textIn(body, 'reason')
    this.isStatus = textIn(body, 'kind') === 'Status'
    this.retryAfterMs = retryAfterMs ?? (seconds > 0 ? seconds * 1_000 : undefined)
    this.causes = arrayIn(details, 'causes').map((cause) => textIn(cause, 'reason'))
  }

  /** The versions asked for are no longer kept: everything is to be listed anew. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone'
  }

  /** The version asked for is newer than all that this server has. */
  get isTooNew(): boolean {
    return this.causes.includes('ResourceVersionTooLarge')
  }

  /** It says something of the server, or of who asks, and nothing of what was asked for. */
  get isGeneral(): boolean {
    return this.status === 401 || this.status === 429 || this.status >= 500
  }

  /** It will say the same for as long as rights and resources stay as they are. */
  get isRefusal(): boolean {
    return [403, 404, 405, 406].includes(this.status)
  }

  /** It does not take what was asked; something else may do. */
  get isInvalid(): boolean {
    return this.status === 400 || this.status === 422
  }
}
