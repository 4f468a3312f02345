import type { Statement } from 'better-sqlite3'
import { cpidOfBytes } from '../../../model/cpid.ts'
import type { CpidFacts, MergelogFacts, Pages, Position } from '../../../model/ports/query-port.ts'
import { cpidsOf } from '../../writer/source-set.ts'
import type { Sqlite } from '../../open-database.ts'
import { EXPLAINED } from '../cascades/explained.ts'

const PAGE = 200

const COLUMNS = `mergelogs.arrival, cpids.id, cpids.uuid, mergelogs.time_ns, mergelogs.sources, mergelogs.object,
  mergelogs.reason, resources.service, resources.cluster`
const SENDER = `LEFT JOIN scopes ON scopes.id = mergelogs.scope
  LEFT JOIN resources ON resources.id = scopes.resource`

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
        `SELECT cpids.uuid, ${EXPLAINED} AS explained, mergelogs.time_ns, mergelogs.sources, mergelogs.object, resources.service
         FROM cpids LEFT JOIN mergelogs ON mergelogs.cpid = cpids.id ${SENDER} WHERE cpids.id = ?`,
      )
      .safeIntegers()
    this.#of = db
      .prepare<[string], MergelogRow>(
        `SELECT ${COLUMNS} FROM json_each(?) wanted JOIN mergelogs ON mergelogs.cpid = wanted.value
         JOIN cpids ON cpids.id = mergelogs.cpid
         ${SENDER} ORDER BY wanted.key`,
      )
      .safeIntegers()
    this.#all = db
      .prepare<[bigint, bigint, number], MergelogRow>(
        `SELECT ${COLUMNS} FROM mergelogs JOIN cpids ON cpids.id = mergelogs.cpid ${SENDER}
         WHERE (mergelogs.time_ns, mergelogs.arrival) > (?, ?) ORDER BY mergelogs.time_ns, mergelogs.arrival LIMIT ?`,
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
