import type { Authenticator, Checked, Credentials } from './authenticator.ts'
import { FollowedFiles } from './followed-files.ts'
import { digestOf, includesSecret } from './same-secret.ts'

/** Tokens in the configuration, or a file with one in a line, which then counts instead. */
export interface BearerTokenSettings {
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
export function acceptBearerTokens(settings: BearerTokenSettings): Authenticator {
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
export function showBearerToken(settings: BearerTokenSettings): Credentials {
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
