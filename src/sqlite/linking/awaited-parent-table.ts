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
  driven: number
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
      'SELECT trace, cpid, since_ms, driven FROM awaited_parents WHERE origin = ? AND span_id = ?',
    )
    this.#insert = db.prepare(
      `INSERT INTO awaited_parents (origin, span_id, trace, cpid, since_ms, driven) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET driven = max(driven, excluded.driven)`,
    )
    this.#delete = db.prepare('DELETE FROM awaited_parents WHERE origin = ? AND span_id = ?')
  }

  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void {
    const key = `${origin} ${spanId}`
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = { origin, spanId, children: new Map() }
      this.#pending.set(key, pending)
    }
    const known = pending.children.get(trace)
    if (known === undefined || (driven && !known.driven)) {
      const sinceMs = known?.sinceMs ?? this.#progress.activeMs
      pending.children.set(trace, { trace, cpid: known === undefined ? cpid : known.cpid, sinceMs, driven })
    }
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
        const { trace, cpid, since_ms: sinceMs, driven } = stored
        taken.push({ trace, cpid: cpid ?? undefined, sinceMs, driven: driven === 1 })
      }
      if (taken.length > 0) this.#delete.run(origin, spanId)
    }
    if (this.#pending.size === 0) return taken
    const key = `${origin} ${spanId}`
    const pending = this.#pending.get(key)
    if (pending === undefined) return taken
    this.#pending.delete(key)
    for (const child of pending.children.values()) {
      const at = taken.findIndex((stored) => stored.trace === child.trace)
      const stored = taken[at]
      if (stored === undefined) taken.push(child)
      else if (child.driven && !stored.driven) taken[at] = { ...stored, driven: true }
    }
    return taken
  }

  flush(): void {
    for (const { origin, spanId, children } of this.#pending.values()) {
      for (const { trace, cpid, sinceMs, driven } of children.values()) {
        this.#insert.run(origin, spanId, trace, cpid ?? null, sinceMs, driven ? 1 : 0)
      }
    }
    this.#pending.clear()
  }

  forget(): void {
    this.#pending.clear()
  }
}
