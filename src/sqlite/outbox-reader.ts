import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../model/cpid.ts'
import { SENT_COPY, SENT_INHERITED_CPID, SENT_PATCHED, SENT_SYNTHETIC } from '../model/link-port.ts'
import type { OutboxItem, OutboxReader, ScopeEnvelopes } from '../model/outbox-port.ts'
import { GenerationCache } from './generation-cache.ts'
import type { Sqlite } from './open-database.ts'

const SCOPES = 5_000
const TRACES = 20_000

type ItemRow = [
  bigint,
  bigint,
  bigint,
  bigint,
  bigint | null,
  Buffer | null,
  Buffer | null,
  bigint | null,
  bigint | null,
]

/** Reads the outbox through a connection of its own. */
export class SqliteOutbox implements OutboxReader {
  readonly #after: Statement<[number, number], ItemRow>
  readonly #envelopes: Statement<[number], { resource_id: number; resource: Buffer; scope: Buffer }>
  readonly #traceId: Statement<[number], Buffer>
  readonly #uuid: Statement<[number], Buffer>
  readonly #count: Statement<[number], number>
  readonly #scopeCache = new GenerationCache<number, ScopeEnvelopes>(SCOPES)
  readonly #traceCache = new GenerationCache<number, Buffer>(TRACES)

  constructor(db: Sqlite) {
    this.#after = db
      .prepare<[number, number], ItemRow>(
        `SELECT o.decision, o.trace, o.parent_id, o.flags, o.scope, o.extra, s.raw, s.scope, s.cpid
         FROM outbox o LEFT JOIN spans s ON s.id = o.span WHERE o.decision > ? ORDER BY o.decision LIMIT ?`,
      )
      .raw()
      .safeIntegers()
    this.#envelopes = db.prepare(
      `SELECT s.resource AS resource_id, r.envelope AS resource, s.envelope AS scope
       FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?`,
    )
    this.#traceId = db.prepare<[number], Buffer>('SELECT trace_id FROM traces WHERE id = ?').pluck()
    this.#uuid = db.prepare<[number], Buffer>('SELECT uuid FROM cpids WHERE id = ?').pluck()
    this.#count = db.prepare<[number], number>('SELECT count(*) FROM outbox WHERE decision > ?').pluck()
  }

  after(position: number, limit: number): OutboxItem[] {
    return this.#after.all(position, limit).map((row) => this.#itemOf(row))
  }

  envelopes(scope: number): ScopeEnvelopes | undefined {
    const cached = this.#scopeCache.get(scope)
    if (cached !== undefined) return cached
    const row = this.#envelopes.get(scope)
    if (row === undefined) return undefined
    const envelopes = { resourceId: row.resource_id, resource: row.resource, scope: row.scope }
    this.#scopeCache.set(scope, envelopes)
    return envelopes
  }

  countAfter(position: number): number {
    return this.#count.get(position) ?? 0
  }

  #itemOf([decision, trace, parentId, flagBits, ownScope, extra, raw, spanScope, cpid]: ItemRow): OutboxItem {
    const flags = Number(flagBits)
    const synthetic = (flags & SENT_SYNTHETIC) !== 0
    return {
      decision: Number(decision),
      raw: (synthetic ? extra : raw) ?? undefined,
      synthetic,
      scope: Number(ownScope ?? spanScope ?? 0n),
      traceId: trace === 0n ? undefined : this.#traceIdOf(Number(trace)),
      parentId,
      copy: (flags & SENT_COPY) !== 0,
      inherited:
        (flags & SENT_INHERITED_CPID) !== 0 && cpid !== null ? this.#cpidOf(Number(cpid)) : undefined,
      extra: (flags & SENT_PATCHED) !== 0 ? (extra ?? undefined) : undefined,
    }
  }

  #traceIdOf(trace: number): Buffer | undefined {
    const cached = this.#traceCache.get(trace)
    if (cached !== undefined) return cached
    const id = this.#traceId.get(trace)
    if (id !== undefined) this.#traceCache.set(trace, id)
    return id
  }

  #cpidOf(cpid: number): OutboxItem['inherited'] {
    const uuid = this.#uuid.get(cpid)
    return uuid === undefined ? undefined : cpidOfBytes(uuid)
  }
}
