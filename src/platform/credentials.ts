import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Sender } from '../model/otlp-requests.ts'
import { FollowedFiles } from './followed-files.ts'

/**
 * The result of checking a credential.
 * - known: it is valid.
 * - unknown: it is not; `reason` holds no secret and may be shown to the sender.
 * - busy: it cannot be checked now; the sender should retry after `retryAfterMs`.
 */
export type Checked =
  | { kind: 'known'; sender: Sender }
  | { kind: 'unknown'; reason: string }
  | { kind: 'busy'; retryAfterMs: number; reason: string }

/** Checks the credentials of clients. */
export interface Authenticator extends Disposable {
  /** The header that carries the credential, in lower case. */
  readonly header: string
  /** The WWW-Authenticate header (RFC 9110, section 11.6.1). */
  readonly challenge: string
  /** `value` is the header's, `peer` as in peerOf. Never rejects. */
  check(value: string | undefined, peer?: string): Checked | Promise<Checked>
}

/** A credential for a backend. */
export interface Credentials extends Disposable {
  /** The header that carries it, in lower case. */
  readonly header: string
  /** Its value at this moment. */
  value(): string
}

/** Tokens in the configuration, or a file with one token a line, which takes precedence. */
interface BearerTokenSettings {
  id: string
  header: string
  /** The text before the token; may be empty. */
  scheme: string
  tokens: readonly string[]
  filename?: string
  /** How often the file is read again, in milliseconds. */
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
}

/** Accepts clients with one of the tokens. Throws when there is none. */
export function openBearerAuthenticator(settings: BearerTokenSettings): Authenticator {
  const { id, scheme } = settings
  const header = settings.header.toLowerCase()
  const prefix = prefixOf(scheme)
  const followed = followTokens(settings, (tokens) => tokens.map(digestOf))
  const known: Checked = { kind: 'known', sender: { authenticator: id } }
  const missing: Checked = {
    kind: 'unknown',
    reason: `no ${header} header came; send "${prefix}<token>" in it`,
  }
  const wrongScheme: Checked = { kind: 'unknown', reason: `the ${header} header must begin with "${prefix}"` }
  const wrong: Checked = { kind: 'unknown', reason: 'the token is not known here' }
  return {
    header,
    challenge: scheme === '' ? 'Bearer' : scheme,
    check(value) {
      if (value === undefined || value === '') return missing
      if (value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase()) return wrongScheme
      return includesSecret(value.slice(prefix.length), followed.current) ? known : wrong
    },
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  }
}

/** Sends the first of the tokens. Throws when there is none. */
export function openBearerCredentials(settings: BearerTokenSettings): Credentials {
  const followed = followTokens(settings, ([token = '']) => prefixOf(settings.scheme) + token)
  return {
    header: settings.header.toLowerCase(),
    value: () => followed.current,
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  }
}

const prefixOf = (scheme: string): string => (scheme === '' ? '' : `${scheme} `)

function followTokens<T>(
  { id, tokens, filename, reloadIntervalMs, onTrouble }: BearerTokenSettings,
  make: (tokens: readonly string[]) => T,
): FollowedFiles<T> {
  return new FollowedFiles({
    files: filename === undefined ? [] : [{ setting: `extensions::${id}::filename`, path: filename }],
    intervalMs: reloadIntervalMs,
    onTrouble,
    make: ([file]) => {
      const found = file === undefined ? tokens : linesOf(file)
      if (found.length === 0)
        throw new Error(`extensions::${id}::filename holds no token; write one in a line`)
      return make(found)
    },
  })
}

function linesOf(file: Buffer): string[] {
  const lines = file.toString('utf8').split('\n')
  return lines.map((line) => line.trim()).filter((line) => line !== '')
}

const KEY = randomBytes(32)

/** A digest for comparing secrets, keyed for this process. */
export function digestOf(secret: string): Buffer {
  return createHmac('sha256', KEY).update(secret).digest()
}

/** Whether one of the digests is that of the secret; takes the same time whatever the result. */
export function includesSecret(secret: string, digests: readonly Buffer[]): boolean {
  const asked = digestOf(secret)
  let found = false
  for (const digest of digests) if (timingSafeEqual(digest, asked)) found = true
  return found
}
