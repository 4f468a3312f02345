import { digestOf } from './same-secret.ts'

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
