import type { Statement } from 'better-sqlite3'
import {
  type ArrivalStore,
  type LogRecord,
  type MergelogArrival,
  type MergelogRecord,
  type RecordOrigin,
  type RefusedRecordOrigin,
  type RequestAnswer,
  type ServiceInCluster,
  SPAN_HAS_LINKS,
  SPAN_JOINS_OWN,
  SPAN_MALFORMED_CPID,
  SPAN_OBSERVED,
  SPAN_OF_CAUSEWAY,
  SPAN_SEEN_WRITE,
  SPAN_WROTE,
  type SpanRecord,
} from '../../model/arrivals.ts'
import { type Cpid, cpidBytes, type Mergelog } from '../../model/merge-graph.ts'
import { digestOfLog } from '../../model/otlp/same-content.ts'
import type { InferredWrite } from '../../model/seen-write.ts'
import type { Retention } from '../../model/store-ports.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import { CHANGED } from './archives.ts'
import { GenerationCache } from './generation-cache.ts'
import { cpidsOf } from './merge-graph.ts'
import { ObjectTable } from './object-versions.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { type ResourceEnvelope, ScopeNumbers } from './scopes.ts'
import type { TraceIndex } from './trace-id-index.ts'
import { type Progress, WriterTable } from './transactions.ts'

const PAIRS = 20_000
const MAX_KEPT_TEXT = 4_096

/** How many refused mergelogs and requests are kept. */
interface RememberedLimits {
  refusedMergelogs: number
  requests: RequestLimits
}

export class SqliteArrivals extends WriterTable implements ArrivalStore {
  readonly interner: ScopeNumbers
  readonly traces: TraceIndex
  readonly objects: ObjectTable
  /** The CPID of the last span of each original trace: most have one. */
  readonly #pairs = new GenerationCache<number, number>(PAIRS)
  #lastCpid = 0
  #lastOrigin = 0
  readonly #requests: RequestTable
  readonly #addSpan = this.db.prepare(
    `INSERT INTO spans (id, cpid, origin, span_id, parent_id, start_ns, end_ns, scope, kind, status, flags, name, raw)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #addPair = this.db.prepare('INSERT OR IGNORE INTO cpid_origins (cpid, origin) VALUES (?, ?)')
  readonly #addSeen = this.db.prepare(
    `INSERT INTO seen_writes (span, user_name, cause, gap, missed, audit_id, admitted_trace)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #addLog = this.db.prepare(
    `INSERT INTO logs (id, cpid, time_ns, scope, severity, event_name, trace_id, span_id, raw, digest)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #addMergelog = this.db.prepare(
    `INSERT INTO mergelogs (arrival, cpid, time_ns, arrived_ms, sources, scope, object, object_id, reason,
         told_trace, told_span, told_ms, replaces, worked_out, writer)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #removeMergelog = this.db.prepare<
    [number],
    { arrival: number; sources: Buffer; object: number | null; isWorkedOut: number }
  >(
    'DELETE FROM mergelogs WHERE cpid = ? RETURNING arrival, sources, object_id AS object, worked_out AS isWorkedOut',
  )
  readonly #isWorkedOut = this.column<[number], number>('SELECT worked_out FROM mergelogs WHERE cpid = ?')
  readonly #sourcesOf = this.db.prepare<[number], { arrival: number; sources: Buffer }>(
    'SELECT arrival, sources FROM mergelogs WHERE cpid = ?',
  )
  readonly #narrow = this.db.prepare(
    'UPDATE mergelogs SET arrival = ?, sources = ?, replaces = 1 WHERE cpid = ?',
  )
  readonly #noteReplaced = this.db.prepare(
    `INSERT OR REPLACE INTO archive_changes (kind, item, other, sources)
         SELECT ${CHANGED.replacedMergelog}, ?, ?, ? WHERE EXISTS (SELECT 1 FROM archives)`,
  )
  readonly #setPruneTime = this.db.prepare('UPDATE cpids SET prune_ns = ?, merged_ns = ? WHERE id = ?')
  readonly #numberRejected = this.db.prepare('UPDATE progress SET last_refused = last_refused + 1')
  readonly #addRejected = this.db.prepare(
    `INSERT INTO rejected_mergelogs (id, arrived_ms, cpid, sources, reason, scope, sender)
         SELECT last_refused, ?, ?, ?, ?, ?, ? FROM progress`,
  )
  // Deletes two for each insert, so that an excess disappears soon.
  readonly #dropRejected = this.db.prepare(
    `DELETE FROM rejected_mergelogs WHERE id IN (
         SELECT id FROM rejected_mergelogs WHERE id <= ? ORDER BY id LIMIT 2)`,
  )
  readonly #maxRefusedMergelogs: number
  readonly #owner = this.db.prepare<[number], ServiceInCluster>(
    `SELECT r.service, coalesce(r.cluster, '') AS cluster
       FROM mergelogs m JOIN scopes s ON s.id = m.scope JOIN resources r ON r.id = s.resource WHERE m.cpid = ?`,
  )

  constructor(db: Sqlite, progress: Progress, traces: TraceIndex, remembered: RememberedLimits) {
    super(db, progress)
    this.#maxRefusedMergelogs = remembered.refusedMergelogs
    this.traces = traces
    this.interner = new ScopeNumbers(db, traces)
    this.objects = new ObjectTable(db, progress)
    this.#requests = new RequestTable(db, remembered.requests)
  }

  get wallMs(): number {
    return this.progress.wallMs
  }

  answerTo(hash: Buffer): RequestAnswer | undefined {
    return this.#requests.answerTo(hash)
  }

  addRequest(hash: Buffer, answer: RequestAnswer): void {
    this.#requests.add(hash, this.wallMs, answer)
  }

  scope(resource: ResourceEnvelope, envelope: Buffer): number {
    return this.interner.scope(resource, envelope)
  }

  addSpan(span: SpanRecord, { scope, cluster, joinsOwn }: RecordOrigin, cpid: number | undefined): void {
    const origin = this.interner.origin(span.traceKey, span.startNs)
    const row = this.progress.nextArrival()
    this.progress.scopeUses.add(scope)
    this.#addSpan.run(
      row,
      cpid ?? null,
      origin,
      span.spanId,
      span.parentId === span.spanId ? 0n : span.parentId,
      span.startNs,
      span.endNs,
      scope,
      span.kind,
      span.status,
      (span.hasLinks ? SPAN_HAS_LINKS : 0) |
        (span.observed === undefined ? 0 : SPAN_OBSERVED) |
        (span.wrote === undefined ? 0 : SPAN_WROTE) |
        (span.cpid !== undefined && cpid === undefined ? SPAN_MALFORMED_CPID : 0) |
        (joinsOwn === true && cpid === undefined ? SPAN_JOINS_OWN : 0) |
        (span.seen === undefined ? 0 : SPAN_SEEN_WRITE) |
        (span.isOfCauseway ? SPAN_OF_CAUSEWAY : 0) |
        (span.cpid === undefined ? span.names : 0),
      span.name,
      span.raw,
    )
    if (cpid !== undefined) this.addCpidOrigin(cpid, origin)
    if (span.observed !== undefined) this.objects.add(row, 'observed', span.observed, cluster)
    if (span.wrote !== undefined) this.objects.add(row, 'wrote', span.wrote, cluster)
    if (span.seen !== undefined) this.#addInferredWrite(row, span.seen)
  }

  #addInferredWrite(row: number, { user, cause, gap, missed, auditId, admittedTrace }: InferredWrite): void {
    this.#addSeen.run(
      row,
      user ?? null,
      cause,
      gap ? 1 : 0,
      missed ?? 0,
      auditId ?? null,
      admittedTrace ?? null,
    )
  }

  addCpidOrigin(cpid: number, origin: number): void {
    if (cpid === this.#lastCpid && origin === this.#lastOrigin) return
    if (this.#pairs.get(origin) !== cpid) {
      this.#addPair.run(cpid, origin)
      this.#pairs.set(origin, cpid)
    }
    this.#lastCpid = cpid
    this.#lastOrigin = origin
  }

  addLog(log: LogRecord, scope: number, cpid: number | undefined): void {
    this.progress.scopeUses.add(scope)
    this.#addLog.run(
      this.progress.nextArrival(),
      cpid ?? null,
      log.timeNs === 0n ? nanosOfMs(this.wallMs) : log.timeNs,
      scope,
      log.severity,
      log.eventName,
      log.traceKey === '' ? null : Buffer.from(log.traceKey, 'latin1'),
      log.spanId,
      log.raw,
      // Two equal records without a time may be two events.
      log.timeNs === 0n ? null : digestOfLog(log.raw),
    )
  }

  addMergelog(
    cpid: number,
    arrival: number,
    { sources }: Mergelog,
    { object, reason, writer }: MergelogRecord,
    timeNs: UnixNanos,
    { scope, cluster }: RecordOrigin,
    { reportingSpan: told, replaces, isWorkedOut = false }: MergelogArrival,
  ): void {
    const teller = told !== undefined && told.traceKey !== '' && told.spanId !== 0n ? told : undefined
    const blob = Buffer.concat(sources.map(cpidBytes))
    this.progress.scopeUses.add(scope)
    this.#addMergelog.run(
      arrival,
      cpid,
      timeNs,
      this.wallMs,
      blob,
      scope,
      object ?? null,
      object === undefined ? null : this.objects.numberOf(object, cluster),
      reason ?? null,
      teller === undefined ? null : Buffer.from(teller.traceKey, 'latin1'),
      teller?.spanId ?? null,
      teller === undefined ? null : this.progress.activeMs,
      replaces ? 1 : 0,
      isWorkedOut ? 1 : 0,
      writer?.slice(0, MAX_KEPT_TEXT) ?? null,
    )
    // A time in the future counts as the arrival (pruning rule).
    const arrivalNs = nanosOfMs(this.wallMs)
    this.#setPruneTime.run(timeNs > arrivalNs ? arrivalNs : timeNs, timeNs, cpid)
  }

  isWorkedOut(cpid: number): boolean {
    return this.#isWorkedOut.get(cpid) === 1
  }

  narrowWorkedOut(cpid: number, arrival: number, sources: readonly Cpid[]): void {
    const before = this.#sourcesOf.get(cpid)
    if (before !== undefined) this.#noteReplaced.run(cpid, before.arrival, before.sources)
    this.#narrow.run(arrival, Buffer.concat(sources.map(cpidBytes)), cpid)
  }

  contestMergelog(cpid: number, text: Cpid): boolean {
    const owner = this.ownerOf(cpid)
    const stored = this.#removeMergelog.get(cpid)
    if (stored === undefined || owner === undefined) return false
    this.#noteReplaced.run(cpid, stored.arrival, stored.sources)
    if (stored.object !== null) this.objects.removeUnnamed(stored.object)
    if (stored.isWorkedOut === 1) return false
    const record = {
      newCpid: text,
      sources: cpidsOf(stored.sources),
      timeNs: 0n,
      object: undefined,
      reason: undefined,
    }
    this.addRejectedMergelog(record, 'contested', { ...owner, sender: undefined })
    return true
  }

  addRejectedMergelog(record: MergelogRecord, reason: string, from: RefusedRecordOrigin): void {
    const sources = JSON.stringify(record.sources.slice(0, 100)).slice(0, MAX_KEPT_TEXT)
    const newCpid = record.newCpid.slice(0, MAX_KEPT_TEXT)
    // The original envelope may be large, and would be kept as well.
    const scope = this.interner.smallScope(
      from.service.slice(0, MAX_KEPT_TEXT),
      from.cluster.slice(0, MAX_KEPT_TEXT),
    )
    this.progress.scopeUses.add(scope)
    this.#numberRejected.run()
    const { lastInsertRowid } = this.#addRejected.run(
      this.wallMs,
      newCpid,
      sources,
      reason,
      scope,
      from.sender?.slice(0, MAX_KEPT_TEXT) ?? null,
    )
    this.#dropRejected.run(Number(lastInsertRowid) - this.#maxRefusedMergelogs)
  }

  ownerOf(cpid: number): ServiceInCluster | undefined {
    return this.#owner.get(cpid)
  }

  endRequests(): void {
    this.traces.settle()
  }

  /** Drops the cache of an original trace, some of whose spans were removed. */
  dropOrigin(origin: number): void {
    this.interner.dropOrigin(origin)
    this.#pairs.delete(origin)
    if (this.#lastOrigin === origin) this.#lastCpid = 0
  }

  forget(): void {
    this.interner.forget()
    this.objects.forget()
    this.#pairs.clear()
    this.#lastCpid = 0
  }
}

/** How many hashes of requests are kept, and how many requests with refused items. A request with a long answer counts as several. */
interface RequestLimits {
  requests: number
  refused: number
}

const MOST: RequestLimits = { requests: 1_000_000, refused: 10_000 }
const LEAST: RequestLimits = { requests: 100, refused: 50 }
/** The most bytes of a request that counts as one. All together may take a share of max_bytes. */
const BYTES: RequestLimits = { requests: 128, refused: 1_024 }
const SHARE: RequestLimits = { requests: 20, refused: 40 }

/** How many excess requests are deleted at a time. */
const AT_ONCE = 1_000

/** The limits with which requests do not displace other data from `max_bytes`. */
export function requestLimits({ maxBytes }: Pick<Retention, 'maxBytes'>): RequestLimits {
  if (maxBytes === 0) return MOST
  const limit = (of: keyof RequestLimits): number =>
    Math.min(MOST[of], Math.max(LEAST[of], Math.floor(maxBytes / SHARE[of] / BYTES[of])))
  return { requests: limit('requests'), refused: limit('refused') }
}

/**
 * Recognises repeated requests for an hour (pruning removes older hashes), and keeps the newest with refused items for auditors. A row's id
 * grows by what the row counts as, so that the limit is a difference of ids.
 */
export class RequestTable extends OnConnection {
  readonly #limits: RequestLimits
  readonly #answer = this.db.prepare<[Buffer], RequestAnswer>(
    'SELECT rejected, message FROM requests WHERE hash = ?',
  )
  readonly #add = this.db.prepare(
    `INSERT INTO requests (id, hash, arrived_ms, rejected, message)
       SELECT coalesce(max(id), 0) + ?, ?, ?, ?, ? FROM requests`,
  )
  readonly #dropOld = this.#dropping('requests')
  readonly #addRefused = this.db.prepare(
    `INSERT INTO rejected_items (id, arrived_ms, items, message)
       SELECT coalesce(max(id), 0) + ?, ?, ?, ? FROM rejected_items`,
  )
  readonly #dropOldRefused = this.#dropping('rejected_items')

  constructor(db: Sqlite, limits: RequestLimits) {
    super(db)
    this.#limits = limits
  }

  #dropping(table: string): Statement {
    return this.db.prepare(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE id <= ? ORDER BY id LIMIT ?)`,
    )
  }

  answerTo(hash: Buffer): RequestAnswer | undefined {
    return this.#answer.get(hash)
  }

  add(hash: Buffer, wallMs: number, { rejected, message }: RequestAnswer): void {
    const { requests, refused } = this.#limits
    const counts = countsAs(message, BYTES.requests)
    const id = Number(this.#add.run(counts, hash, wallMs, rejected, message).lastInsertRowid)
    const step = Math.min(AT_ONCE, requests)
    // Deletes twice as many as arrive, so that an excess disappears soon.
    if (id % step < counts) this.#dropOld.run(id - requests, 2 * step)
    if (rejected === 0 && message === '') return
    const countsRefused = countsAs(message, BYTES.refused)
    const at = Number(this.#addRefused.run(countsRefused, wallMs, rejected, message).lastInsertRowid)
    this.#dropOldRefused.run(at - refused, 2 * countsRefused)
  }
}

function countsAs(message: string, bytes: number): number {
  return 1 + Math.floor(Buffer.byteLength(message) / bytes)
}
