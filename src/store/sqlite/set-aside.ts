import type { Statement } from 'better-sqlite3'
import type { SetAside } from '../../model/faults.ts'
import type { SetAsideStore } from '../../model/store-ports.ts'
import type { Sqlite } from './open-database.ts'
import type { Progress } from './transactions.ts'

/** What threw is told apart by far fewer; the oldest rows go. */
const MAX_ROWS = 1_000

type Found = { item: number; kind: string; cpid: number | null }

/** What was set aside, and how to get past it, in SQLite. */
export class SetAsideTable implements SetAsideStore {
  readonly #progress: Progress
  readonly #next: Statement<[{ after: number }], Found>
  readonly #waiting: Statement<[number], Found>
  readonly #waitingLog: Statement<[number], Found>
  readonly #settling: Statement<[number], Found>
  readonly #text: Statement<[number], string>
  readonly #insert: Statement
  readonly #dropOldest: Statement
  readonly #count: Statement<[], number>

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#next = db.prepare(
      `SELECT item, kind, cpid FROM (
         SELECT * FROM (SELECT id AS item, 'span' AS kind, cpid FROM spans WHERE id > @after ORDER BY id LIMIT 1)
         UNION ALL SELECT * FROM (SELECT arrival, iif(kind = 0, 'mergelog', 'explained'), cpid FROM graph_events
           WHERE arrival > @after ORDER BY arrival LIMIT 1)
         UNION ALL SELECT * FROM (SELECT id, 'log record', cpid FROM logs WHERE id > @after ORDER BY id LIMIT 1)
       ) ORDER BY item LIMIT 1`,
    )
    this.#waiting = db.prepare(
      `DELETE FROM waiting WHERE arrival = (SELECT arrival FROM waiting WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT 1)
       RETURNING arrival AS item, iif(kind = 1, 'change', 'span') AS kind, cpid`,
    )
    this.#waitingLog = db.prepare(
      `DELETE FROM waiting_logs WHERE arrival =
         (SELECT arrival FROM waiting_logs WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT 1)
       RETURNING arrival AS item, 'log record' AS kind, cpid`,
    )
    this.#settling = db.prepare(
      `UPDATE traces SET state = 1 WHERE id =
         (SELECT id FROM traces WHERE state = 0 AND due_ms <= ? ORDER BY due_ms LIMIT 1)
       RETURNING id AS item, 'trace' AS kind, root AS cpid`,
    )
    this.#text = db.prepare<[number], string>('SELECT text FROM cpids WHERE id = ?').pluck()
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO set_aside (at_ms, stage, kind, item, cpid, exporter, reason) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#dropOldest = db.prepare('DELETE FROM set_aside WHERE id <= ?')
    this.#count = db.prepare<[], number>('SELECT count(*) FROM set_aside').pluck()
  }

  passArrival(reason: string): SetAside | undefined {
    const after = this.#progress.linkedArrival
    const found = this.#next.get({ after })
    if (found !== undefined) this.#progress.linkedArrival = found.item
    return this.#passed('linking', found, reason)
  }

  passWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined {
    const statement = of === 'waiting' ? this.#waiting : this.#waitingLog
    return this.#passed('waiting', statement.get(this.#progress.activeMs), reason)
  }

  passTrace(reason: string): SetAside | undefined {
    return this.#passed('settling', this.#settling.get(this.#progress.activeMs), reason)
  }

  addUnprunable(cpid: number, reason: string): SetAside {
    const item = { item: cpid, kind: 'cpid', cpid }
    return this.#noted('pruning', item, reason)
  }

  add({ stage, kind, item, cpid, exporter, reason }: SetAside): void {
    const { changes, lastInsertRowid } = this.#insert.run(
      this.#progress.wallMs,
      stage,
      kind,
      item,
      cpid ?? null,
      exporter ?? '',
      reason,
    )
    if (changes > 0) this.#dropOldest.run(Number(lastInsertRowid) - MAX_ROWS)
  }

  count(): number {
    return this.#count.get() ?? 0
  }

  #passed(stage: SetAside['stage'], found: Found | undefined, reason: string): SetAside | undefined {
    return found && this.#noted(stage, found, reason)
  }

  #noted(stage: SetAside['stage'], found: Found, reason: string): SetAside {
    const { kind, item, cpid } = found
    const text = cpid === null ? undefined : this.#text.get(cpid)
    const aside: SetAside = { stage, kind, item, cpid: text, exporter: undefined, reason }
    this.add(aside)
    return aside
  }
}
