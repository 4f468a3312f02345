import type { Statement } from 'better-sqlite3'
import type { Waiting, WaitingItems, WaitingKind } from '../../model/ports/linking/waiting.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'

const KINDS: readonly WaitingKind[] = ['span', 'change', 'orphan', 'cause']

interface WaitingRow {
  arrival: bigint
  kind: bigint
  cpid: bigint | null
  origin: bigint | null
  parent_id: bigint | null
}

/** Spans and changes that wait for a mergelog or a parent, and until when. */
export class WaitingTable implements WaitingItems {
  readonly #progress: Progress
  readonly #insert: Statement
  readonly #is: Statement<[number], number>
  readonly #forCpid: Statement<[number], WaitingRow>
  readonly #forParent: Statement<[number, bigint], WaitingRow>
  readonly #due: Statement<[number, number], WaitingRow>
  readonly #delete: Statement

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#insert = db.prepare(
      'INSERT INTO waiting (arrival, kind, cpid, origin, parent_id, due_ms) VALUES (?, ?, ?, ?, ?, ?)',
    )
    const rows = <Bind extends unknown[]>(rest: string): Statement<Bind, WaitingRow> =>
      db
        .prepare<Bind, WaitingRow>(`SELECT arrival, kind, cpid, origin, parent_id FROM waiting ${rest}`)
        .safeIntegers()
    this.#is = db.prepare<[number], number>('SELECT 1 FROM waiting WHERE arrival = ? AND kind <> 1').pluck()
    this.#forCpid = rows('WHERE cpid = +? ORDER BY arrival')
    this.#forParent = rows('WHERE origin = +? AND parent_id = +? ORDER BY arrival')
    this.#due = rows('WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT ?')
    this.#delete = db.prepare('DELETE FROM waiting WHERE arrival = ?')
  }

  add(waiting: Waiting, dueMs: number): void {
    const { arrival, kind, cpid, origin, parentId } = waiting
    this.#insert.run(arrival, KINDS.indexOf(kind), cpid ?? null, origin ?? null, parentId ?? null, dueMs)
  }

  hasSpan(arrival: number): boolean {
    return this.#is.get(arrival) === 1
  }

  remove(arrival: number): boolean {
    return this.#delete.run(arrival).changes > 0
  }

  forCpid(cpid: number): Waiting[] {
    return this.#forCpid.all(cpid).map(waitingOf)
  }

  forParent(origin: number, parentId: bigint): Waiting[] {
    return this.#forParent.all(origin, parentId).map(waitingOf)
  }

  due(limit: number): Waiting[] {
    return this.#due.all(this.#progress.activeMs, limit).map(waitingOf)
  }
}

function waitingOf(row: WaitingRow): Waiting {
  return {
    arrival: Number(row.arrival),
    kind: KINDS[Number(row.kind)] ?? 'span',
    cpid: row.cpid === null ? undefined : Number(row.cpid),
    origin: row.origin === null ? undefined : Number(row.origin),
    parentId: row.parent_id ?? undefined,
  }
}
