import { timingSafeEqual } from 'node:crypto'
import type { Authenticator, Checked, Credentials } from './authenticator.ts'
import { BcryptTurns } from './bcrypt-turns.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'
import { readHtpasswd, type KeptPassword } from './htpasswd.ts'
import { digestOf } from './same-secret.ts'

export interface HtpasswdSettings {
  id: string
  file?: string
  /** Counts before the file where both know a user. */
  inline?: string
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
}

/** A file, where there is one, counts before what is written in the configuration. */
export interface LoginSettings {
  id: string
  username?: string
  usernameFile?: string
  password?: string
  passwordFile?: string
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
}

const HEADER = 'authorization'
const RETRY_AFTER_MS = 1_000
const MISSING: Checked = {
  kind: 'unknown',
  reason: 'no authorization header came; send "Basic <user:password in base64>" in it',
}
const WRONG: Checked = { kind: 'unknown', reason: 'the user or the password is not known here' }
const BUSY: Checked = {
  kind: 'busy',
  retryAfterMs: RETRY_AFTER_MS,
  reason: 'too many passwords are being checked; send this again later',
}

interface User {
  readonly kept: KeptPassword
  /** The digest of the right password, once it was shown. */
  right: Buffer | undefined
}

/** Lets in users with their passwords (RFC 7617). Throws when there are none. */
export function acceptLogins(settings: HtpasswdSettings): Authenticator {
  const { id } = settings
  const followed = followUsers(settings)
  const turns = new BcryptTurns()
  return {
    header: HEADER,
    challenge: 'Basic realm="Causeway", charset="UTF-8"',
    check(value) {
      if (value === undefined || value === '') return MISSING
      const login = readLogin(value)
      if (login === undefined) return MISSING
      const user = followed.current.get(login.username)
      const known: Checked = { kind: 'known', sender: { authenticator: id, username: login.username } }
      if (isRight(user, login.password)) return known
      // Someone who is not a user is checked as well, or the time would tell who is one.
      const hash = hashOf(user ?? anyOf(followed.current))
      if (hash === undefined) return WRONG
      return turns.check(login.password, hash).then((fits) => {
        if (fits === undefined) return BUSY
        if (!fits || user === undefined) return WRONG
        user.right = digestOf(login.password)
        return known
      })
    },
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  }
}

/** Logs in at backends. Throws when a file cannot be read. */
export function showLogin(settings: LoginSettings): Credentials {
  const { id, usernameFile, passwordFile } = settings
  const files: NamedFile[] = []
  const setting = `extensions::${id}::client_auth`
  if (usernameFile !== undefined) files.push({ setting: `${setting}::username_file`, path: usernameFile })
  if (passwordFile !== undefined) files.push({ setting: `${setting}::password_file`, path: passwordFile })
  const followed = new FollowedFiles({
    files,
    intervalMs: settings.reloadIntervalMs,
    onTrouble: settings.onTrouble,
    make: (contents) => {
      const texts = contents.map((bytes) => bytes.toString('utf8').trim())
      const username = usernameFile === undefined ? settings.username : texts[0]
      const password = passwordFile === undefined ? settings.password : texts.at(-1)
      return `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`
    },
  })
  return { header: HEADER, value: () => followed.current, [Symbol.dispose]: () => followed[Symbol.dispose]() }
}

function followUsers({ id, file, inline, ...rest }: HtpasswdSettings): FollowedFiles<Map<string, User>> {
  return new FollowedFiles({
    files: file === undefined ? [] : [{ setting: `extensions::${id}::htpasswd::file`, path: file }],
    intervalMs: rest.reloadIntervalMs,
    onTrouble: rest.onTrouble,
    make: ([bytes]) => {
      const users = new Map<string, User>()
      for (const [setting, text] of [
        ['file', bytes?.toString('utf8')],
        ['inline', inline],
      ] as const) {
        const read = readHtpasswd(text ?? '')
        if (typeof read === 'string') throw new Error(`extensions::${id}::htpasswd::${setting}: ${read}`)
        for (const [name, kept] of read) users.set(name, userOf(kept))
      }
      if (users.size === 0)
        throw new Error(`extensions::${id}::htpasswd names no user; write user:password lines`)
      return users
    },
  })
}

function userOf(kept: KeptPassword): User {
  return { kept, right: kept.kind === 'plain' ? digestOf(kept.password) : undefined }
}

function isRight(user: User | undefined, password: string): boolean {
  const asked = digestOf(password)
  return timingSafeEqual(user?.right ?? digestOf(''), asked) && user?.right !== undefined
}

const hashOf = (user: User | undefined): string | undefined =>
  user?.kept.kind === 'bcrypt' ? user.kept.hash : undefined

function anyOf(users: ReadonlyMap<string, User>): User | undefined {
  for (const user of users.values()) if (user.kept.kind === 'bcrypt') return user
  return undefined
}

function readLogin(header: string): { username: string; password: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header) ?? []
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}
