import type { Statement } from 'better-sqlite3'
import {
  SPAN_HAS_LINKS,
  SPAN_INHERITED_CPID,
  SPAN_JOINED,
  SPAN_JOINS_OWN,
  SPAN_MALFORMED_CPID,
  SPAN_NAMES_POD,
  SPAN_NAMES_REQUEST,
  SPAN_OBSERVED,
  SPAN_OF_CAUSEWAY,
  SPAN_SEEN_WRITE,
  SPAN_TOLD_WRITE,
  SPAN_WROTE,
} from '../../model/arrivals.ts'
import type { ArrivedSpan, Spans } from '../../model/linking-ports.ts'
import { MAX_LINKS } from '../../model/otlp/encode-telemetry.ts'
import { readLinks } from '../../model/otlp/read-stored-span.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import type { SqliteArrivals } from './arrivals.ts'
import type { Sqlite } from './open-database.ts'
import { SPAN_IS_NO_REPEAT, SPAN_IS_REPEAT } from './repeated-records.ts'
import type { LinkScopeTable } from './scopes.ts'
import { type Progress, WriterTable } from './transactions.ts'

type SpanRow = [
  bigint,
  bigint | null,
  bigint,
  bigint,
  bigint,
  bigint,
  bigint,
  bigint,
  bigint,
  bigint,
  bigint | null,
  bigint,
  bigint,
  bigint | null,
  bigint,
]

const COLUMNS = `s.id, s.cpid, s.origin, s.span_id, s.parent_id, s.start_ns, s.end_ns, s.scope, length(s.raw), s.flags,
  CASE WHEN s.parent_id <> 0 THEN
    (SELECT min(p.id) FROM spans p WHERE p.origin = s.origin AND p.span_id = s.parent_id) END,
  ${SPAN_IS_REPEAT},
  EXISTS (SELECT 1 FROM awaited_parents a WHERE a.origin = s.origin AND a.span_id = s.span_id),
  CASE WHEN s.parent_id <> 0 THEN
    (SELECT max(p.id) FROM spans p WHERE p.origin = s.origin AND p.span_id = s.parent_id) END, s.status`

/** OTLP's status of an error. */
const FAILED = 2n

const NAMES = SPAN_HAS_LINKS | SPAN_NAMES_REQUEST | SPAN_NAMES_POD

/** How many spans with equal ids are searched for one of the same resource. */
const SHARING = 64

/** The most cached spans that were read one by one. */
const MOST_ASKED = 2_000

/** How many spans are searched for the earliest one, since a change may have any number before it is sent. */
const FIRST_SPANS = 200

/** Stored spans, as the linker sees them. */
export class ArrivedSpanTable extends WriterTable implements Spans {
  readonly #arrivals: SqliteArrivals
  readonly #scopes: LinkScopeTable
  readonly #next = this.#spans<[number, number]>('spans s WHERE s.id > +? ORDER BY s.id LIMIT +?')
  readonly #one = this.#spans<[number]>('spans s WHERE s.id = ?')
  readonly #ofCpid = this.column<[number], number>(
    `SELECT s.id FROM cpid_origins c CROSS JOIN spans s ON s.origin = c.origin AND s.cpid = c.cpid WHERE c.cpid = +?
       ORDER BY s.start_ns, s.id`,
  )
  readonly #children = this.#spans<[number, bigint]>(
    'spans s WHERE s.origin = +? AND +s.parent_id = +? AND s.cpid IS NULL ORDER BY s.id',
  )
  readonly #raw = this.column<[number], Buffer>('SELECT raw FROM spans WHERE id = ?')
  readonly #find = this.column<[number, bigint], number | null>(
    'SELECT min(id) FROM spans WHERE origin = +? AND span_id = +?',
  )
  readonly #ofResource = this.column<[number, bigint, number], number>(
    `SELECT s.id FROM (SELECT id FROM spans WHERE origin = +? AND span_id = +? ORDER BY id LIMIT ${SHARING}) c
       CROSS JOIN spans s ON s.id = c.id CROSS JOIN scopes p ON p.id = s.scope
       WHERE p.resource = (SELECT resource FROM scopes WHERE id = ?) AND ${SPAN_IS_NO_REPEAT} ORDER BY s.id LIMIT 1`,
  )
  readonly #firstStart = this.column<[{ cpid: number; from: bigint; to: bigint }], bigint | null>(
    `SELECT min(start_ns) FROM (
         SELECT s.cpid, s.start_ns FROM (SELECT origin FROM cpid_origins WHERE cpid = @cpid ORDER BY origin LIMIT ${FIRST_SPANS}) c
         CROSS JOIN spans s ON s.origin = c.origin LIMIT ${FIRST_SPANS}
       ) WHERE cpid = @cpid AND start_ns BETWEEN @from AND @to`,
  ).safeIntegers()
  readonly #rootOfOutgoing = this.column<[number], number>(
    'SELECT t.root FROM origin_traces o CROSS JOIN traces t ON t.trace_id = o.trace_id WHERE o.id = ?',
  )
  readonly #setCpid = this.db.prepare(`UPDATE spans SET cpid = ?, flags = flags | ? WHERE id = ?`)
  readonly #remove = this.db.prepare('DELETE FROM spans WHERE id = ?')
  #round = new Map<number, ArrivedSpan>()
  /** Other spans read in this round. */
  readonly #asked = new Map<number, ArrivedSpan>()

  constructor(db: Sqlite, progress: Progress, arrivals: SqliteArrivals, scopes: LinkScopeTable) {
    super(db, progress)
    this.#arrivals = arrivals
    this.#scopes = scopes
  }

  #spans<Bind extends unknown[]>(rest: string): Statement<Bind, SpanRow> {
    return this.exactRows<Bind, SpanRow>(`SELECT ${COLUMNS} FROM ${rest}`).raw()
  }

  /** Starts a transaction; cached spans may be outdated. */
  beginRound(): void {
    this.forget()
  }

  /** The next spans after an arrival, read anew: cached ones may be outdated. */
  next(after: number, limit: number): ArrivedSpan[] {
    return this.#next.all(after, limit).map((row) => {
      const span = this.#spanOf(row)
      this.#round.set(span.row, span)
      return span
    })
  }

  span(row: number): ArrivedSpan | undefined {
    const known = this.#round.get(row) ?? this.#asked.get(row)
    if (known !== undefined && (known.parentRow !== undefined || known.parentId === 0n)) return known
    const found = this.#one.get(row)
    if (found === undefined) return undefined
    const span = this.#spanOf(found)
    if (this.#asked.size >= MOST_ASKED) this.#asked.clear()
    this.#asked.set(row, span)
    return span
  }

  /** Whether the span was read in this round, so that its `awaited` is current. */
  isOfThisRound(row: number): boolean {
    return this.#round.has(row)
  }

  rowsOfCpid(cpid: number): number[] {
    return this.#ofCpid.all(cpid)
  }

  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[] {
    return this.#children
      .all(origin, parentId)
      .map((row) => this.#spanOf(row))
      .filter(({ row }) => row <= this.progress.linkedArrival)
  }

  linksOf(row: number): { traceId: Buffer; spanId: bigint }[] {
    const raw = this.#raw.get(row)
    return raw === undefined ? [] : readLinks(raw, MAX_LINKS)
  }

  find(traceId: Buffer, spanId: bigint): number | undefined {
    const origin = this.#arrivals.traces.find(traceId.toString('latin1'))
    return origin === undefined ? undefined : (this.#find.get(origin, spanId) ?? undefined)
  }

  rootOfOutgoing(origin: number): number | undefined {
    return this.#rootOfOutgoing.get(origin)
  }

  /** The earliest start in a time range of spans with the CPID, among the first of its original traces. */
  firstStart(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined {
    return this.#firstStart.get({ cpid, from: fromNs, to: toNs }) ?? undefined
  }

  inheritCpid(span: ArrivedSpan, cpid: number, joined: boolean): void {
    span.cpid = cpid
    span.inherited = true
    span.joined = joined
    this.#asked.delete(span.row)
    this.#setCpid.run(cpid, SPAN_INHERITED_CPID | (joined ? SPAN_JOINED : 0), span.row)
    this.#arrivals.addCpidOrigin(cpid, span.origin)
  }

  removeRepeated({ row, observes, writes }: ArrivedSpan): void {
    if (observes || writes) this.#arrivals.objects.remove(row)
    this.#remove.run(row)
    this.#round.delete(row)
    this.#asked.delete(row)
  }

  forget(): void {
    this.#round.clear()
    this.#asked.clear()
  }

  #spanOf(row: SpanRow): ArrivedSpan {
    const scope = Number(row[7])
    const flags = Number(row[9])
    const { service, envelopeBytes } = this.#scopes.of(scope)
    return {
      row: Number(row[0]),
      cpid: row[1] === null ? undefined : Number(row[1]),
      origin: Number(row[2]),
      spanId: row[3],
      parentId: row[4],
      startNs: row[5],
      endNs: row[6],
      scope,
      service,
      bytes: Number(row[8]),
      envelopeBytes,
      hasLinks: (flags & SPAN_HAS_LINKS) !== 0,
      observes: (flags & SPAN_OBSERVED) !== 0,
      writes: (flags & SPAN_WROTE) !== 0,
      failed: row[14] === FAILED,
      seen: (flags & SPAN_SEEN_WRITE) !== 0,
      isOwnReport: (flags & SPAN_TOLD_WRITE) !== 0,
      names: flags & NAMES,
      isOfCauseway: (flags & SPAN_OF_CAUSEWAY) !== 0,
      joined: (flags & SPAN_JOINED) !== 0,
      joinsOwn: (flags & SPAN_JOINS_OWN) !== 0,
      malformed: (flags & SPAN_MALFORMED_CPID) !== 0,
      inherited: (flags & SPAN_INHERITED_CPID) !== 0,
      parentRow: row[10] === row[13] ? numberOf(row[10]) : this.#parentOf(row),
      repeated: row[11] === 1n,
      awaited: row[12] === 1n,
    }
  }
  /** The parent. If several spans have its ids: the first from the child's resource, or else the first. */
  #parentOf(row: SpanRow): number | undefined {
    return this.#ofResource.get(Number(row[2]), row[4], Number(row[7])) ?? numberOf(row[10])
  }
}

const numberOf = (id: bigint | null): number | undefined => (id === null ? undefined : Number(id))
