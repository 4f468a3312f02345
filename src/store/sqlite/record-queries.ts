import type { Statement } from 'better-sqlite3'
import { SPAN_JOINS_OWN, SPAN_MALFORMED_CPID, SPAN_NAMES_REQUEST } from '../../model/arrivals.ts'
import { envelopeBytes } from '../../model/otlp/outgoing-records.ts'
import type { ScopeEnvelopes } from '../../model/outbox.ts'
import type { Pages, Position, ReadAllowance, StoredRecord } from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import { GenerationCache } from './generation-cache.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { LOG_IS_NO_REPEAT, SPAN_IS_NO_REPEAT } from './repeated-records.ts'

/** After searching this many original traces without a result, an empty page is yielded. */
const SEARCHES_AT_ONCE = 500
const LEAST = -(2n ** 63n)

interface SpanRow {
  id: bigint
  span_id: bigint
  scope: bigint
  raw: Buffer
}

/** Reads stored records page by page, and counts their bytes. */
export abstract class RecordReader extends OnConnection {
  protected readonly read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    super(db)
    this.read = read
  }
}

/**
 * Reads stored spans page by page. Spans of a CPID are ordered by original trace and span id, as in the index, so that a page can be found
 * without reading those before it.
 */
export class SpanPages extends RecordReader {
  readonly #origins = this.column<[number, bigint], bigint>(
    `SELECT origin FROM cpid_origins WHERE cpid = ? AND origin >= ? ORDER BY origin LIMIT ${SEARCHES_AT_ONCE}`,
  ).safeIntegers()
  readonly #ofOrigin = this.exactRows<[bigint, bigint, bigint, number], SpanRow>(
    `SELECT s.id, s.span_id, s.scope, s.raw FROM spans s
       WHERE s.origin = ? AND (s.span_id, s.id) > (?, ?) AND coalesce(s.cpid, ${CPID_OF_NEAREST_ANCESTOR}) = ? AND ${SPAN_IS_NO_REPEAT}
       ORDER BY s.span_id, s.id`,
  )
  readonly #all = this.exactRows<[bigint], SpanRow>(
    `SELECT s.id, s.span_id, s.scope, s.raw FROM spans s WHERE s.id > ? AND ${SPAN_IS_NO_REPEAT} ORDER BY s.id`,
  )

  all(after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    return pagesByNumber(this.#all, this.read, after)
  }

  /** The spans of these CPIDs, by ascending id of the CPID. A position is CPID, original trace, span id and row. */
  *ofCpids(cpids: readonly number[], after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    const [firstCpid = 0n, firstOrigin = 0n, firstSpanId = LEAST, firstId = 0n] = after
    const page = new RecordPage(this.read)
    let searched = 0
    for (const cpid of cpids) {
      const goesOn = BigInt(cpid) === firstCpid
      for (const origin of this.#originsOf(cpid, goesOn ? firstOrigin : 0n)) {
        let [spanId, id] = goesOn && origin === firstOrigin ? [firstSpanId, firstId] : [LEAST, 0n]
        const place = (row: SpanRow): Position => {
          spanId = row.span_id
          id = row.id
          return [BigInt(cpid), origin, row.span_id, row.id]
        }
        while (!page.fill(this.#ofOrigin.iterate(origin, spanId, id, cpid), place)) yield page.take()
        if (++searched % SEARCHES_AT_ONCE === 0) yield page.take()
      }
      if (++searched % SEARCHES_AT_ONCE === 0) yield page.take()
    }
    yield page.take()
  }

  *#originsOf(cpid: number, least: bigint): Generator<bigint> {
    for (let from = least; ;) {
      const origins = this.#origins.all(cpid, from)
      yield* origins
      const last = origins.at(-1)
      if (last === undefined || origins.length < SEARCHES_AT_ONCE) return
      from = last + 1n
    }
  }
}

/** After searching this many CPIDs without a result, an empty page is yielded. */
const CPIDS_AT_ONCE = 500

interface LogRow {
  id: bigint
  scope: bigint
  raw: Buffer
}

/** Reads stored log records page by page. */
export class LogPages extends RecordReader {
  readonly #ofCpid = this.exactRows<[number, bigint], LogRow>(
    `SELECT l.id, l.scope, l.raw FROM logs l WHERE l.cpid = ? AND l.id > ? AND ${LOG_IS_NO_REPEAT} ORDER BY l.id`,
  )
  readonly #all = this.exactRows<[bigint], LogRow>(
    `SELECT l.id, l.scope, l.raw FROM logs l WHERE l.id > ? AND ${LOG_IS_NO_REPEAT} ORDER BY l.id`,
  )

  all(after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    return pagesByNumber(this.#all, this.read, after)
  }

  /** The log records of these CPIDs, by ascending id of the CPID. A position is CPID and row. */
  *ofCpids(cpids: readonly number[], after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    const [firstCpid = 0n, firstId = 0n] = after
    const page = new RecordPage(this.read)
    let searched = 0
    for (const cpid of cpids) {
      let id = BigInt(cpid) === firstCpid ? firstId : 0n
      const place = (row: LogRow): Position => {
        id = row.id
        return [BigInt(cpid), row.id]
      }
      while (!page.fill(this.#ofCpid.iterate(cpid, id), place)) yield page.take()
      if (++searched % CPIDS_AT_ONCE === 0) yield page.take()
    }
    yield page.take()
  }
}

const MAX_RECORDS = 150
const MAX_BYTES = MIB

/** Collects records until a page is full. */
class RecordPage {
  #records: StoredRecord[] = []
  #bytes = 0
  readonly #read: BytesRead

  constructor(read: BytesRead) {
    this.#read = read
  }

  /** Adds rows until the page is full. True if it took all of them. */
  fill<Row extends { scope: number | bigint; raw: Buffer }>(
    rows: Iterable<Row>,
    positionOf: (row: Row) => Position,
  ): boolean {
    for (const row of rows) {
      this.#records.push({ position: positionOf(row), scope: Number(row.scope), raw: row.raw })
      this.#bytes += row.raw.length
      this.#read.add(row.raw.length)
      if (this.isFull) return false
    }
    return true
  }

  get isFull(): boolean {
    return this.#records.length >= MAX_RECORDS || this.#bytes >= MAX_BYTES
  }

  /** Returns the records and starts a new page. */
  take(): StoredRecord[] {
    const records = this.#records
    this.#records = []
    this.#bytes = 0
    return records
  }
}

/** Pages of all records by ascending row. A position is the row. */
function* pagesByNumber(
  all: Statement<[bigint], { id: bigint; scope: bigint; raw: Buffer }>,
  read: BytesRead,
  after: Position,
): Generator<StoredRecord[]> {
  let [id = 0n] = after
  const page = new RecordPage(read)
  const place = (row: { id: bigint }): Position => [(id = row.id)]
  while (!page.fill(all.iterate(id), place)) yield page.take()
  yield page.take()
}

const SCOPES = 1_000
const SCOPE_BYTES = 8 * MIB

/** The envelopes in which records arrived. */
export class EnvelopeReader extends RecordReader {
  readonly #cache = new GenerationCache<number, ScopeEnvelopes>(SCOPES, {
    most: SCOPE_BYTES,
    of: envelopeBytes,
  })
  readonly #find = this.db.prepare<[number], ScopeEnvelopes>(
    `SELECT scopes.resource AS resourceId, resources.envelope AS resource, scopes.envelope AS scope
       FROM scopes JOIN resources ON resources.id = scopes.resource WHERE scopes.id = ?`,
  )
  readonly #after = this.db.prepare<[number], ScopeEnvelopes & { readonly id: number }>(
    `SELECT scopes.id, scopes.resource AS resourceId, resources.envelope AS resource, scopes.envelope AS scope
       FROM scopes JOIN resources ON resources.id = scopes.resource WHERE scopes.id > ? ORDER BY scopes.id`,
  )

  of(scope: number): ScopeEnvelopes | undefined {
    const cached = this.#cache.get(scope)
    if (cached !== undefined) return cached
    const found = this.#find.get(scope)
    if (found === undefined) return undefined
    this.#cache.set(scope, found)
    this.read.spend(envelopeBytes(found))
    return found
  }

  *all(): Generator<ScopeEnvelopes[]> {
    for (let [after, isLast] = [0, false]; !isLast;) {
      const page: ScopeEnvelopes[] = []
      let bytes = 0
      isLast = true
      for (const row of this.#after.iterate(after)) {
        page.push(row)
        after = row.id
        bytes += envelopeBytes(row)
        isLast = page.length < MAX_RECORDS && bytes < MAX_BYTES
        if (!isLast) break
      }
      this.read.add(bytes)
      yield page
    }
  }
}

/** How many ancestors are visited, since senders can make chains of any length, and the query runs for each span. */
const MOST_ABOVE = 32
/** Spans with these flags may inherit no CPID; only the linker knows. */
const UNSURE = SPAN_JOINS_OWN | SPAN_NAMES_REQUEST

/** Whether some spans are not linked yet, or wait. */
const IS_ANY_UNPLACED =
  '(SELECT last_arrival > linked_arrival FROM progress) OR EXISTS (SELECT 1 FROM waiting)'

/** The CPID that a span `s` without one will inherit from its nearest ancestor with one. If nothing waits, it has inherited it already. */
export const CPID_OF_NEAREST_ANCESTOR = `CASE WHEN s.flags & ${UNSURE | SPAN_MALFORMED_CPID} = 0 AND (${IS_ANY_UNPLACED}) THEN (
  WITH RECURSIVE above(cpid, parent_id, height) AS (
    VALUES (NULL, s.parent_id, 0)
    UNION ALL
    SELECT p.cpid, p.parent_id, above.height + 1 FROM above CROSS JOIN spans p
      ON p.id = (SELECT min(f.id) FROM spans f WHERE f.origin = s.origin AND f.span_id = above.parent_id)
      WHERE above.cpid IS NULL AND above.parent_id <> 0 AND above.height < ${MOST_ABOVE}
        AND (p.cpid IS NOT NULL OR p.flags & ${UNSURE} = 0))
  SELECT above.cpid FROM above WHERE above.cpid IS NOT NULL) END`

/** An answer exceeded its read allowance. */
export class TooMuchRead extends Error {}

/** Counts the bytes of stored spans, log records and envelopes that a connection reads, and limits them. */
export class BytesRead {
  #count = 0
  #most = Infinity
  #maxCpids = Infinity

  get count(): number {
    return this.#count
  }

  /** How many CPIDs a walk may reach before it throws TooMuchRead. */
  get maxCpids(): number {
    return this.#maxCpids
  }

  /** From now on, throws TooMuchRead if more is read than allowed. */
  allow({ bytes, cpids }: ReadAllowance): void {
    this.#most = this.#count + bytes
    this.#maxCpids = cpids
  }

  /** Adds bytes that were read. */
  add(bytes: number): void {
    this.#count += bytes
    this.spend(0)
  }

  /** Uses up allowance without counting bytes as read, for cached rows. */
  spend(bytes: number): void {
    this.#most -= bytes
    if (this.#count > this.#most) throw new TooMuchRead('more bytes were read than one answer may take')
  }
}
