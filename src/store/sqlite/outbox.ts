import type { LogOutboxItem, LogOutboxReader } from '../../model/linking-ports.ts'
import { type Cpid, cpidOfBytes } from '../../model/merge-graph.ts'
import type { Signal } from '../../model/otlp-requests.ts'
import { spanIdBytes } from '../../model/otlp/encode-telemetry.ts'
import { envelopeBytes } from '../../model/otlp/outgoing-records.ts'
import {
  type Decisions,
  type OutboxItem,
  type OutboxReader,
  type PlacementInTrace,
  type ScopeEnvelopes,
  SENT_COPY,
  SENT_FOR_CHILD,
  SENT_INHERITED_CPID,
  SENT_PATCHED,
  SENT_SYNTHETIC,
  SENT_UNDRIVEN,
  type SpanDecision,
  type SyntheticDecision,
} from '../../model/outbox.ts'
import type { PositionStore } from '../../model/store-ports.ts'
import { MIB } from '../../model/time-and-size.ts'
import { GenerationCache } from './generation-cache.ts'
import { LOG_WITHOUT_SPAN_ID } from './linked-logs.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { WriterTable } from './transactions.ts'

const SPANS = 30_000

/** Flags of decisions that send a span into a trace whose root does not drive it. */
export const NO_ACTIVITY = SENT_UNDRIVEN | SENT_FOR_CHILD

interface PlacedRow {
  parent_id: bigint
  flags: bigint
  cause: bigint | null
  cause_trace: bigint | null
}

/** Writes decisions, and caches which spans were sent into which traces. */
export class DecisionTable extends WriterTable implements Decisions {
  readonly #insert = this.db.prepare(
    `INSERT INTO outbox (decision, trace, span, parent_id, flags, scope, extra, cause, cause_trace)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #placed = this.exactRows<[number, number], PlacedRow>(
    'SELECT parent_id, flags, cause, cause_trace FROM outbox WHERE trace = ? AND span = ?',
  )
  readonly #sent = this.column<[number, number], number>('SELECT 1 FROM outbox WHERE trace = ? AND span = ?')
  readonly #ownSent = this.db.prepare<[number, Buffer]>(
    'SELECT 1 FROM outbox WHERE trace = ? AND span IS NULL AND instr(extra, ?)',
  )
  readonly #traces = this.column<[{ span: number }], number>(
    `SELECT t.trace FROM spans s JOIN change_spans t ON t.cpid = s.cpid
       JOIN outbox o ON o.trace = t.trace AND o.span = s.id WHERE s.id = +@span
       UNION SELECT trace FROM outbox WHERE span = +@span AND flags & ${SENT_FOR_CHILD} ORDER BY 1`,
  )
  readonly #driven = this.column<[number], number>(
    `SELECT t.trace FROM spans s JOIN change_spans t ON t.cpid = s.cpid
       JOIN outbox o ON o.trace = t.trace AND o.span = s.id AND o.flags & ${NO_ACTIVITY} = 0
       WHERE s.id = +? ORDER BY 1`,
  )
  /** For spans first linked by this process: the traces into which they were sent; negative if they are no activity there. */
  readonly #sentTo = new GenerationCache<number, number[]>(SPANS)
  /** For these spans: the depth in the trace into which they were sent last. */
  readonly #depths = new GenerationCache<number, { trace: number; depth: number }>(SPANS)

  /** Notes that a span is linked for the first time, so that it was not sent yet. */
  firstLinked(row: number): void {
    this.#sentTo.set(row, [])
  }

  wasSent(trace: number, row: number): boolean {
    const known = this.#sentTo.get(row)
    if (known !== undefined) return known.includes(trace) || known.includes(-trace)
    return this.#sent.get(trace, row) === 1
  }

  wasOwnSent(trace: number, spanId: bigint): boolean {
    return this.#ownSent.get(trace, spanIdBytes(spanId)) !== undefined
  }

  isUnsent(row: number): boolean {
    return this.#sentTo.get(row)?.length === 0
  }

  depthIn(trace: number, row: number): number | undefined {
    const known = this.#depths.get(row)
    return known?.trace === trace ? known.depth : undefined
  }

  tracesOfSpan(row: number): number[] {
    const known = this.#sentTo.get(row)
    return known?.flatMap((trace) => (trace === 0 ? [] : Math.abs(trace))) ?? this.#traces.all({ span: row })
  }

  tracesDriven(row: number): number[] {
    return this.#sentTo.get(row)?.filter((trace) => trace > 0) ?? this.#driven.all(row)
  }

  isUndriven(trace: number, row: number): boolean {
    return (Number(this.#placed.get(trace, row)?.flags) & SENT_UNDRIVEN) !== 0
  }

  placed(trace: number, row: number): PlacementInTrace | undefined {
    const found = this.#placed.get(trace, row)
    return (
      found && {
        parentId: found.parent_id,
        cause: found.cause === null ? undefined : Number(found.cause),
        causeTrace: found.cause_trace === null ? undefined : Number(found.cause_trace),
      }
    )
  }

  send(decision: SpanDecision): void {
    const { trace, span, parentId, flags, extra, cause, causeTrace, depth } = decision
    this.#insert.run(
      this.progress.nextDecision(),
      trace,
      span,
      parentId,
      flags,
      null,
      extra ?? null,
      cause ?? null,
      causeTrace ?? null,
    )
    if (depth !== undefined) this.#depths.set(span, { trace, depth })
    this.#sentTo.get(span)?.push((flags & NO_ACTIVITY) === 0 ? trace : -trace)
  }

  sendSynthetic(decision: SyntheticDecision): void {
    const { trace, parentId, scope, bytes, above } = decision
    this.progress.scopeUses.add(scope)
    this.#insert.run(
      this.progress.nextDecision(),
      trace,
      null,
      parentId,
      SENT_SYNTHETIC,
      scope,
      bytes,
      above?.spanId ?? null,
      above?.trace ?? null,
    )
  }

  forget(): void {
    this.#sentTo.clear()
    this.#depths.clear()
  }
}

const SCOPES = 5_000
const SCOPE_BYTES = 16 * MIB
/** The most bytes that are read at a time, plus one more item. Items and envelopes may be as long as a request. */
const AT_ONCE_BYTES = 16 * MIB
const TRACES = 20_000
/** The most items of a page, and the most bytes unless a single item is larger. */
const ITEMS_A_PAGE = 500
const PAGE_BYTES = MIB
const LEAST = -(2n ** 63n)

const COLUMNS = `outbox.decision, outbox.trace, outbox.parent_id, outbox.flags, outbox.scope, outbox.extra,
  spans.raw, spans.scope, spans.cpid`

/** The columns of a decision. `extra` holds the bytes of Causeway's own spans. */
export type DecisionRow = [
  ...[decision: bigint, trace: bigint, parentId: bigint, flags: bigint],
  ...[scope: bigint | null, extra: Buffer | null],
]
type ItemRow = [...DecisionRow, raw: Buffer | null, scope: bigint | null, cpid: bigint | null]

/** Reads the outbox through its own connection. */
export class SqliteOutbox extends OnConnection implements OutboxReader {
  readonly #after = this.exactRows<[number, number], ItemRow>(
    `SELECT ${COLUMNS} FROM outbox LEFT JOIN spans ON spans.id = outbox.span
       WHERE outbox.decision > ? ORDER BY outbox.decision LIMIT ?`,
  ).raw()
  readonly #envelopes = this.db.prepare<[number], { resource_id: number; resource: Buffer; scope: Buffer }>(
    `SELECT scopes.resource AS resource_id, resources.envelope AS resource, scopes.envelope AS scope
       FROM scopes JOIN resources ON resources.id = scopes.resource WHERE scopes.id = ?`,
  )
  readonly #traceId = this.column<[number], Buffer>('SELECT trace_id FROM traces WHERE id = ?')
  readonly #uuid = this.column<[number], Buffer>('SELECT uuid FROM cpids WHERE id = ?')
  readonly #ofDecision = this.exactRows<[number], ItemRow>(
    `SELECT ${COLUMNS} FROM outbox LEFT JOIN spans ON spans.id = outbox.span WHERE outbox.decision = +?`,
  ).raw()
  readonly #decisions = this.column<[number], number>(
    'SELECT decision FROM outbox WHERE trace = ? ORDER BY 1',
  )
  readonly #decisionsOfSpan = this.column<[number, bigint], number>(
    `SELECT outbox.decision FROM outbox CROSS JOIN spans ON spans.id = outbox.span
       WHERE outbox.trace = ? AND spans.span_id = ? ORDER BY 1`,
  )
  readonly #ownDecisions = this.column<[number], number>(
    'SELECT decision FROM outbox WHERE trace = ? AND span IS NULL ORDER BY 1',
  )
  readonly #ofTrace = this.exactRows<[number, bigint], ItemRow>(
    `SELECT ${COLUMNS} FROM outbox LEFT JOIN spans ON spans.id = outbox.span
       WHERE outbox.trace = ? AND outbox.decision > ? ORDER BY outbox.decision`,
  ).raw()
  // CROSS JOIN: otherwise SQLite begins with all decisions that forwarded a span.
  readonly #ofOrigin = this.exactRows<[number, bigint, bigint], [...ItemRow, spanId: bigint, id: bigint]>(
    `SELECT ${COLUMNS}, spans.span_id, spans.id
       FROM spans CROSS JOIN outbox ON outbox.trace = 0 AND outbox.span = spans.id
       WHERE spans.origin = ? AND (spans.span_id, spans.id) > (?, ?) ORDER BY spans.span_id, spans.id`,
  ).raw()
  readonly #scopeCache = new GenerationCache<number, ScopeEnvelopes>(SCOPES, {
    most: SCOPE_BYTES,
    of: envelopeBytes,
  })
  readonly #traceCache = new GenerationCache<number, Buffer>(TRACES)

  /** Reads all rows of the decisions in one transaction, since retention may remove them right after. */
  after(position: number, limit: number): OutboxItem[] {
    return this.inOneMoment(() =>
      this.upToBytes(this.#after.iterate(position, limit), (row) => this.#itemOf(row)),
    )
  }

  /** Makes items from rows, and reads their envelopes, up to the limit of bytes. */
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
    return this.db.transaction(read)()
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

  /** The decisions that sent something into a trace, in order. */
  decisionsOf(trace: number): number[] {
    return this.#decisions.all(trace)
  }

  /** The decisions that sent received spans with this id, and those that sent Causeway's own spans. */
  decisionsOfSpan(trace: number, spanId: bigint): { received: number[]; own: number[] } {
    return { received: this.#decisionsOfSpan.all(trace, spanId), own: this.#ownDecisions.all(trace) }
  }

  /** The items sent into a trace of a cascade, in order. */
  *itemsOfTrace(trace: number, read: { add(bytes: number): void }): Generator<OutboxItem[]> {
    let after = 0n
    const rows = (): Iterable<ItemRow> => this.#ofTrace.iterate(trace, after)
    yield* this.#pages(rows, read, ([decision]) => (after = decision))
  }

  /** The items forwarded in an original trace. Within a page they are in order of arrival. */
  *itemsOfOrigin(origin: number, read: { add(bytes: number): void }): Generator<OutboxItem[]> {
    let after: [spanId: bigint, id: bigint] = [LEAST, 0n]
    const rows = (): Iterable<[...ItemRow, spanId: bigint, id: bigint]> =>
      this.#ofOrigin.iterate(origin, ...after)
    yield* this.#pages(rows, read, (row) => {
      after = [row[9], row[10]]
      return row[10]
    })
  }

  /** Rows are read in the order that is fastest; each page is sorted by what `note` returns. */
  *#pages<Row extends readonly [...ItemRow, ...unknown[]]>(
    rowsLeft: () => Iterable<Row>,
    read: { add(bytes: number): void },
    note: (row: Row) => bigint,
  ): Generator<OutboxItem[]> {
    for (;;) {
      const items: { order: number; item: OutboxItem }[] = []
      let bytes = 0
      for (const row of rowsLeft()) {
        const item = this.#itemOf(row)
        items.push({ item, order: Number(note(row)) })
        const length = (item.raw?.length ?? 0) + (item.extra?.length ?? 0)
        bytes += length
        read.add(length)
        if (items.length >= ITEMS_A_PAGE || bytes >= PAGE_BYTES) break
      }
      const isLast = items.length < ITEMS_A_PAGE && bytes < PAGE_BYTES
      yield items.sort((a, b) => a.order - b.order).map(({ item }) => item)
      if (isLast) return
    }
  }

  /** What a decision sent; undefined if it was pruned. */
  item(decision: number): OutboxItem | undefined {
    const row = this.#ofDecision.get(decision)
    return row && this.#itemOf(row)
  }

  #itemOf([decision, trace, parentId, flags, ownScope, extra, raw, spanScope, cpid]: readonly [
    ...ItemRow,
    ...unknown[],
  ]): OutboxItem {
    const span = {
      raw: raw ?? undefined,
      scope: Number(spanScope ?? 0n),
      cpid: (Number(flags) & SENT_INHERITED_CPID) !== 0 && cpid !== null ? this.#cpidOf(Number(cpid)) : null,
    }
    return this.itemWith([decision, trace, parentId, flags, ownScope, extra], span)
  }

  /** The item of a decision whose span may have been read elsewhere. */
  itemWith(
    [decision, trace, parentId, flagBits, ownScope, extra]: DecisionRow,
    span: { raw: Buffer | undefined; scope: number; cpid: Cpid | null | undefined } | undefined,
  ): OutboxItem {
    const flags = Number(flagBits)
    const synthetic = (flags & SENT_SYNTHETIC) !== 0
    return {
      decision: Number(decision),
      raw: synthetic ? (extra ?? undefined) : span?.raw,
      synthetic,
      scope: ownScope === null ? (span?.scope ?? 0) : Number(ownScope),
      traceId: trace === 0n ? undefined : this.#traceIdOf(Number(trace)),
      parentId,
      copy: (flags & SENT_COPY) !== 0,
      inherited: (flags & SENT_INHERITED_CPID) !== 0 ? (span?.cpid ?? undefined) : undefined,
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

interface LogItemRow {
  decision: number
  trace_id: Buffer | null
  flags: number
  raw: Buffer | null
  scope: number | null
  uuid: Buffer | null
}

/** Reads the decisions about log records, through the connection of the outbox reader. */
export class SqliteLogOutbox extends OnConnection implements LogOutboxReader {
  readonly #outbox: Pick<SqliteOutbox, 'envelopes' | 'inOneMoment' | 'upToBytes'>
  readonly #after = this.db.prepare<[number, number], LogItemRow>(
    `SELECT log_outbox.decision, log_outbox.trace_id, log_outbox.flags, logs.raw, logs.scope, cpids.uuid
       FROM log_outbox LEFT JOIN logs ON logs.id = log_outbox.log
       LEFT JOIN cpids ON cpids.id = log_outbox.cpid
       WHERE log_outbox.decision > ? ORDER BY log_outbox.decision LIMIT ?`,
  )

  constructor(db: Sqlite, outbox: Pick<SqliteOutbox, 'envelopes' | 'inOneMoment' | 'upToBytes'>) {
    super(db)
    this.#outbox = outbox
  }

  after(position: number, limit: number): LogOutboxItem[] {
    return this.#outbox.inOneMoment(() =>
      this.#outbox.upToBytes(this.#after.iterate(position, limit), logItemOf),
    )
  }

  envelopes(scope: number): ScopeEnvelopes | undefined {
    return this.#outbox.envelopes(scope)
  }
}

function logItemOf({ decision, trace_id, flags, raw, scope, uuid }: LogItemRow): LogOutboxItem {
  return {
    decision,
    raw: raw ?? undefined,
    scope: scope ?? 0,
    traceId: trace_id ?? undefined,
    withoutSpanId: (flags & LOG_WITHOUT_SPAN_ID) !== 0,
    inherited: uuid === null ? undefined : cpidOfBytes(uuid),
  }
}

/** As many as one request to a backend may have, and more. Metrics are parts of requests, which may be large. */
const LOGS_AT_ONCE = 20_000
const METRICS_AT_ONCE = 100

const TABLES: Record<Signal, string> = {
  traces: 'exporters',
  logs: 'log_exporters',
  metrics: 'metric_exporters',
}

/** The outbox positions of the exporters of a signal. */
export class ExporterPositions extends OnConnection implements PositionStore {
  readonly #signal: Signal
  readonly #table: string
  readonly #sql: PreparedStatements

  constructor(db: Sqlite, signal: Signal) {
    super(db)
    this.#signal = signal
    this.#table = TABLES[signal]
    this.#sql = new PreparedStatements(db)
  }

  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns all positions. */
  keep(names: readonly string[], end: number): Map<string, number> {
    const known = this.db.prepare<[], { name: string }>(`SELECT name FROM ${this.#table}`).all()
    for (const { name } of known) {
      if (!names.includes(name)) this.db.prepare(`DELETE FROM ${this.#table} WHERE name = ?`).run(name)
    }
    const add = this.db.prepare(`INSERT OR IGNORE INTO ${this.#table} (name, position) VALUES (?, ?)`)
    for (const name of names) add.run(name, end)
    if (this.#signal === 'logs' && names.length === 0) this.db.exec('DELETE FROM waiting_logs')
    this.removeSent()
    return this.all()
  }

  all(): Map<string, number> {
    const rows = this.db
      .prepare<[], { name: string; position: number }>(`SELECT name, position FROM ${this.#table}`)
      .all()
    return new Map(rows.map((row) => [row.name, row.position]))
  }

  moveTo(name: string, position: number, refused: number): void {
    this.db
      .prepare(`UPDATE ${this.#table} SET position = ?, refused = refused + ? WHERE name = ?`)
      .run(position, refused, name)
    this.removeSent()
  }

  /**
   * Removes some of the decisions about log records or metrics that every exporter has sent, oldest first; true if there may be more.
   * Decisions about spans are kept.
   */
  removeSent(): boolean {
    if (this.#signal === 'traces') return false
    const [outbox, most] =
      this.#signal === 'logs' ? ['log_outbox', LOGS_AT_ONCE] : ['metric_outbox', METRICS_AT_ONCE]
    const sent = this.#sql.number(`SELECT min(position) FROM ${this.#table}`) ?? Number.MAX_SAFE_INTEGER
    const first = `SELECT decision FROM ${outbox} WHERE decision <= +? ORDER BY decision LIMIT ${most}`
    return this.#sql.run(`DELETE FROM ${outbox} WHERE decision IN (${first})`, sent) === most
  }
}
