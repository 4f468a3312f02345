import type { Clock } from '../model/clock.ts'
import type { ForgottenTombstones } from '../model/ports/graph-port.ts'
import type { Sqlite } from './open-database.ts'
import { ScopeUses } from './writer/scope-uses.ts'

interface ProgressRow {
  last_arrival: number
  linked_arrival: number
  last_decision: number
  last_log_decision: number
  indexed_origins: number
  indexing_origins: number
  indexing_prefix: number
  active_ms: number
  live_cpids: number
  tombstones: number
  unranked_cpids: number
  forgotten_ms: number
  forgotten_episode: number
}

/**
 * The counters that outlive rows, how many CPIDs there are, and up time: `activeMs` counts only while Causeway runs, whatever the calendar
 * does, so that its down time settles no trace. Held in memory during a transaction and written at its end.
 */
export class Progress {
  wallMs = 0
  activeMs = 0
  lastArrival = 0
  linkedArrival = 0
  lastDecision = 0
  lastLogDecision = 0
  /** The last original trace up to which all are in the index of their ids. */
  indexedOrigins = 0
  /** The last one of the batch that is going there, and the first four bytes of the ids that are next. */
  indexingOrigins = 0
  indexingPrefix = 0
  /** CPIDs that are not pruned, and those that are but not forgotten. */
  liveCpids = 0
  tombstones = 0
  /** CPIDs up to this number came before the graph was kept in order (ADR-020). */
  unrankedCpids = 0
  forgotten: ForgottenTombstones = { untilMs: 0, nextEpisode: 0 }
  /** Rows that came to name scopes. */
  readonly scopeUses: ScopeUses
  readonly #db: Sqlite
  readonly #clock: Clock
  #base = 0
  #startedMs: number

  constructor(db: Sqlite, clock: Clock) {
    this.#db = db
    this.#clock = clock
    this.scopeUses = new ScopeUses(db)
    this.#startedMs = clock.monotonicMs()
    this.load()
  }

  /** Reads what is stored; at the start, after a rollback, and when someone else wrote. */
  load(): void {
    const row = this.#db
      .prepare<[], ProgressRow>(
        `SELECT last_arrival, linked_arrival, last_decision, last_log_decision, indexed_origins, indexing_origins,
           indexing_prefix, active_ms, live_cpids, tombstones, unranked_cpids,
           forgotten_ms, forgotten_episode FROM progress`,
      )
      .get()
    if (row === undefined) throw new Error('the database has no progress row; run causeway migrate')
    this.scopeUses.forget()
    this.lastArrival = row.last_arrival
    this.linkedArrival = row.linked_arrival
    this.lastDecision = row.last_decision
    this.lastLogDecision = row.last_log_decision
    this.indexedOrigins = row.indexed_origins
    this.indexingOrigins = row.indexing_origins
    this.indexingPrefix = row.indexing_prefix
    this.liveCpids = row.live_cpids
    this.tombstones = row.tombstones
    this.unrankedCpids = row.unranked_cpids
    this.forgotten = { untilMs: row.forgotten_ms, nextEpisode: row.forgotten_episode }
    this.#base = Math.max(row.active_ms, this.activeMs)
    this.#startedMs = this.#clock.monotonicMs()
    this.turn()
  }

  /** Takes the time for the transaction that begins. */
  turn(): void {
    this.wallMs = Math.trunc(this.#clock.wallMs())
    this.activeMs = this.#base + Math.trunc(this.#clock.monotonicMs() - this.#startedMs)
  }

  nextArrival(): number {
    return ++this.lastArrival
  }

  nextDecision(): number {
    return ++this.lastDecision
  }

  nextLogDecision(): number {
    return ++this.lastLogDecision
  }

  save(): void {
    this.scopeUses.save()
    this.#db
      .prepare(
        `UPDATE progress SET last_arrival = ?, linked_arrival = ?, last_decision = ?, last_log_decision = ?,
           indexed_origins = ?, indexing_origins = ?, indexing_prefix = ?, active_ms = ?, live_cpids = ?, tombstones = ?,
           forgotten_ms = ?, forgotten_episode = ?`,
      )
      .run(
        this.lastArrival,
        this.linkedArrival,
        this.lastDecision,
        this.lastLogDecision,
        this.indexedOrigins,
        this.indexingOrigins,
        this.indexingPrefix,
        this.activeMs,
        this.liveCpids,
        this.tombstones,
        this.forgotten.untilMs,
        this.forgotten.nextEpisode,
      )
  }
}
