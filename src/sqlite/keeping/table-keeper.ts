import type { Statement } from 'better-sqlite3'
import type { Housekeeper, HousekeepingResult } from '../../model/ports/keeping-port.ts'
import type { Retention } from '../../model/ports/prune-port.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import { UnusedScopes } from './unused-scopes.ts'
import { Sweep, type Sweepable } from './sweep.ts'

const WEEK_MS = 7 * 24 * 3_600_000
const ROWS = 1_000
const MAX_REFUSED = 10_000
const MIN_REFUSED = 50
/** What a refused mergelog takes at most, and which part of max_bytes all of them together. */
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
]

/** How many refused mergelogs are remembered: few enough to crowd nothing out of `max_bytes`. */
export function maxRefusedMergelogs({ maxBytes }: Pick<Retention, 'maxBytes'>): number {
  if (maxBytes === 0) return MAX_REFUSED
  const share = Math.floor(maxBytes / SHARE_OF_REFUSED / REFUSED_BYTES)
  return Math.min(MAX_REFUSED, Math.max(MIN_REFUSED, share))
}

export interface KeptElsewhere {
  /** What remembers scopes by their envelopes must forget them. */
  scopesRemoved: () => void
  /** Removes a step of what nobody asks for any more of observed clusters; true when there is more. */
  keepObserved: () => boolean
}

/** Keeps tables small that belong to no CPID. Every turn looks at some thousand rows, whatever is stored. */
export class TableHousekeeper implements Housekeeper {
  readonly #progress: Progress
  readonly #maxAgeMs: number
  readonly #most: number
  readonly #sweeps: readonly Sweep[]
  readonly #scopes: UnusedScopes
  readonly #refused: Statement
  readonly #oldRefused: Statement
  readonly #oldAside: Statement

  readonly #keepObserved: () => boolean

  constructor(
    db: Sqlite,
    progress: Progress,
    retention: Retention,
    { scopesRemoved, keepObserved }: KeptElsewhere,
  ) {
    this.#progress = progress
    this.#maxAgeMs = retention.maxAgeMs
    this.#most = maxRefusedMergelogs(retention)
    this.#scopes = new UnusedScopes(db, scopesRemoved)
    this.#keepObserved = keepObserved
    this.#sweeps = SWEPT.map((table) => new Sweep(db, table))
    this.#refused = db.prepare(
      `DELETE FROM rejected_mergelogs WHERE id IN (SELECT id FROM rejected_mergelogs
         WHERE id <= (SELECT max(id) FROM rejected_mergelogs) - ? ORDER BY id LIMIT ${ROWS})`,
    )
    const old = (table: string, time: string): Statement =>
      db.prepare(`DELETE FROM ${table} WHERE id < (SELECT min(id) FROM ${table}) + ${ROWS} AND ${time} < ?`)
    this.#oldRefused = old('rejected_mergelogs', 'arrived_ms')
    this.#oldAside = old('set_aside', 'at_ms')
  }

  /** `isAgeKnown`: the calendar may be believed. */
  turn(isAgeKnown: boolean): HousekeepingResult {
    const { wallMs, activeMs } = this.#progress
    const keptMs = this.#maxAgeMs === 0 ? WEEK_MS : this.#maxAgeMs
    let more = this.#refused.run(this.#most).changes === ROWS
    if (isAgeKnown) {
      if (this.#maxAgeMs > 0) more = this.#oldRefused.run(wallMs - this.#maxAgeMs).changes === ROWS || more
      this.#oldAside.run(wallMs - WEEK_MS)
    }
    for (const sweep of this.#sweeps) more = sweep.turn(activeMs - keptMs) || more
    more = this.#keepObserved() || more
    const isCrowded = this.#scopes.turn()
    return { more: more || isCrowded, isCrowded }
  }
}
