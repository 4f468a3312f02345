import type { Statement } from 'better-sqlite3'
import type { Pages, Position, StoredRecord } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { LOG_ONCE } from '../../linking/sent-once.ts'
import type { BytesRead } from '../bytes-read.ts'
import { RecordPage } from './record-page.ts'

/** How many CPIDs may be searched in vain before the reader gets an empty page. */
const CPIDS_AT_ONCE = 500

interface LogRow {
  id: bigint
  scope: bigint
  raw: Buffer
}

/** Reads stored log records page by page. */
export class LogPages {
  readonly #ofCpid: Statement<[number, bigint], LogRow>
  readonly #all: Statement<[bigint], LogRow>
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#read = read
    this.#ofCpid = db
      .prepare<[number, bigint], LogRow>(
        `SELECT l.id, l.scope, l.raw FROM logs l WHERE l.cpid = ? AND l.id > ? AND ${LOG_ONCE} ORDER BY l.id`,
      )
      .safeIntegers()
    this.#all = db
      .prepare<[bigint], LogRow>(
        `SELECT l.id, l.scope, l.raw FROM logs l WHERE l.id > ? AND ${LOG_ONCE} ORDER BY l.id`,
      )
      .safeIntegers()
  }

  /** The logs of these CPIDs, whose numbers grow; a position is the CPID's number and the record's. */
  *ofCpids(cpids: readonly number[], after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    const [firstCpid = 0n, firstId = 0n] = after
    const page = new RecordPage(this.#read)
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

  *all(after: Position = []): Pages<StoredRecord> & Generator<StoredRecord[]> {
    let [id = 0n] = after
    const page = new RecordPage(this.#read)
    const place = (row: LogRow): Position => {
      id = row.id
      return [row.id]
    }
    while (!page.fill(this.#all.iterate(id), place)) yield page.take()
    yield page.take()
  }
}
