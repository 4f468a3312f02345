import type { Statement } from 'better-sqlite3'
import type { ChangeSpan, ChangeSpans } from '../../model/ports/linking/changes.ts'
import { GenerationCache } from '../generation-cache.ts'
import type { Sqlite } from '../open-database.ts'

const CHANGES = 20_000

interface ChangeRow {
  trace: bigint
  span_id: bigint
  depth: bigint
}

/** Which change span a CPID has in which trace. */
export class ChangeSpanTable implements ChangeSpans {
  readonly #cache = new GenerationCache<string, ChangeSpan>(CHANGES)
  readonly #one: Statement<[number, number], ChangeRow>
  readonly #newest: Statement<[number, number], ChangeRow>
  readonly #cpids: Statement<[number], number>
  readonly #insert: Statement

  constructor(db: Sqlite) {
    const changes = <Bind extends unknown[]>(rest: string): Statement<Bind, ChangeRow> =>
      db.prepare<Bind, ChangeRow>(`SELECT trace, span_id, depth FROM change_spans ${rest}`).safeIntegers()
    this.#one = changes('WHERE cpid = ? AND trace = ?')
    this.#newest = changes('WHERE cpid = +? ORDER BY trace DESC LIMIT +?')
    this.#cpids = db
      .prepare<[number], number>('SELECT cpid FROM change_spans WHERE trace = +? ORDER BY depth, cpid')
      .pluck()
    this.#insert = db.prepare('INSERT INTO change_spans (cpid, trace, span_id, depth) VALUES (?, ?, ?, ?)')
  }

  find(cpid: number, trace: number): ChangeSpan | undefined {
    const key = `${cpid} ${trace}`
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const row = this.#one.get(cpid, trace)
    if (row === undefined) return undefined
    const change = changeOf(row)
    this.#cache.set(key, change)
    return change
  }

  newest(cpid: number, most: number): ChangeSpan[] {
    return this.#newest.all(cpid, most).map(changeOf)
  }

  cpidsIn(trace: number): number[] {
    return this.#cpids.all(trace)
  }

  add(cpid: number, change: ChangeSpan): void {
    this.#insert.run(cpid, change.trace, change.spanId, change.depth)
    this.#cache.set(`${cpid} ${change.trace}`, change)
  }

  forget(): void {
    this.#cache.clear()
  }
}

function changeOf(row: ChangeRow): ChangeSpan {
  return { trace: Number(row.trace), spanId: row.span_id, depth: Number(row.depth) }
}
