import { randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { compare, getRounds, hashSync, truncates } from 'bcryptjs'
import { type Authenticator, type Checked, type Credentials, digestOf } from './credentials.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'

interface HtpasswdSettings {
  id: string
  file?: string
  /** Takes precedence over the file. */
  inline?: string
  reloadIntervalMs: number
  onTrouble: (reason: string) => void
  /** Shared by all authenticators of the process; its own by default. */
  guard?: LoginGuard
}

/** Limits password checks, so that guesses neither block the thread nor keep others out. */
export interface LoginGuard {
  attempts: LoginAttempts
  turns: BcryptQueue
}

export function loginGuard(attempts = new LoginAttempts()): LoginGuard {
  return { attempts, turns: new BcryptQueue((peer) => attempts.failures(peer)) }
}

/** A file takes precedence over inline credentials. */
interface LoginSettings {
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

/** Successful logins that need not be checked again, with their peers. */
const MAX_SHOWN = 4_096

interface Users {
  users: ReadonlyMap<string, User>
  /** The highest bcrypt cost; undefined if all passwords are plain text. */
  cost: number | undefined
}

interface User {
  readonly kept: KeptPassword
  /** The digest of the right password after the first login. */
  right: Buffer | undefined
}

/** Checks users and passwords (RFC 7617). Throws when there are none. */
export function openBasicAuthenticator(settings: HtpasswdSettings): Authenticator {
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
      // By peer, so that a peer that has to wait learns nothing from others.
      const shown = `${digestOf(value).toString('base64')} ${peer}`
      if (user !== undefined && shownBefore.get(shown) === user) return known
      const isRightNow = isRight(user, login.password)
      const waitMs = attempts.waitMs(peer, login.username)
      if (waitMs > 0) {
        // A user who has logged in before does not wait for failures of others at the address, only for guesses at this user.
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
      // Unknown users and plain passwords cost a check too: otherwise the time would reveal who is a user.
      return turns
        .check(peer, () => matchesAtEqualCost(login.password, hashOf(user), cost))
        .then((fits) => (fits === undefined ? BUSY : settle(fits)))
    },
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  }
}

/** Credentials for backends. Throws when a file cannot be read. */
export function openBasicCredentials(settings: LoginSettings): Credentials {
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
        // Remembered logins survive a change of the file, unless their password changed.
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

/** Wrong passwords tolerated for one user, and for all. */
const FREE_FOR_USER = 5
const FREE_FOR_PEER = 20
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** Failures are forgotten after so long without another, in milliseconds. */
const FORGOTTEN_MS = 600_000
const MAX_KEPT = 4_096

interface Failures {
  count: number
  lastMs: number
  untilMs: number
}

/**
 * Counts wrong passwords by peer and says how long to wait for the next try: first for the one user, so that a client with an old
 * password does not keep out others of the same address, later for all users.
 */
export class LoginAttempts {
  readonly #nowMs: () => number
  /** By peer, and by peer and user; the one that failed last comes last. */
  readonly #failures = new Map<string, Failures>()

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Recent failures. */
  failures(peer: string): number {
    return this.#of(peer)?.count ?? 0
  }

  /** How long until it may try again as this user, in milliseconds; 0 when it may now. */
  waitMs(peer: string, username: string): number {
    const forAllMs = (this.#of(peer)?.untilMs ?? 0) - this.#nowMs()
    return Math.max(forAllMs, this.waitOfUserMs(peer, username), 0)
  }

  /** The same, for the wrong passwords of this user alone. */
  waitOfUserMs(peer: string, username: string): number {
    return Math.max(0, (this.#of(keyOf(peer, username))?.untilMs ?? 0) - this.#nowMs())
  }

  failed(peer: string, username: string): void {
    this.#note(peer, FREE_FOR_PEER)
    this.failedAsUser(peer, username)
  }

  failedAsUser(peer: string, username: string): void {
    this.#note(keyOf(peer, username), FREE_FOR_USER)
  }

  #note(key: string, free: number): void {
    const nowMs = this.#nowMs()
    const count = this.failures(key) + 1
    const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - free))
    this.#failures.delete(key)
    const [oldest] = this.#failures.keys()
    if (this.#failures.size >= MAX_KEPT && oldest !== undefined) this.#failures.delete(oldest)
    this.#failures.set(key, { count, lastMs: nowMs, untilMs: count < free ? 0 : nowMs + waitMs })
  }

  #of(key: string): Failures | undefined {
    const found = this.#failures.get(key)
    return found === undefined || found.lastMs < this.#nowMs() - FORGOTTEN_MS ? undefined : found
  }
}

/** A prefix of the user name, since senders choose its length. */
const keyOf = (peer: string, username: string): string => `${peer} ${digestOf(username).toString('base64')}`

const MAX_WAITING = 64
const MAX_WAITING_OF_PEER = 4
/** After each check the queue pauses for this many times the duration of the check. */
const REST_FACTOR = 4

interface Waiting {
  readonly peer: string
  readonly check: () => Promise<boolean>
  /** Called with undefined when it is displaced by a peer with fewer failures. */
  readonly settle: (fits: boolean | undefined) => void
}

/**
 * Checks passwords one at a time with pauses, because a check is slow by design: guesses take at most a fifth of the thread, at
 * however many listeners. Peers with fewer failures come first, so that guesses do not keep users out.
 */
export class BcryptQueue {
  readonly #failures: (peer: string) => number
  readonly #rest: (ms: number) => Promise<unknown>
  readonly #nowMs: () => number
  #waiting: Waiting[] = []
  #isTurning = false

  /** `failures` returns how often a peer has failed recently. */
  constructor(
    failures: (peer: string) => number = () => 0,
    rest: (ms: number) => Promise<unknown> = (ms) => pause(ms, undefined, { ref: false }),
    nowMs: () => number = () => performance.now(),
  ) {
    this.#failures = failures
    this.#rest = rest
    this.#nowMs = nowMs
  }

  /** Whether the password is right; undefined when too many wait already. Rejects only if `check` does. */
  check(peer: string, check: () => Promise<boolean>): Promise<boolean | undefined> {
    const { promise, resolve } = Promise.withResolvers<boolean | undefined>()
    if (this.#hasPlaceFor(peer)) {
      this.#waiting.push({ peer, check, settle: resolve })
      void this.#turn()
    } else resolve(undefined)
    return promise
  }

  #hasPlaceFor(peer: string): boolean {
    if (this.#waiting.filter((one) => one.peer === peer).length >= MAX_WAITING_OF_PEER) return false
    if (this.#waiting.length < MAX_WAITING) return true
    const last = this.#waiting.reduce((worst, one) =>
      this.#failures(one.peer) >= this.#failures(worst.peer) ? one : worst,
    )
    if (this.#failures(last.peer) <= this.#failures(peer)) return false
    this.#waiting = this.#waiting.filter((one) => one !== last)
    last.settle(undefined)
    return true
  }

  async #turn(): Promise<void> {
    if (this.#isTurning) return
    this.#isTurning = true
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      const startedMs = this.#nowMs()
      next.settle(await next.check().catch(() => false))
      await this.#rest(REST_FACTOR * (this.#nowMs() - startedMs))
    }
    this.#isTurning = false
  }

  #takeNext(): Waiting | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const next = this.#waiting.reduce((best, one) =>
      this.#failures(one.peer) < this.#failures(best.peer) ? one : best,
    )
    this.#waiting = this.#waiting.filter((one) => one !== next)
    return next
  }
}

const MIN_COST = 4
/** Salt and digest of an unknown password; valid after any cost. */
const NOBODYS = hashSync(randomBytes(16).toString('hex'), MIN_COST).slice('$2b$04$'.length)

/** A hash of this cost that matches no password. */
const nobodysHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${NOBODYS}`

/** The greatest cost among bcrypt hashes; undefined when there is none. */
export function greatestCost(hashes: readonly string[]): number | undefined {
  return hashes.length === 0 ? undefined : Math.max(...hashes.map(getRounds))
}

/**
 * Whether a password matches a bcrypt hash; false without one. It always takes as long as the highest cost: each step doubles the
 * work, so checks at costs c, c, c+1 and so on add up to it. A password beyond the 72 bytes of bcrypt never matches.
 */
export async function matchesAtEqualCost(
  password: string,
  hash: string | undefined,
  cost: number,
  compareTo: (password: string, hash: string) => Promise<boolean> = compare,
): Promise<boolean> {
  const from = hash === undefined ? cost : getRounds(hash)
  const fits = await compareTo(password, hash ?? nobodysHash(cost))
  for (let filling = from; filling < cost; filling++) await compareTo(password, nobodysHash(filling))
  return fits && hash !== undefined && !truncates(password)
}

/** The password in a line of an htpasswd file. */
type KeptPassword = { kind: 'plain'; password: string } | { kind: 'bcrypt'; hash: string }

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const OTHER_HASH = /^(?:\$|\{(?:SHA|SSHA|SHA256|SHA512)\})/i
/** Each step doubles the time that a check takes; this one is about a second. */
const MAX_BCRYPT_COST = 14
/** bcrypt ignores bytes after these. */
const MAX_PASSWORD_BYTES = 72

/**
 * Reads `user:password` lines, where the password is a bcrypt hash (`htpasswd -B`) or plain text; the last line of a user
 * counts. Returns an error about the first line that cannot be used, without its content.
 */
export function readHtpasswd(text: string): Map<string, KeptPassword> | string {
  const users = new Map<string, KeptPassword>()
  for (const [at, written] of text.split('\n').entries()) {
    const line = written.trim()
    if (line === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    if (colon <= 0) return `line ${at + 1} is not user:password`
    const kept = readPassword(line.slice(colon + 1))
    if (typeof kept === 'string') return `line ${at + 1}: ${kept}`
    users.set(line.slice(0, colon), kept)
  }
  return users
}

function readPassword(text: string): KeptPassword | string {
  if (text === '') return 'the password is empty'
  const cost = BCRYPT.exec(text)?.[1]
  if (cost !== undefined) {
    return Number(cost) > MAX_BCRYPT_COST
      ? `a bcrypt cost of ${Number(cost)} takes too long to check; make it ${MAX_BCRYPT_COST} at most`
      : { kind: 'bcrypt', hash: text }
  }
  if (OTHER_HASH.test(text))
    return 'this kind of password hash is not supported; make one with htpasswd -B (bcrypt)'
  return Buffer.byteLength(text) > MAX_PASSWORD_BYTES
    ? `the password is longer than ${MAX_PASSWORD_BYTES} bytes, and bcrypt would take the first ${MAX_PASSWORD_BYTES} for all of it; write a shorter one`
    : { kind: 'plain', password: text }
}

/** A bounded cache; removes the least recently used. */
class LruKeys<Value> {
  readonly #most: number
  readonly #values = new Map<string, Value>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    const [oldest] = this.#values.keys()
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest)
  }
}
