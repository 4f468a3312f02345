import type { Statement } from 'better-sqlite3'
import type { Mergelogs, StoredMergelog, ChangeReporter } from '../../model/ports/linking/changes.ts'
import { cpidsOf } from './source-set.ts'
import type { Sqlite } from '../open-database.ts'

interface MergelogRow {
  arrival: bigint
  time_ns: bigint
  arrived_ms: bigint
  sources: Buffer
  scope: bigint
  object: string | null
  reason: string | null
  cluster: string | null
}

interface TellerRow {
  told_trace: Buffer
  told_span: bigint
  told_ms: bigint
}

/** Reads a stored mergelog with the cluster of its sender. */
export class MergelogReader implements Mergelogs {
  readonly #find: Statement<[number], MergelogRow>
  readonly #toldBy: Statement<[number], TellerRow>

  constructor(db: Sqlite) {
    this.#find = db
      .prepare<[number], MergelogRow>(
        `SELECT m.arrival, m.time_ns, m.arrived_ms, m.sources, m.scope, m.object, m.reason, r.cluster FROM mergelogs m
         LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource WHERE m.cpid = +?`,
      )
      .safeIntegers()
    this.#toldBy = db
      .prepare<[number], TellerRow>(
        `SELECT told_trace, told_span, told_ms FROM mergelogs WHERE cpid = +? AND told_trace IS NOT NULL`,
      )
      .safeIntegers()
  }

  toldBy(cpid: number): ChangeReporter | undefined {
    const row = this.#toldBy.get(cpid)
    return row && { traceId: row.told_trace, spanId: row.told_span, sinceMs: Number(row.told_ms) }
  }

  find(cpid: number): StoredMergelog | undefined {
    const row = this.#find.get(cpid)
    return row === undefined
      ? undefined
      : {
          arrival: Number(row.arrival),
          timeNs: row.time_ns,
          arrivedMs: Number(row.arrived_ms),
          sources: cpidsOf(row.sources),
          scope: Number(row.scope),
          object: row.object ?? undefined,
          reason: row.reason ?? undefined,
          cluster: row.cluster ?? undefined,
        }
  }
}
