import type { Statement } from 'better-sqlite3'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { AwaitedParent, AwaitedParents } from '../../model/ports/linking/waiting.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import type { SpanReader } from './span-reader.ts'

interface AwaitedRow {
  trace: number
  cpid: number | null
  since_ms: number
}

interface Pending {
  origin: number
  spanId: bigint
  children: Map<number, AwaitedParent>
}

/**
 * Parents that had not arrived when their child was linked. Most arrive in the same round, child first as span
 * processors export them, so that what is awaited is written only when the round ends.
 */
export class AwaitedParentTable implements AwaitedParents {
  readonly #progress: Progress
  readonly #spans: Pick<SpanReader, 'isOfThisRound'>
  readonly #pending = new Map<string, Pending>()
  readonly #stored: Statement<[number, bigint], AwaitedRow>
  readonly #insert: Statement
  readonly #delete: Statement

  constructor(db: Sqlite, progress: Progress, spans: Pick<SpanReader, 'isOfThisRound'>) {
    this.#progress = progress
    this.#spans = spans
    this.#stored = db.prepare(
      'SELECT trace, cpid, since_ms FROM awaited_parents WHERE origin = ? AND span_id = ?',
    )
    this.#insert = db.prepare(
      'INSERT OR IGNORE INTO awaited_parents (origin, span_id, trace, cpid, since_ms) VALUES (?, ?, ?, ?, ?)',
    )
    this.#delete = db.prepare('DELETE FROM awaited_parents WHERE origin = ? AND span_id = ?')
  }

  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined): void {
    const key = `${origin} ${spanId}`
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = { origin, spanId, children: new Map() }
      this.#pending.set(key, pending)
    }
    if (!pending.children.has(trace))
      pending.children.set(trace, { trace, cpid, sinceMs: this.#progress.activeMs })
  }

  since(origin: number, spanId: bigint): number | undefined {
    const times = [...this.#stored.all(origin, spanId)].map((row) => row.since_ms)
    for (const child of this.#pending.get(`${origin} ${spanId}`)?.children.values() ?? [])
      times.push(child.sinceMs)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  take({ origin, spanId, awaited, row }: ArrivedSpan): AwaitedParent[] {
    const taken: AwaitedParent[] = []
    if (awaited || !this.#spans.isOfThisRound(row)) {
      for (const stored of this.#stored.all(origin, spanId)) {
        taken.push({ trace: stored.trace, cpid: stored.cpid ?? undefined, sinceMs: stored.since_ms })
      }
      if (taken.length > 0) this.#delete.run(origin, spanId)
    }
    if (this.#pending.size === 0) return taken
    const key = `${origin} ${spanId}`
    const pending = this.#pending.get(key)
    if (pending === undefined) return taken
    this.#pending.delete(key)
    for (const child of pending.children.values()) {
      if (!taken.some((stored) => stored.trace === child.trace)) taken.push(child)
    }
    return taken
  }

  flush(): void {
    for (const { origin, spanId, children } of this.#pending.values()) {
      for (const { trace, cpid, sinceMs } of children.values()) {
        this.#insert.run(origin, spanId, trace, cpid ?? null, sinceMs)
      }
    }
    this.#pending.clear()
  }

  forget(): void {
    this.#pending.clear()
  }
}
