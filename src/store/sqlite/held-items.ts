import { type Cpid, cpidBytes } from '../../model/merge-graph.ts'
import type { HeldItem, HeldItems, WorkedOutMergelog } from '../../model/reported-writes.ts'
import type { Cached } from '../../model/store-ports.ts'
import { WriterTable } from './transactions.ts'

/** The most items and worked-out mergelogs together. Some places are reserved for items. */
const MOST = 10_000
const MOST_WORKED_OUT = 8_000
const MOST_BYTES = 8 * 1024
/** How long an item is held: a watch reports a version within a second, and linking waits ten for a mergelog. */
const WAIT_MS = 5_000

interface HeldRow {
  readonly signal: number
  readonly request: Buffer
  readonly sender: string | null
}

/** In column `signal`: a worked-out mergelog. 0 and 1 are the signals of other items. */
const WORKED_OUT = 2

interface HeldCounts {
  all: number
  workedOut: number
}

/** Items that wait for a decision of inference. */
export class HeldItemTable extends WriterTable implements HeldItems, Cached {
  /** Undefined until counted. */
  #counts: HeldCounts | undefined
  readonly #count = this.db.prepare<[], HeldCounts>(
    `SELECT count(*) AS "all", count(*) FILTER (WHERE signal = ${WORKED_OUT}) AS workedOut FROM held_items`,
  )
  readonly #isAny = this.column<[], number>('SELECT 1 FROM held_items LIMIT 1')
  readonly #isDue = this.column<[number], number>('SELECT 1 FROM held_items WHERE due_ms <= +? LIMIT 1')
  readonly #hold = this.db.prepare<[Buffer, number, Buffer, string | null, number]>(
    'INSERT INTO held_items (cpid, signal, request, sender, due_ms) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #take = this.db.prepare<[Buffer], HeldRow>(
    `SELECT signal, request, sender FROM held_items WHERE cpid = +? AND signal <> ${WORKED_OUT} ORDER BY id`,
  )
  readonly #drop = this.db.prepare<[Buffer]>(
    `DELETE FROM held_items WHERE cpid = +? AND signal <> ${WORKED_OUT}`,
  )
  readonly #due = this.db.prepare<[number, number], HeldRow & { id: number }>(
    'SELECT id, signal, request, sender FROM held_items WHERE due_ms <= +? ORDER BY due_ms, id LIMIT +?',
  )
  readonly #dropOne = this.db.prepare<[number]>('DELETE FROM held_items WHERE id = ?')

  get areThere(): boolean {
    return this.#isAny.get() === 1
  }

  /** Works outside transactions. */
  get areDue(): boolean {
    return this.#isDue.get(this.progress.activeMs) === 1
  }

  hold(cpid: Cpid, { signal, request, sender }: HeldItem): boolean {
    if (request.length > MOST_BYTES || this.#counted.all >= MOST) return false
    const dueMs = Math.ceil(this.progress.activeMs) + WAIT_MS
    this.#hold.run(cpidBytes(cpid), signal === 'logs' ? 1 : 0, request, sender ?? null, dueMs)
    this.#counted.all++
    return true
  }

  take(cpid: Cpid): HeldItem[] {
    const held = this.#take.all(cpidBytes(cpid)).map(itemOf)
    if (held.length === 0) return held
    // Counted before the rows are deleted, since the count may be read only now.
    this.#counted.all -= held.length
    this.#drop.run(cpidBytes(cpid))
    return held
  }

  holdWorkedOut(
    mergelog: WorkedOutMergelog,
    waitMs: number,
    sinceMs: number | undefined = this.progress.activeMs,
  ): void {
    const row = Buffer.from(JSON.stringify(mergelog))
    const counts = this.#counted
    if (row.length > MOST_BYTES || counts.all >= MOST || counts.workedOut >= MOST_WORKED_OUT) return
    this.#hold.run(cpidBytes(mergelog.cpid), WORKED_OUT, row, null, Math.ceil(sinceMs + waitMs))
    counts.all++
    counts.workedOut++
  }

  takeDue(most: number): (HeldItem | WorkedOutMergelog)[] {
    const due = this.#due.all(this.progress.activeMs, most)
    const counts = this.#counted
    for (const { id, signal } of due) {
      this.#dropOne.run(id)
      counts.all--
      if (signal === WORKED_OUT) counts.workedOut--
    }
    return due.map((row) =>
      row.signal === WORKED_OUT ? (JSON.parse(row.request.toString()) as WorkedOutMergelog) : itemOf(row),
    )
  }

  forget(): void {
    this.#counts = undefined
  }

  get #counted(): HeldCounts {
    return (this.#counts ??= this.#count.get() ?? { all: 0, workedOut: 0 })
  }
}

function itemOf({ signal, request, sender }: HeldRow): HeldItem {
  return { signal: signal === 1 ? 'logs' : 'traces', request, sender: sender ?? undefined }
}
