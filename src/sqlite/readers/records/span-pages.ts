import type { Statement } from 'better-sqlite3'
import type { Pages, Position, StoredRecord } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { SPAN_ONCE } from '../../linking/sent-once.ts'
import { CPID_ABOVE } from '../cpid-above.ts'
import type { BytesRead } from '../bytes-read.ts'
import { RecordPage } from './record-page.ts'

/** How many original traces may be searched in vain before the reader gets an empty page. */
const SEARCHES_AT_ONCE = 500
const LEAST = -(2n ** 63n)

interface SpanRow {
  id: bigint
  span_id: bigint
  scope: bigint
  raw: Buffer
}

/**
 * Reads stored spans page by page. Those of a CPID come by original trace and span id, the order of the index, so that
 * any page can be found without reading the ones before it.
 */
export class SpanPages {
  readonly #origins: Statement<[number, bigint], bigint>
  readonly #ofOrigin: Statement<[bigint, bigint, bigint, number], SpanRow>
  readonly #all: Statement<[bigint], SpanRow>
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#read = read
    this.#origins = db
      .prepare<[number, bigint], bigint>(
        `SELECT origin FROM cpid_origins WHERE cpid = ? AND origin >= ? ORDER BY origin LIMIT ${SEARCHES_AT_ONCE}`,
      )
      .pluck()
      .safeIntegers()
    this.#ofOrigin = db
      .prepare<[bigint, bigint, bigint, number], SpanRow>(
        `SELECT s.id, s.span_id, s.scope, s.raw FROM spans s
         WHERE s.origin = ? AND (s.span_id, s.id) > (?, ?) AND coalesce(s.cpid, ${CPID_ABOVE}) = ? AND ${SPAN_ONCE}
         ORDER BY s.span_id, s.id`,
      )
      .safeIntegers()
    this.#all = db
      .prepare<[bigint], SpanRow>(
        `SELECT s.id, s.span_id, s.scope, s.raw FROM spans s WHERE s.id > ? AND ${SPAN_ONCE} ORDER BY s.id`,
      )
      .safeIntegers()
  }

  /** The spans of these CPIDs, whose numbers grow; a position is CPID, original trace, span id and number. */
  *ofCpids(cpids: readonly number[], after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    const [firstCpid = 0n, firstOrigin = 0n, firstSpanId = LEAST, firstId = 0n] = after
    const page = new RecordPage(this.#read)
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

  *all(after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    let [id = 0n] = after
    const page = new RecordPage(this.#read)
    const place = (row: SpanRow): Position => {
      id = row.id
      return [row.id]
    }
    while (!page.fill(this.#all.iterate(id), place)) yield page.take()
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
