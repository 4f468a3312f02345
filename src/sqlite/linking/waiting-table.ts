import type { Statement } from 'better-sqlite3'
import type { Waiting, WaitingItems, WaitingKind } from '../../model/ports/linking/waiting.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'

const KINDS: readonly WaitingKind[] = ['span', 'change', 'orphan', 'cause', 'parent', 'join']
const CHANGE = KINDS.indexOf('change')
/** In place of an original trace, of a change that waits for the span that told of it. */
const TOLD = -1

interface WaitingRow {
  arrival: bigint
  kind: bigint
  cpid: bigint | null
  origin: bigint | null
  parent_id: bigint | null
  behind_until_ms: bigint | null
}

const COLUMNS = 'arrival, kind, cpid, origin, parent_id, behind_until_ms'

/** Spans and changes that wait for a mergelog or a parent, and until when. */
export class WaitingTable implements WaitingItems {
  readonly #progress: Progress
  readonly #insert: Statement
  readonly #is: Statement<[number], number>
  readonly #until: Statement<[number], number>
  readonly #isBehind: Statement<[number], number>
  readonly #wake: Statement<[number]>
  readonly #forCpid: Statement<[number], WaitingRow>
  readonly #forParent: Statement<[number, bigint], WaitingRow>
  readonly #due: Statement<[number, number], WaitingRow>
  readonly #delete: Statement<[number], number>
  readonly #countTold: Statement<[], number>
  /** How many changes wait for who told of them, or more, so that spans need not ask while none does. */
  #told: number | undefined

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#insert = db.prepare(`INSERT INTO waiting (${COLUMNS}, due_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`)
    const rows = <Bind extends unknown[]>(rest: string): Statement<Bind, WaitingRow> =>
      db.prepare<Bind, WaitingRow>(`SELECT ${COLUMNS} FROM waiting ${rest}`).safeIntegers()
    this.#is = db
      .prepare<[number], number>(`SELECT 1 FROM waiting WHERE arrival = ? AND kind <> ${CHANGE}`)
      .pluck()
    this.#until = db.prepare<[number], number>('SELECT due_ms FROM waiting WHERE arrival = ?').pluck()
    this.#isBehind = db
      .prepare<[number], number>('SELECT behind_until_ms IS NOT NULL FROM waiting WHERE arrival = ?')
      .pluck()
    this.#wake = db.prepare('UPDATE waiting SET due_ms = 0 WHERE arrival = ?')
    this.#forCpid = rows('WHERE cpid = +? ORDER BY arrival')
    this.#forParent = rows('WHERE origin = +? AND parent_id = +? ORDER BY arrival')
    this.#due = rows('WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT ?')
    this.#delete = db
      .prepare<[number], number>('DELETE FROM waiting WHERE arrival = ? RETURNING origin IS -1')
      .pluck()
    this.#countTold = db.prepare<[], number>(`SELECT count(*) FROM waiting WHERE origin = ${TOLD}`).pluck()
  }

  add(waiting: Waiting, dueMs: number): void {
    const { arrival, kind, cpid, origin, parentId, behindUntilMs } = waiting
    const isTold = kind === 'change' && parentId !== undefined
    const of = isTold ? TOLD : (origin ?? null)
    const numbers = [arrival, KINDS.indexOf(kind), cpid ?? null, of, parentId ?? null, behindUntilMs ?? null]
    this.#insert.run(...numbers, dueMs)
    if (isTold && this.#told !== undefined) this.#told++
  }

  hasSpan(arrival: number): boolean {
    return this.#is.get(arrival) === 1
  }

  untilOf(arrival: number): number | undefined {
    return this.#until.get(arrival)
  }

  isBehind(arrival: number): boolean {
    return this.#isBehind.get(arrival) === 1
  }

  wake(arrival: number): void {
    this.#wake.run(arrival)
  }

  remove(arrival: number): boolean {
    const wasTold = this.#delete.get(arrival)
    if (wasTold === 1 && this.#told !== undefined) this.#told--
    return wasTold !== undefined
  }

  forCpid(cpid: number): Waiting[] {
    return this.#forCpid.all(cpid).map(waitingOf)
  }

  forParent(origin: number, parentId: bigint): Waiting[] {
    return this.#forParent.all(origin, parentId).map(waitingOf)
  }

  changesToldBy(spanId: bigint): Waiting[] {
    this.#told ??= this.#countTold.get() ?? 0
    return this.#told === 0 ? [] : this.forParent(TOLD, spanId)
  }

  due(limit: number): Waiting[] {
    return this.#due.all(this.#progress.activeMs, limit).map(waitingOf)
  }

  /** After a rollback, or when someone else wrote. */
  forget(): void {
    this.#told = undefined
  }
}

function waitingOf(row: WaitingRow): Waiting {
  return {
    arrival: Number(row.arrival),
    kind: KINDS[Number(row.kind)] ?? 'span',
    cpid: row.cpid === null ? undefined : Number(row.cpid),
    origin: row.origin === null || row.origin === BigInt(TOLD) ? undefined : Number(row.origin),
    parentId: row.parent_id ?? undefined,
    behindUntilMs: row.behind_until_ms === null ? undefined : Number(row.behind_until_ms),
  }
}
