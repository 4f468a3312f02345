import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../model/cpid.ts'
import {
  SENT_COPY,
  SENT_INHERITED_CPID,
  SENT_PATCHED,
  SENT_SYNTHETIC,
} from '../../model/ports/linking/decisions.ts'
import {
  envelopeBytes,
  type OutboxItem,
  type OutboxReader,
  type ScopeEnvelopes,
} from '../../model/ports/outbox-port.ts'
import { MIB } from '../../model/sizes.ts'
import { GenerationCache } from '../generation-cache.ts'
import type { Sqlite } from '../open-database.ts'

const SCOPES = 5_000
const SCOPE_BYTES = 16 * MIB
/** So much is read at a time, and one item more: items and envelopes may be as long as a request. */
const AT_ONCE_BYTES = 16 * MIB
const TRACES = 20_000

const COLUMNS = `outbox.decision, outbox.trace, outbox.parent_id, outbox.flags, outbox.scope, outbox.extra,
  spans.raw, spans.scope, spans.cpid`

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
  readonly #db: Sqlite
  readonly #after: Statement<[number, number], ItemRow>
  readonly #envelopes: Statement<[number], { resource_id: number; resource: Buffer; scope: Buffer }>
  readonly #traceId: Statement<[number], Buffer>
  readonly #uuid: Statement<[number], Buffer>
  readonly #count: Statement<[number], number>
  readonly #ofDecision: Statement<[number], ItemRow>
  readonly #decisions: Statement<[number], number>
  readonly #decisionsOfSpan: Statement<[number, bigint], number>
  readonly #ownDecisions: Statement<[number], number>
  readonly #scopeCache = new GenerationCache<number, ScopeEnvelopes>(SCOPES, {
    most: SCOPE_BYTES,
    of: envelopeBytes,
  })
  readonly #traceCache = new GenerationCache<number, Buffer>(TRACES)

  constructor(db: Sqlite) {
    this.#db = db
    this.#after = db
      .prepare<[number, number], ItemRow>(
        `SELECT ${COLUMNS} FROM outbox LEFT JOIN spans ON spans.id = outbox.span
         WHERE outbox.decision > ? ORDER BY outbox.decision LIMIT ?`,
      )
      .raw()
      .safeIntegers()
    this.#ofDecision = db
      .prepare<[number], ItemRow>(
        `SELECT ${COLUMNS} FROM outbox LEFT JOIN spans ON spans.id = outbox.span WHERE outbox.decision = +?`,
      )
      .raw()
      .safeIntegers()
    this.#decisions = db
      .prepare<[number], number>('SELECT decision FROM outbox WHERE trace = ? ORDER BY 1')
      .pluck()
    this.#decisionsOfSpan = db
      .prepare<[number, bigint], number>(
        `SELECT outbox.decision FROM outbox CROSS JOIN spans ON spans.id = outbox.span
         WHERE outbox.trace = ? AND spans.span_id = ? ORDER BY 1`,
      )
      .pluck()
    this.#ownDecisions = db
      .prepare<[number], number>('SELECT decision FROM outbox WHERE trace = ? AND span IS NULL ORDER BY 1')
      .pluck()
    this.#envelopes = db.prepare(
      `SELECT scopes.resource AS resource_id, resources.envelope AS resource, scopes.envelope AS scope
       FROM scopes JOIN resources ON resources.id = scopes.resource WHERE scopes.id = ?`,
    )
    this.#traceId = db.prepare<[number], Buffer>('SELECT trace_id FROM traces WHERE id = ?').pluck()
    this.#uuid = db.prepare<[number], Buffer>('SELECT uuid FROM cpids WHERE id = ?').pluck()
    this.#count = db.prepare<[number], number>('SELECT count(*) FROM outbox WHERE decision > ?').pluck()
  }

  /** Reads what belongs to the decisions at the same moment: retention may remove it at the next. */
  after(position: number, limit: number): OutboxItem[] {
    return this.inOneMoment(() =>
      this.upToBytes(this.#after.iterate(position, limit), (row) => this.#itemOf(row)),
    )
  }

  /** Items of rows, and the envelopes they need, until they are more bytes than are to be held at a time. */
  upToBytes<Row, Item extends { raw: Buffer | undefined; scope: number }>(
    rows: Iterable<Row>,
    itemOf: (row: Row) => Item,
  ): Item[] {
    const items: Item[] = []
    const scopes = new Set<number>()
    let bytes = 0
    for (const row of rows) {
      const item = itemOf(row)
      items.push(item)
      bytes += item.raw?.length ?? 0
      if (!scopes.has(item.scope)) {
        scopes.add(item.scope)
        const envelopes = this.envelopes(item.scope)
        bytes += envelopes === undefined ? 0 : envelopeBytes(envelopes)
      }
      if (bytes >= AT_ONCE_BYTES) break
    }
    return items
  }

  inOneMoment<T>(read: () => T): T {
    return this.#db.transaction(read)()
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

  /** The numbers of the decisions that sent something into a trace, in order. */
  decisionsOf(trace: number): number[] {
    return this.#decisions.all(trace)
  }

  /** Those that sent received spans with this id, and those that sent spans of Causeway's own making. */
  decisionsOfSpan(trace: number, spanId: bigint): { received: number[]; own: number[] } {
    return { received: this.#decisionsOfSpan.all(trace, spanId), own: this.#ownDecisions.all(trace) }
  }

  /** What this decision sent; undefined when it was pruned. */
  item(decision: number): OutboxItem | undefined {
    const row = this.#ofDecision.get(decision)
    return row && this.#itemOf(row)
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

  #traceIdOf(trace: number): Buffer | 'lost' {
    const cached = this.#traceCache.get(trace)
    if (cached !== undefined) return cached
    const id = this.#traceId.get(trace)
    if (id !== undefined) this.#traceCache.set(trace, id)
    return id ?? 'lost'
  }

  #cpidOf(cpid: number): OutboxItem['inherited'] {
    const uuid = this.#uuid.get(cpid)
    return uuid === undefined ? undefined : cpidOfBytes(uuid)
  }
}
