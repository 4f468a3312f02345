import { timingSafeEqual } from 'node:crypto'
import { LruKeys } from './lru-keys.ts'
import type { Authenticator, Checked, Credentials } from './authenticator.ts'
import { BcryptTurns } from './bcrypt-turns.ts'
import { matchesAtEqualCost, greatestCost } from './equal-cost.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'
import { LoginAttempts } from './login-attempts.ts'
import { readHtpasswd, type KeptPassword } from './htpasswd.ts'
import { digestOf } from './same-secret.ts'

export interface HtpasswdSettings {
  id: string
  file?: string
  /** Counts before the file where both know a user. */
  inline?: string
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
  /** What all authenticators of the process share; its own unless given. */
  guard?: LoginGuard
}

/** What keeps guesses from taking the thread, and from keeping others out. */
export interface LoginGuard {
  attempts: LoginAttempts
  turns: BcryptTurns
}

export function loginGuard(attempts = new LoginAttempts()): LoginGuard {
  return { attempts, turns: new BcryptTurns((peer) => attempts.failures(peer)) }
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
const BUSY: Extract<Checked, { kind: 'busy' }> = {
  kind: 'busy',
  retryAfterMs: RETRY_AFTER_MS,
  reason:
    'too many passwords are being checked, or too many from your address were wrong; send this again later',
}

/** Right logins that need not be checked again, with where they came from. */
const MAX_SHOWN = 4_096

interface Users {
  users: ReadonlyMap<string, User>
  /** The greatest of a bcrypt hash; undefined where all passwords are plain. */
  cost: number | undefined
}

interface User {
  readonly kept: KeptPassword
  /** The digest of the right password, once it was shown. */
  right: Buffer | undefined
}

/** Lets in users with their passwords (RFC 7617). Throws when there are none. */
export function acceptLogins(settings: HtpasswdSettings): Authenticator {
  const { id, guard = loginGuard() } = settings
  const { attempts, turns } = guard
  const followed = followUsers(settings)
  const shownBefore = new LruKeys<User>(MAX_SHOWN)
  return {
    header: HEADER,
    challenge: 'Basic realm="Causeway", charset="UTF-8"',
    check(value, peer = '') {
      if (value === undefined || value === '') return MISSING
      const login = readLogin(value)
      if (login === undefined) return MISSING
      const { users, cost } = followed.current
      const user = users.get(login.username)
      const known: Checked = { kind: 'known', sender: { authenticator: id, username: login.username } }
      // By peer, so that whoever has to wait learns nothing from who need not.
      const shown = `${digestOf(value).toString('base64')} ${peer}`
      if (user !== undefined && shownBefore.get(shown) === user) return known
      const isRightNow = isRight(user, login.password)
      const waitMs = attempts.waitMs(peer, login.username)
      if (waitMs > 0) {
        // Whose password was shown before need not wait for what others of the address got wrong, only for guesses at that user.
        const waitOfUserMs = attempts.waitOfUserMs(peer, login.username)
        if (waitOfUserMs === 0 && isRightNow && user !== undefined) {
          shownBefore.set(shown, user)
          return known
        }
        if (waitOfUserMs === 0) attempts.failedAsUser(peer, login.username)
        return { ...BUSY, retryAfterMs: Math.max(waitMs, waitOfUserMs) }
      }
      const settle = (fits: boolean): Checked => {
        if (!fits || user === undefined) {
          attempts.failed(peer, login.username)
          return WRONG
        }
        user.right = digestOf(login.password)
        shownBefore.set(shown, user)
        return known
      }
      if (isRightNow || cost === undefined) return settle(isRightNow)
      // Whoever is no user, or has a plain password, is checked as well: the time would tell who is one.
      return turns
        .check(peer, () => matchesAtEqualCost(login.password, hashOf(user), cost))
        .then((fits) => (fits === undefined ? BUSY : settle(fits)))
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

function followUsers({ id, file, inline, ...rest }: HtpasswdSettings): FollowedFiles<Users> {
  let before: ReadonlyMap<string, User> = new Map()
  return new FollowedFiles<Users>({
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
        // Who was right before a change of the file is so after it, unless it changed that.
        for (const [name, kept] of read) users.set(name, unchanged(before.get(name), kept) ?? userOf(kept))
      }
      if (users.size === 0)
        throw new Error(`extensions::${id}::htpasswd names no user; write user:password lines`)
      before = users
      return { users, cost: greatestCost([...users.values()].flatMap((user) => hashOf(user) ?? [])) }
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

function unchanged(before: User | undefined, kept: KeptPassword): User | undefined {
  return before !== undefined && JSON.stringify(before.kept) === JSON.stringify(kept) ? before : undefined
}

function readLogin(header: string): { username: string; password: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header) ?? []
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) }
}
