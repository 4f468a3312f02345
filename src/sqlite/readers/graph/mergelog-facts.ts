import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../../model/cpid.ts'
import type { CpidFacts, MergelogFacts, Pages, Position } from '../../../model/ports/query-port.ts'
import { cpidsOf } from '../../writer/merge-graph-store.ts'
import type { Sqlite } from '../../open-database.ts'
import { EXPLAINED } from '../cascades/explained.ts'

const PAGE = 200

const COLUMNS = 'm.arrival, c.id, c.uuid, m.time_ns, m.sources, m.object, m.reason, r.service, r.cluster'
const SENDER = 'LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource'

interface MergelogRow {
  arrival: bigint
  id: bigint
  uuid: Buffer
  time_ns: bigint
  sources: Buffer
  object: string | null
  reason: string | null
  service: string | null
  cluster: string | null
}

interface CpidRow {
  uuid: Buffer
  explained: bigint
  time_ns: bigint | null
  sources: Buffer | null
  object: string | null
  service: string | null
}

/** Reads mergelogs with their senders. */
export class MergelogFactsReader {
  readonly #cpid: Statement<[number], CpidRow>
  readonly #of: Statement<[string], MergelogRow>
  readonly #all: Statement<[bigint, bigint, number], MergelogRow>

  constructor(db: Sqlite) {
    this.#cpid = db
      .prepare<[number], CpidRow>(
        `SELECT c.uuid, ${EXPLAINED} AS explained, m.time_ns, m.sources, m.object, r.service
         FROM cpids c LEFT JOIN mergelogs m ON m.cpid = c.id ${SENDER} WHERE c.id = ?`,
      )
      .safeIntegers()
    this.#of = db
      .prepare<[string], MergelogRow>(
        `SELECT ${COLUMNS} FROM json_each(?) j JOIN mergelogs m ON m.cpid = j.value JOIN cpids c ON c.id = m.cpid
         ${SENDER} ORDER BY j.key`,
      )
      .safeIntegers()
    this.#all = db
      .prepare<[bigint, bigint, number], MergelogRow>(
        `SELECT ${COLUMNS} FROM mergelogs m JOIN cpids c ON c.id = m.cpid ${SENDER}
         WHERE (m.time_ns, m.arrival) > (?, ?) ORDER BY m.time_ns, m.arrival LIMIT ?`,
      )
      .safeIntegers()
  }

  cpid(id: number): CpidFacts | undefined {
    const row = this.#cpid.get(id)
    return row === undefined
      ? undefined
      : {
          cpid: cpidOfBytes(row.uuid),
          timeNs: row.time_ns ?? undefined,
          sources: row.sources === null ? undefined : cpidsOf(row.sources),
          explained: row.explained === 1n,
          service: textOf(row.service),
          object: textOf(row.object),
        }
  }

  /** The mergelogs of these CPIDs in their order; one of them comes first whatever its time. */
  *of(ids: readonly number[], first: number): Pages<MergelogFacts> & Generator<MergelogFacts[]> {
    for (let at = 0; at < ids.length; at += PAGE) {
      const rows = this.#of.all(JSON.stringify(ids.slice(at, at + PAGE)))
      yield rows.map((row) => factsOf(row, [row.id === BigInt(first) ? 0n : 1n, row.time_ns, row.id]))
    }
  }

  *all(after: Position = []): Pages<MergelogFacts> & Generator<MergelogFacts[]> {
    let [time = -1n, arrival = 0n] = after
    for (;;) {
      const rows = this.#all.all(time, arrival, PAGE)
      yield rows.map((row) => factsOf(row, [row.time_ns, row.arrival]))
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) return
      time = last.time_ns
      arrival = last.arrival
    }
  }
}

function factsOf(row: MergelogRow, position: Position): MergelogFacts {
  return {
    position,
    cpid: cpidOfBytes(row.uuid),
    sources: cpidsOf(row.sources),
    timeNs: row.time_ns,
    service: textOf(row.service),
    object: textOf(row.object),
    reason: textOf(row.reason),
    cluster: textOf(row.cluster),
  }
}

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
