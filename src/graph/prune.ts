import type { MergeGraph } from '../model/merge-graph.ts'
import {
  noPruneCounts,
  type PruneAttempt,
  type PruneCandidate,
  type PruneConditions,
  type PruneCounts,
  type PruneHold,
  type PruneStore,
  type Retention,
} from '../model/store-ports.ts'
import { nanosOfMs } from '../model/time-and-size.ts'
import { CandidateScan, CascadeWalk } from './prune-candidates.ts'
import { LOOK_COST, PruneGuard, PruneWork, Removal } from './prune-removal.ts'

const PAGE = 200
const ROWS_AT_ONCE = 100

export interface PruneSettings {
  retention: Retention
  maxFanout: number
  attempt: PruneAttempt
}

export interface PruneResult extends PruneCounts {
  /** The turn ended before the graph was within its limits, or before all candidates had been checked. */
  more: boolean
  /** About how many rows were removed, of all kinds. */
  removed: number
}

type Found = PruneHold | 'free' | 'unfinished'

/** A candidate whose cascade is being checked. Without `scan` it is removed whatever holds it. */
interface Pending {
  readonly scan: CandidateScan | undefined
  readonly walk: CascadeWalk
}

/**
 * Removes CPIDs until the graph is within its retention limits, and no more (paper, section 3.4.2): only CPIDs that no edge points to,
 * oldest mergelog first, each together with those that lose their last incoming edge by that. It works in turns and continues where the
 * last turn stopped. A held CPID is checked again only when it may be free.
 */
export class Pruner {
  readonly #store: PruneStore
  readonly #graph: MergeGraph
  readonly #settings: PruneSettings
  readonly #guard: PruneGuard
  readonly #removal: Removal
  /** The scan for `max_age`, which also skips CPIDs that are too young, and the scan for `max_cpids` and `max_bytes`. */
  readonly #old = new CandidateScan()
  readonly #all = new CandidateScan()
  #pending: Pending | undefined
  #isRoundOver = true
  /** The round begins once the mergelogs that arrived before it are noted. */
  #noteUpTo = 0
  #noted = 0
  #wallMs = 0
  #counts: PruneCounts = noPruneCounts()
  #work = new PruneWork(0, () => false)

  constructor(store: PruneStore, graph: MergeGraph, settings: PruneSettings) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
    this.#guard = new PruneGuard(settings.attempt, () => store.processedUpTo.activeMs)
    const onUnmarked = (place: PruneCandidate): void => this.#mark(place)
    this.#removal = new Removal({
      store,
      graph,
      guard: this.#guard,
      maxFanout: settings.maxFanout,
      onUnmarked,
    })
  }

  /** How many CPIDs are over a limit, and open, waiting or not sent, as far as candidates were checked. */
  get held(): number {
    return Math.max(this.#old.held, this.#all.held)
  }

  /** Does one turn: about as much as `budget` CPIDs cost at most. */
  prune(
    budget: number,
    { isAgeKnown = true, isRoomKnown = true, mayGoOn }: PruneConditions = {},
  ): PruneResult {
    this.#counts = noPruneCounts()
    this.#work = new PruneWork(budget, mayGoOn ?? (() => true))
    this.#store.begin()
    if (this.#isRoundOver) this.#beginRound()
    if (isAgeKnown) forgetRequests(this.#store, this.#work)
    this.#removal.goOn(this.#work, this.#counts)
    if (this.#noteMergelogs()) {
      if (isAgeKnown) this.#byAge()
      this.#byCount()
      if (isRoomKnown) this.#byBytes()
    }
    forgetTombstones(this.#store, this.#work, this.#settings.retention.maxCpids)
    const more = this.#work.isUp
    if (!more) this.#endRound()
    return { ...this.#counts, more, removed: this.#work.removed }
  }

  /** Forgets cached state, which may be outdated. */
  forget(): void {
    this.#old.forget()
    this.#all.forget()
    this.#guard.forget()
    this.#endRound()
  }

  #endRound(): void {
    this.#isRoundOver = true
    this.#pending = undefined
  }

  #beginRound(): void {
    const { wallMs } = this.#store.processedUpTo
    // New candidates sort behind older ones only while the wall clock goes forward.
    if (wallMs < this.#wallMs) this.forget()
    this.#wallMs = wallMs
    this.#noteUpTo = this.#store.lastArrival
    if (this.#old.isEmpty && this.#all.isEmpty) this.#noted = this.#noteUpTo
    this.#isRoundOver = false
    if (this.#noted >= this.#noteUpTo) this.#beginScans()
  }

  #beginScans(): void {
    const { maxAgeMs } = this.#settings.retention
    const { processedUpTo: reached } = this.#store
    this.#noted = this.#noteUpTo
    this.#old.begin(reached, { timeNs: nanosOfMs(reached.wallMs - maxAgeMs), id: 0 })
    this.#all.begin(reached)
  }

  /** A late mergelog moves its CPID to a place that was visited already. True once all are noted. */
  #noteMergelogs(): boolean {
    while (this.#noted < this.#noteUpTo) {
      if (this.#work.isUp) return false
      const page = this.#store.mergedAfter(this.#noted, PAGE)
      for (const { place } of page) this.#mark(place)
      this.#noted = page.at(-1)?.arrival ?? this.#noteUpTo
      if (page.length < PAGE) this.#noted = this.#noteUpTo
      this.#work.spend(PAGE / 10)
      if (this.#noted >= this.#noteUpTo) this.#beginScans()
    }
    return true
  }

  #mark(place: PruneCandidate): void {
    this.#old.mark(place)
    this.#all.mark(place)
  }

  #byAge(): void {
    const { maxAgeMs } = this.#settings.retention
    if (maxAgeMs === 0) return
    this.#pass(this.#old, maxAgeMs, () => true)
    this.#unattributed(this.#store.processedUpTo.wallMs - maxAgeMs, false, () => true)
  }

  #byCount(): void {
    const { maxCpids } = this.#settings.retention
    if (maxCpids > 0) this.#pass(this.#all, undefined, () => this.#store.countCpids() > maxCpids)
  }

  /** Removes first what is settled and sent, and then, if the database is still too large, the rest. */
  #byBytes(): void {
    const { maxBytes } = this.#settings.retention
    if (maxBytes === 0) return
    const isOver = (): boolean => this.#store.usedBytes() > maxBytes
    if (!isOver() || !this.#readUnsent()) return
    this.#pass(this.#all, undefined, isOver, false)
    this.#unattributed(Infinity, false, isOver)
    while (!this.#work.isUp && isOver()) {
      const walk = this.#pendingOf(undefined) ?? this.#oldest()
      if (walk === undefined || !this.#olderUnattributed(walk.candidate, true, isOver)) break
      const found = this.#look(undefined, walk, undefined)
      if (found !== 'unfinished') this.#take(walk, found !== 'free')
    }
    this.#unattributed(Infinity, true, isOver)
  }

  /**
   * Removes candidates while `isWanted`. If `older` is given, unattributed spans older than a candidate are removed before it; if it is
   * true, unsent ones too.
   */
  #pass(scan: CandidateScan, maxAgeMs: number | undefined, isWanted: () => boolean, older?: boolean): void {
    while (!this.#work.isUp && isWanted()) {
      const walk = this.#pendingOf(scan) ?? this.#next(scan)
      if (walk === undefined) return
      const found = this.#look(scan, walk, maxAgeMs)
      if (found === 'unfinished') return
      if (found !== 'free') scan.hold(walk.candidate, found)
      else if (older !== undefined && !this.#olderUnattributed(walk.candidate, older, isWanted)) {
        this.#pending = { scan, walk: new CascadeWalk(this.#graph, walk.candidate) }
        return
      } else this.#take(walk, false)
    }
  }

  #pendingOf(scan: CandidateScan | undefined): CascadeWalk | undefined {
    const pending = this.#pending
    if (pending === undefined || pending.scan !== scan) return undefined
    this.#pending = undefined
    const { walk } = pending
    walk.isOld = true
    const isThere = this.#guard.attempt(walk.candidate.id, 'reads', () => walk.isStillCandidate)
    return isThere === true ? walk : undefined
  }

  #next(scan: CandidateScan): CascadeWalk | undefined {
    const candidate = scan.next(
      (after, before, limit) => {
        this.#work.spend(LOOK_COST)
        return this.#store.candidates(after, before, limit)
      },
      () => this.#work.isUp,
    )
    return candidate && new CascadeWalk(this.#graph, candidate)
  }

  #oldest(): CascadeWalk | undefined {
    let candidate: PruneCandidate | undefined
    do {
      this.#work.spend(LOOK_COST)
      candidate = this.#store.candidates(candidate, undefined, 1)[0]
    } while (candidate !== undefined && this.#guard.hold(candidate.id) !== undefined && !this.#work.isUp)
    return candidate && new CascadeWalk(this.#graph, candidate)
  }

  /** What holds the candidate or a CPID that would be removed with it. Being too young, or unreadable, holds it too. */
  #look(scan: CandidateScan | undefined, walk: CascadeWalk, maxAgeMs: number | undefined): Found {
    const { id } = walk.candidate
    const held = this.#guard.hold(id)
    if (held !== undefined) return held
    const found = this.#guard.attempt(id, 'reads', () => this.#holdOfAny(scan, walk, maxAgeMs))
    return found ?? this.#guard.hold(id) ?? 'free'
  }

  #holdOfAny(scan: CandidateScan | undefined, walk: CascadeWalk, maxAgeMs: number | undefined): Found {
    for (;;) {
      const member = walk.next()
      if (member === undefined) return 'free'
      this.#work.spend(LOOK_COST)
      const hold = member === 'none yet' ? undefined : this.#holdOf(member, maxAgeMs)
      if (hold !== undefined) return hold
      if (this.#work.isUp) {
        this.#pending = { scan, walk }
        return 'unfinished'
      }
    }
  }

  #holdOf(cpid: number, maxAgeMs: number | undefined): PruneHold | undefined {
    if (maxAgeMs !== undefined) {
      const at = this.#store.lastActivityMs(cpid) + maxAgeMs + 1
      if (at > this.#store.processedUpTo.wallMs) return { until: 'wallMs', at }
    }
    return this.#store.hold(cpid)
  }

  /** Removes a CPID and those that lose their last incoming edge, until the turn ends. */
  #take(walk: CascadeWalk, forced: boolean): void {
    this.#store.markForRemoval(walk.candidate.id, forced)
    this.#removal.goOn(this.#work, this.#counts, new Set(walk.isOld ? [] : walk.members))
  }

  /** Removes unattributed spans older than the candidate. False if that was enough, or the turn ended. */
  #olderUnattributed(candidate: PruneCandidate, forced: boolean, isWanted: () => boolean): boolean {
    while (!this.#work.isUp && isWanted()) {
      const oldest = this.#store.oldestUnattributedNs(forced)
      if (oldest === undefined || oldest >= candidate.timeNs) return true
      if (this.#removeUnattributed(Infinity, forced) === 0) return true
    }
    return false
  }

  #unattributed(beforeMs: number, forced: boolean, isWanted: () => boolean): void {
    if (!this.#readUnsent()) return
    while (!this.#work.isUp && isWanted()) {
      if (this.#removeUnattributed(beforeMs, forced) === 0) return
    }
  }

  /** True once it is known which spans without a CPID have been sent. */
  #readUnsent(): boolean {
    while (!this.#store.readUnsent()) {
      this.#work.spend(PAGE)
      if (this.#work.isUp) return false
    }
    return true
  }

  #removeUnattributed(beforeMs: number, forced: boolean): number {
    const { looked, rows } = this.#store.removeUnattributed(beforeMs, ROWS_AT_ONCE, forced, this.#counts)
    this.#work.remove(rows)
    this.#work.spend(LOOK_COST + looked / 10)
    return looked
  }
}

const LEFTOVERS_AT_ONCE = 100
/** How long a repeated request is recognised. Senders give up on a lost reply after minutes. */
const REQUEST_MEMORY_MS = 3_600_000
const TOMBSTONES_WITHOUT_LIMIT = 1_000_000

function forgetRequests(store: PruneStore, work: PruneWork): void {
  while (!work.isUp) {
    const removed = store.removeRequests(store.processedUpTo.wallMs - REQUEST_MEMORY_MS, LEFTOVERS_AT_ONCE)
    work.spend(removed / 2)
    if (removed < LEFTOVERS_AT_ONCE) return
  }
}

/** Keeps as many tombstones as CPIDs. */
function forgetTombstones(store: PruneStore, work: PruneWork, maxCpids: number): void {
  const keep = maxCpids === 0 ? TOMBSTONES_WITHOUT_LIMIT : maxCpids
  while (!work.isUp) {
    const looked = store.removeOldTombstones(keep, LEFTOVERS_AT_ONCE)
    if (looked === 0) return
    work.spend(looked / 2)
  }
}

const MINUTE_MS = 60_000
/** Leaps of the wall clock up to this are corrections, as by NTP, and are ignored. */
export const LEAP_MS = 10 * MINUTE_MS
/** How fast a working clock may drift or be slewed, as a part of the elapsed time. */
export const DRIFT = 0.01
/** Longest plausible down time: a shorter gap does no harm to data that is kept for days. */
const DOWN_MS = 24 * 60 * MINUTE_MS
/** How long a new time must last before anything is removed because of it: time to set a wrong clock right. */
export const UNSURE_MS = 60 * MINUTE_MS

interface ClockReading {
  /** Wall-clock time, Unix milliseconds. */
  readonly wallMs: number
  /** Up time in milliseconds. */
  readonly activeMs: number
}

/** Whether the wall clock is trusted. `leapMs` is set when it has just leapt, negative when backward. */
interface CalendarVerdict {
  readonly isSure: boolean
  readonly leapMs?: number
}

/** The least and the most by which the wall clock was ahead of up time, and when it was last read. */
interface Ahead {
  leastMs: number
  mostMs: number
  activeMs: number
}

/**
 * Compares the wall clock with up time. After a leap it was wrong before or is wrong now, which cannot be known: pruning by age then
 * waits, so that a wrong clock does not remove everything. Many small leaps count as a large one: a reading is compared with all
 * readings since the last leap, less the possible drift.
 */
export class CalendarWatch {
  #ahead: Ahead | undefined
  #unsureUntilMs = 0

  /** `lastSeenMs`: the last stored wall-clock time, perhaps from an earlier process. */
  look({ wallMs, activeMs }: ClockReading, lastSeenMs: number | undefined): CalendarVerdict {
    const aheadMs = wallMs - activeMs
    const leapMs =
      this.#ahead === undefined ? leapWhileAway(wallMs, lastSeenMs) : leapFrom(this.#ahead, aheadMs, activeMs)
    const { leastMs, mostMs } = (leapMs === undefined ? this.#ahead : undefined) ?? {
      leastMs: aheadMs,
      mostMs: aheadMs,
    }
    const driftMs = driftSince(this.#ahead, activeMs)
    this.#ahead = {
      leastMs: Math.min(aheadMs, leastMs + driftMs),
      mostMs: Math.max(aheadMs, mostMs - driftMs),
      activeMs,
    }
    if (leapMs !== undefined) this.#unsureUntilMs = activeMs + UNSURE_MS
    return { isSure: activeMs >= this.#unsureUntilMs, ...(leapMs !== undefined && { leapMs }) }
  }
}

function leapFrom(ahead: Ahead, aheadMs: number, activeMs: number): number | undefined {
  const driftMs = driftSince(ahead, activeMs)
  const forwardMs = aheadMs - ahead.leastMs
  const backwardMs = aheadMs - ahead.mostMs
  if (forwardMs > LEAP_MS + driftMs) return forwardMs
  return backwardMs < -LEAP_MS - driftMs ? backwardMs : undefined
}

function driftSince(ahead: Ahead | undefined, activeMs: number): number {
  return ahead === undefined ? 0 : (activeMs - ahead.activeMs) * DRIFT
}

function leapWhileAway(wallMs: number, lastSeenMs = wallMs): number | undefined {
  const leapMs = wallMs - lastSeenMs
  return leapMs > DOWN_MS || leapMs < -LEAP_MS ? leapMs : undefined
}
