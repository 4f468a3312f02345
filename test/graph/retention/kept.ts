import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { check, same } from './faults.ts'
import type { LifeSettings } from './life.ts'

type Row = Record<string, unknown>

const IN_OPEN = `FROM traces t JOIN change_spans s ON s.trace = t.id JOIN cpids c ON c.id = s.cpid`

/** What pruning may not touch unless it is forced to, whatever the limits. */
const HELD: Readonly<Record<string, string>> = {
  'a span that is not linked': `SELECT * FROM spans WHERE id > (SELECT linked_arrival FROM progress)`,
  'a log record that is not linked': `SELECT * FROM logs WHERE id > (SELECT linked_arrival FROM progress)`,
  'a mergelog that is not linked': `SELECT * FROM mergelogs WHERE arrival > (SELECT linked_arrival FROM progress)`,
  'a span that waits': `SELECT s.* FROM spans s JOIN waiting w ON w.arrival = s.id WHERE w.kind <> 1`,
  'what waits': `SELECT * FROM waiting`,
  'a log record that waits': `SELECT l.*, w.due_ms FROM logs l JOIN waiting_logs w ON w.arrival = l.id`,
  'an open trace': `SELECT * FROM traces WHERE state = 0`,
  'a CPID in an open trace': `SELECT c.uuid, c.state, t.id ${IN_OPEN} WHERE t.state = 0`,
  'a mergelog in an open trace': `SELECT m.* ${IN_OPEN} JOIN mergelogs m ON m.cpid = c.id WHERE t.state = 0`,
  'what was sent into an open trace': `SELECT o.* FROM traces t JOIN outbox o ON o.trace = t.id WHERE t.state = 0`,
  'a span in an open trace': `SELECT s.* FROM traces t JOIN outbox o ON o.trace = t.id JOIN spans s ON s.id = o.span
    WHERE t.state = 0`,
  'what was written in an open trace': `SELECT w.* FROM traces t JOIN trace_writes w ON w.trace = coalesce(t.continues, t.id)
    WHERE t.state = 0`,
  'a parent awaited by an open trace': `SELECT a.* FROM traces t JOIN awaited_parents a ON a.trace = t.id
    WHERE t.state = 0 AND a.since_ms > (SELECT active_ms FROM progress) - 3000000`,
}

/** What may go only with what it belongs to. */
interface Belonging {
  spans: { id: number; cpid: number | null }[]
  brought: { span: number; trace: number }[]
  logs: { id: number; cpid: number | null }[]
  cpids: { id: number; mergelog: number | null; seenMs: number; marked: number }[]
  traces: { id: number }[]
}

const BELONGING = {
  spans: `SELECT id, cpid FROM spans`,
  traces: `SELECT id FROM traces`,
  brought: `SELECT o.span, o.trace FROM outbox o JOIN spans s ON s.id = o.span WHERE o.trace <> 0 AND s.cpid IS NULL`,
  logs: `SELECT id, cpid FROM logs`,
  cpids: `SELECT c.id, m.arrival AS mergelog, c.first_seen_ms AS seenMs, c.prune_ns < 0 AS marked
    FROM cpids c LEFT JOIN mergelogs m ON m.cpid = c.id WHERE c.state = 0`,
}

/** When an arrival came, in Unix milliseconds. */
type ArrivedMs = (arrival: number) => number

/** What is there before pruning, to be compared with what is left. */
export class Kept {
  readonly #db: Sqlite
  readonly #held: Map<string, Row[]>
  readonly #before: Belonging

  constructor(db: Sqlite) {
    this.#db = db
    this.#held = heldIn(db)
    this.#before = belongingIn(db)
  }

  /** Throws where something is gone that had to stay, or without need. */
  expect(settings: LifeSettings, nowMs: number, arrivedMs: ArrivedMs): void {
    const held = heldIn(this.#db)
    for (const [what, rows] of this.#held) same(held.get(what) ?? [], rows, `pruning changed ${what}`)
    const after = belongingIn(this.#db)
    this.#expectWholeCpids(after)
    if (settings.bytesAbove === 0) this.#expectNeeded(after, settings, nowMs, arrivedMs)
  }

  /** Throws where anything went: what was done was undone. */
  expectUntouched(): void {
    same([belongingIn(this.#db)], [this.#before], 'what was broken off has changed something')
    same([...heldIn(this.#db)], [...this.#held], 'what was broken off has changed something')
  }

  /** A CPID that stays keeps all it has; so does a trace, of what has no CPID of its own. */
  #expectWholeCpids(after: Belonging): void {
    const staying = new Set(after.cpids.flatMap(({ id, marked }) => (marked === 1 ? [] : [id])))
    const marked = new Set(this.#before.cpids.flatMap((cpid) => (cpid.marked === 1 ? [cpid.id] : [])))
    const traces = new Set(after.traces.map(({ id }) => id))
    for (const kind of ['spans', 'logs'] as const) {
      const left = new Set(after[kind].map(({ id }) => id))
      for (const { id, cpid } of this.#before[kind]) {
        const isWhole = cpid === null || marked.has(cpid) || !staying.has(cpid) || left.has(id)
        check(isWhole, `pruning took ${id} of the ${kind} of CPID ${cpid}, which stays`)
      }
    }
    const left = new Set(after.spans.map(({ id }) => id))
    for (const { span, trace } of this.#before.brought)
      check(left.has(span) || !traces.has(trace), `pruning took span ${span}, which stands in trace ${trace}`)
  }

  /** Nothing goes before its time, or while the limits leave room. */
  #expectNeeded(after: Belonging, settings: LifeSettings, nowMs: number, arrivedMs: ArrivedMs): void {
    const { maxAgeMs, maxCpids } = settings
    const { spans, cpids, logs, brought } = this.#before
    const isOld = (ms: number): boolean => maxAgeMs > 0 && ms <= nowMs - maxAgeMs
    const isTooMany = maxCpids > 0 && cpids.length > maxCpids
    const stayed = new Set(after.cpids.map(({ id }) => id))
    for (const { id, mergelog, seenMs, marked } of cpids) {
      if (marked === 1 || stayed.has(id)) continue
      const arrivals = [...spans.filter(({ cpid }) => cpid === id).map((span) => span.id), mergelog ?? 0]
      const lastMs = Math.max(...arrivals.map((arrival) => (arrival === 0 ? 0 : arrivedMs(arrival))))
      check(isTooMany || isOld(lastMs || seenMs), `pruning took CPID ${id} without need`)
    }
    const left = {
      spans: new Set(after.spans.map(({ id }) => id)),
      logs: new Set(after.logs.map(({ id }) => id)),
    }
    const inTraces = new Set(brought.map(({ span }) => span))
    for (const [kind, rows] of Object.entries({ spans, logs })) {
      for (const { id, cpid } of rows) {
        if (cpid !== null || left[kind === 'spans' ? 'spans' : 'logs'].has(id)) continue
        const goesWithTrace = kind === 'spans' && inTraces.has(id)
        check(
          goesWithTrace || isOld(arrivedMs(id)),
          `pruning took ${id} of the ${kind} without a CPID before its time`,
        )
      }
    }
  }
}

const statements = new WeakMap<Sqlite, Map<string, Statement>>()

/** Each is prepared once. */
function rowsOf(db: Sqlite, sql: string): Row[] {
  const prepared = statements.get(db) ?? new Map<string, Statement>()
  statements.set(db, prepared)
  const statement: Statement = prepared.get(sql) ?? db.prepare(sql)
  prepared.set(sql, statement)
  return statement.all() as Row[]
}

function heldIn(db: Sqlite): Map<string, Row[]> {
  return new Map(Object.entries(HELD).map(([what, sql]) => [what, rowsOf(db, sql)]))
}

function belongingIn(db: Sqlite): Belonging {
  const rows = Object.fromEntries(Object.entries(BELONGING).map(([what, sql]) => [what, rowsOf(db, sql)]))
  return rows as unknown as Belonging
}
