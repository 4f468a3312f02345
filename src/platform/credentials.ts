import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Sender } from '../model/otlp-requests.ts'
import { FollowedFiles } from './followed-files.ts'

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

/** Tokens in the configuration, or a file with one in a line, which then counts instead. */
interface BearerTokenSettings {
  id: string
  header: string
  /** Stands before the token; empty when the token stands alone. */
  scheme: string
  tokens: readonly string[]
  filename?: string
  /** How often the file is looked at, in milliseconds. */
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
}

/** Lets in whoever shows one of the tokens. Throws when there is none. */
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

/** Shows the first of the tokens. Throws when there is none. */
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

/** A digest to compare secrets by; it means nothing outside this process. */
export function digestOf(secret: string): Buffer {
  return createHmac('sha256', KEY).update(secret).digest()
}

/** Whether one of the digests is that of the secret; takes as long whichever it is, and if it is none. */
export function includesSecret(secret: string, digests: readonly Buffer[]): boolean {
  const asked = digestOf(secret)
  let found = false
  for (const digest of digests) if (timingSafeEqual(digest, asked)) found = true
  return found
}
