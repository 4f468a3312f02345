import type { Sender } from '../model/senders/sender.ts'

/**
 * What a credential is worth.
 * - known: the sender proved who it is.
 * - unknown: it did not; `reason` may be shown to it and holds no secret.
 * - busy: this cannot be said now; it should try again after `retryAfterMs`.
 */
export type Checked =
  | { kind: 'known'; sender: Sender }
  | { kind: 'unknown'; reason: string }
  | { kind: 'busy'; retryAfterMs: number; reason: string }

/** Checks the credentials of those who connect. */
export interface Authenticator extends Disposable {
  /** The header that carries the credential, in lower case. */
  readonly header: string
  /** What WWW-Authenticate says (RFC 9110, section 11.6.1). */
  readonly challenge: string
  /** `value` is that of the header, `peer` where it came from as far as that tells peers apart. Never rejects. */
  check(value: string | undefined, peer?: string): Checked | Promise<Checked>
}

/** Shows backends a credential. */
export interface Credentials extends Disposable {
  /** The header that carries it, in lower case. */
  readonly header: string
  /** Its value at this moment. */
  value(): string
}
