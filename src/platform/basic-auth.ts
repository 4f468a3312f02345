import { randomBytes, timingSafeEqual } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { compare, getRounds, hashSync, truncates } from 'bcryptjs'
import { type Authenticator, type Checked, type Credentials, digestOf } from './credentials.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'

interface HtpasswdSettings {
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

/** So many wrong passwords for one user, and for all, are nobody's fault. */
const FREE_FOR_USER = 5
const FREE_FOR_PEER = 20
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** After so long without a wrong password all is forgotten, in milliseconds. */
const FORGOTTEN_MS = 600_000
const MAX_KEPT = 4_096

interface Failures {
  count: number
  lastMs: number
  untilMs: number
}

/**
 * How often wrong passwords came from each peer of late, and how long it has to wait for the next try: soon for one user, so
 * that whoever sends an old password does not keep out others who come from the same address, and later for all.
 */
export class LoginAttempts {
  readonly #nowMs: () => number
  /** By peer, and by peer and user; the one that failed last comes last. */
  readonly #failures = new Map<string, Failures>()

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** How often of late. */
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

/** Of the user as much as tells users apart: names are as long as their senders like. */
const keyOf = (peer: string, username: string): string => `${peer} ${digestOf(username).toString('base64')}`

const MAX_WAITING = 64
const MAX_WAITING_OF_PEER = 4
/** After each check the thread is left to others for so many times as long as it took. */
const REST_FACTOR = 4

interface Waiting {
  readonly peer: string
  readonly check: () => Promise<boolean>
  /** Undefined when others had to be let in instead. */
  readonly settle: (fits: boolean | undefined) => void
}

/**
 * Has passwords checked one at a time and with rests between, because a check is slow by design and the thread has other
 * things to do: guesses cannot take more than a fifth of it, at however many listeners. Whoever has failed less comes first,
 * so that those who guess do not keep out those who know.
 */
export class BcryptTurns {
  readonly #failures: (peer: string) => number
  readonly #rest: (ms: number) => Promise<unknown>
  readonly #nowMs: () => number
  #waiting: Waiting[] = []
  #isTurning = false

  /** `failures` tells how often a peer has failed of late. */
  constructor(
    failures: (peer: string) => number = () => 0,
    rest: (ms: number) => Promise<unknown> = (ms) => pause(ms, undefined, { ref: false }),
    nowMs: () => number = () => performance.now(),
  ) {
    this.#failures = failures
    this.#rest = rest
    this.#nowMs = nowMs
  }

  /** Whether the password fits; undefined when too many wait already. Rejects never, as long as `check` does not. */
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
/** Salt and digest of what nobody knows; they fit behind any cost. */
const NOBODYS = hashSync(randomBytes(16).toString('hex'), MIN_COST).slice('$2b$04$'.length)

/** A hash of this cost that no password fits. */
const nobodysHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${NOBODYS}`

/** The greatest cost among bcrypt hashes; undefined when there is none. */
export function greatestCost(hashes: readonly string[]): number | undefined {
  return hashes.length === 0 ? undefined : Math.max(...hashes.map(getRounds))
}

/**
 * Whether a password fits a bcrypt hash; false where there is none. It takes as long as the greatest cost does, whatever the
 * hash: each step of the cost is twice the work, so that 2^c and then 2^c, 2^(c+1) and so on add up to it. What bcrypt would
 * cut off, beyond 72 bytes, never fits.
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

/** A password as a line of an htpasswd file keeps it. */
type KeptPassword = { kind: 'plain'; password: string } | { kind: 'bcrypt'; hash: string }

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const OTHER_HASH = /^(?:\$|\{(?:SHA|SSHA|SHA256|SHA512)\})/i
/** Each step doubles the time that a check takes; this one is about a second. */
const MAX_BCRYPT_COST = 14
/** Of longer ones bcrypt looks at the beginning only. */
const MAX_PASSWORD_BYTES = 72

/**
 * Reads `user:password` lines, where the password is a bcrypt hash (`htpasswd -B`) or plain text; a later line for the same
 * user counts. A sentence about the first line that cannot be used, without what it holds.
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

/** As many values as fit; those go first that were asked for longest ago. */
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
