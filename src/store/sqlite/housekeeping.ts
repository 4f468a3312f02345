import type { Statement } from 'better-sqlite3'
import type { Housekeeper, HousekeepingResult, Retention } from '../../model/store-ports.ts'
import { MIB } from '../../model/time-and-size.ts'
import type { Sqlite } from './open-database.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Progress } from './transactions.ts'

const WEEK_MS = 7 * 24 * 3_600_000
const ROWS = 1_000
const MAX_REFUSED = 10_000
const MIN_REFUSED = 50
/** The most bytes of a refused mergelog. All together may take a share of max_bytes. */
const REFUSED_BYTES = 16_384
const SHARE_OF_REFUSED = 20

const SWEPT: readonly Sweepable[] = [
  {
    table: 'awaited_parents',
    key: ['origin', 'span_id', 'trace'],
    useless: 'a.since_ms < @before OR NOT EXISTS (SELECT 1 FROM origin_traces o WHERE o.id = a.origin)',
  },
  {
    table: 'awaited_versions',
    key: ['object', 'version'],
    useless: `NOT EXISTS (SELECT 1 FROM span_objects o WHERE o.object = a.object AND o.role = 0 AND o.version = a.version)`,
  },
  {
    table: 'awaited_writers',
    key: ['object', 'version', 'span'],
    useless: 'NOT EXISTS (SELECT 1 FROM waiting w WHERE w.arrival = a.span)',
  },
  {
    table: 'span_blocks',
    key: ['after'],
    useless: 'NOT EXISTS (SELECT 1 FROM spans s WHERE s.id > a.after AND s.id <= a.up_to)',
  },
  {
    table: 'long_traces',
    key: ['after'],
    useless: 'NOT EXISTS (SELECT 1 FROM spans s WHERE s.id > a.after AND s.id <= a.up_to)',
  },
  {
    table: 'own_span_blocks',
    key: ['after'],
    useless: 'NOT EXISTS (SELECT 1 FROM outbox o WHERE o.decision > a.after AND o.decision <= a.up_to)',
  },
]

/** How many refused mergelogs are kept, so that they do not displace other data from `max_bytes`. */
export function maxRefusedMergelogs({ maxBytes }: Pick<Retention, 'maxBytes'>): number {
  if (maxBytes === 0) return MAX_REFUSED
  const share = Math.floor(maxBytes / SHARE_OF_REFUSED / REFUSED_BYTES)
  return Math.min(MAX_REFUSED, Math.max(MIN_REFUSED, share))
}

interface HousekeepingHooks {
  /** Called so that caches of scopes by envelope are dropped. */
  scopesRemoved: () => void
  /** Removes a batch of data about observed clusters that is no longer needed. True if there is more. */
  keepObserved: () => boolean
  /** Removes a batch of metrics beyond the retention limits, even if exporters have not sent them. */
  keepMetrics: (isAgeKnown: boolean) => { more: boolean; unsent: number }
  /** Removes a batch of log records and metrics that all exporters have sent; true if there may be more. */
  removeSent: () => boolean
}

/** Bounds the tables whose rows belong to no CPID. A turn visits a few thousand rows, however much is stored. */
export class TableHousekeeper implements Housekeeper {
  readonly #progress: Progress
  readonly #maxAgeMs: number
  readonly #most: number
  readonly #sweeps: readonly TableSweep[]
  readonly #scopes: UnusedScopes
  readonly #sql: PreparedStatements
  readonly #hooks: Pick<HousekeepingHooks, 'keepObserved' | 'keepMetrics' | 'removeSent'>

  constructor(
    db: Sqlite,
    progress: Progress,
    retention: Retention,
    { scopesRemoved, ...hooks }: HousekeepingHooks,
  ) {
    this.#progress = progress
    this.#maxAgeMs = retention.maxAgeMs
    this.#most = maxRefusedMergelogs(retention)
    this.#sql = new PreparedStatements(db)
    this.#scopes = new UnusedScopes(this.#sql, scopesRemoved)
    this.#hooks = hooks
    this.#sweeps = SWEPT.map((table) => new TableSweep(db, table))
  }

  /** `isAgeKnown`: whether the wall clock can be trusted. */
  sweep(isAgeKnown: boolean): HousekeepingResult {
    const { wallMs, activeMs } = this.#progress
    const keptMs = this.#maxAgeMs === 0 ? WEEK_MS : this.#maxAgeMs
    const removeOld = (table: string, time: string, beforeMs: number): number =>
      this.#sql.run(
        `DELETE FROM ${table} WHERE id < (SELECT min(id) FROM ${table}) + ${ROWS} AND ${time} < ?`,
        beforeMs,
      )
    const refused = this.#sql.run(
      `DELETE FROM rejected_mergelogs WHERE id IN (SELECT id FROM rejected_mergelogs
         WHERE id <= (SELECT max(id) FROM rejected_mergelogs) - ? ORDER BY id LIMIT ${ROWS})`,
      this.#most,
    )
    let more = refused === ROWS
    if (isAgeKnown) {
      if (this.#maxAgeMs > 0)
        more = removeOld('rejected_mergelogs', 'arrived_ms', wallMs - this.#maxAgeMs) === ROWS || more
      removeOld('set_aside', 'at_ms', wallMs - WEEK_MS)
    }
    for (const sweep of this.#sweeps) more = sweep.turn(activeMs - keptMs) || more
    more = this.#hooks.keepObserved() || more
    more = this.#hooks.removeSent() || more
    const metrics = this.#hooks.keepMetrics(isAgeKnown)
    const isCrowded = this.#scopes.turn()
    return { more: more || isCrowded || metrics.more, isCrowded, unsent: metrics.unsent }
  }
}

/** The most scopes and bytes that a turn removes. Envelopes may be as large as a request. */
const SCOPES = 500
const BYTES = 8 * MIB

interface Unused {
  id: number
  resource: number
  bytes: number
}

/** Removes scopes without references, and resources without scopes. */
class UnusedScopes {
  readonly #sql: PreparedStatements
  readonly #onRemoved: () => void

  /** `onRemoved`: called so that caches of scopes by envelope are dropped. */
  constructor(sql: PreparedStatements, onRemoved: () => void) {
    this.#sql = sql
    this.#onRemoved = onRemoved
  }

  /** True if there may be more. */
  turn(): boolean {
    const unused = this.#sql.rows<Unused>(
      `SELECT s.id, s.resource, length(s.envelope) + length(r.envelope) AS bytes FROM scopes s INDEXED BY scopes_unused
       LEFT JOIN resources r ON r.id = s.resource WHERE s.uses = 0 LIMIT ${SCOPES}`,
    )
    if (unused.length === 0) return false
    let bytes = 0
    let removed = 0
    const resources = new Set<number>()
    for (const scope of unused) {
      if (removed > 0 && bytes + scope.bytes > BYTES) break
      this.#sql.run('DELETE FROM scopes WHERE id = ?', scope.id)
      resources.add(scope.resource)
      bytes += scope.bytes
      removed++
    }
    for (const resource of resources)
      this.#sql.run(
        'DELETE FROM resources WHERE id = ? AND NOT EXISTS (SELECT 1 FROM scopes WHERE resource = resources.id)',
        resource,
      )
    this.#onRemoved()
    return removed === SCOPES || removed < unused.length
  }
}

const ROWS_A_TURN = 1_000

interface Sweepable {
  readonly table: string
  /** Its primary key. */
  readonly key: readonly string[]
  /** The SQL condition under which a row `a` is no longer needed; may use @before. */
  readonly useless: string
}

/** Cycles through a table, a thousand rows a turn, and removes rows that are no longer needed. Its position is lost on restart. */
export class TableSweep {
  readonly #first: Statement<[{ before: number }], bigint[]>
  readonly #next: Statement<[{ before: number; [key: `k${number}`]: bigint }], bigint[]>
  readonly #remove: Statement
  #after: readonly bigint[] | undefined

  constructor(db: Sqlite, { table, key, useless }: Sweepable) {
    const rows = (where: string): string =>
      `SELECT ${key.join(', ')}, (${useless}) FROM ${table} a ${where} ORDER BY ${key.join(', ')} LIMIT ${ROWS_A_TURN}`
    this.#first = db.prepare<[{ before: number }], bigint[]>(rows('')).raw().safeIntegers()
    const place = key.map((_, at) => `@k${at}`).join(', ')
    this.#next = db
      .prepare<[{ before: number; [key: `k${number}`]: bigint }], bigint[]>(
        rows(`WHERE (${key.join(', ')}) > (${place})`),
      )
      .raw()
      .safeIntegers()
    this.#remove = db.prepare(
      `DELETE FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`,
    )
  }

  /** Visits the next rows. True if most of them were removed, so that it should continue soon. */
  turn(before: number): boolean {
    const places = this.#after?.map((value, at) => [`k${at}`, value] as const)
    const rows =
      places === undefined
        ? this.#first.all({ before })
        : this.#next.all({ ...Object.fromEntries(places), before })
    let removed = 0
    for (const row of rows) {
      if (row.at(-1) !== 1n) continue
      this.#remove.run(...row.slice(0, -1))
      removed++
    }
    this.#after = rows.length < ROWS_A_TURN ? undefined : rows.at(-1)?.slice(0, -1)
    return removed * 2 >= ROWS_A_TURN
  }
}
