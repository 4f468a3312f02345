import type { Statement } from 'better-sqlite3'
import { cpidOfBytes, type Cpid } from '../../../model/cpid.ts'
import type { GraphAround, GraphNode, Pages } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { EXPLAINED } from '../cascades/explained.ts'

const PAGE = 200

interface NodeRow {
  id: bigint
  uuid: Buffer
  in_degree: bigint
  explained: bigint
  time_ns: bigint | null
  object: string | null
  reason: string | null
  service: string | null
  cluster: string | null
}

interface EdgeRow {
  source: Buffer
  target: Buffer
}

/** Reads the merge graph around a CPID: its ancestors and its descendants, nearest first. */
export class GraphAroundReader {
  readonly #above: Statement<[string, number], number>
  readonly #below: Statement<[string, number], number>
  readonly #nodes: Statement<[string], NodeRow>
  readonly #edges: Statement<[string, string], EdgeRow>

  constructor(db: Sqlite) {
    const step = (from: string, to: string): Statement<[string, number], number> =>
      db
        .prepare<[string, number], number>(
          `SELECT DISTINCT edges.${to} FROM json_each(?) wanted JOIN edges ON edges.${from} = wanted.value ORDER BY 1 LIMIT ?`,
        )
        .pluck()
    this.#above = step('target', 'source')
    this.#below = step('source', 'target')
    this.#nodes = db
      .prepare<[string], NodeRow>(
        `SELECT cpids.id, cpids.uuid, cpids.in_degree, ${EXPLAINED} AS explained, mergelogs.time_ns,
           mergelogs.object, mergelogs.reason, resources.service, resources.cluster
         FROM json_each(?) wanted JOIN cpids ON cpids.id = wanted.value
         LEFT JOIN mergelogs ON mergelogs.cpid = cpids.id
         LEFT JOIN scopes ON scopes.id = mergelogs.scope
         LEFT JOIN resources ON resources.id = scopes.resource ORDER BY wanted.key`,
      )
      .safeIntegers()
    this.#edges = db.prepare<[string, string], EdgeRow>(
      `SELECT source_cpid.uuid AS source, target_cpid.uuid AS target
       FROM json_each(?) wanted JOIN edges ON edges.target = wanted.value
       JOIN cpids source_cpid ON source_cpid.id = edges.source
       JOIN cpids target_cpid ON target_cpid.id = edges.target
       WHERE edges.source IN (SELECT value FROM json_each(?)) ORDER BY edges.target, edges.source`,
    )
  }

  /** A level above and a level below in turns, so that what is left out is farthest away. */
  around(middle: number, limit: number): GraphAround {
    const distances = new Map([[middle, 0]])
    let [above, below] = [[middle], [middle]]
    const cut = { truncated: false }
    const widen = (level: number[], statement: Statement<[string, number], number>, at: number): number[] => {
      if (level.length === 0) return level
      // All that are known may come first.
      const found = statement.all(JSON.stringify(level), limit + 1)
      const unknown = found.filter((id) => !distances.has(id))
      const room = limit - distances.size
      if (unknown.length > room) cut.truncated = true
      const taken = unknown.slice(0, room)
      for (const id of taken) distances.set(id, at)
      return taken
    }
    for (let step = 1; above.length + below.length > 0 && !cut.truncated; step++) {
      above = widen(above, this.#above, -step)
      below = widen(below, this.#below, step)
    }
    return { nodes: this.#read(distances), edges: this.#edgesAmong([...distances.keys()]), ...cut }
  }

  #read(distances: ReadonlyMap<number, number>): GraphNode[] {
    return this.#nodes.all(JSON.stringify([...distances.keys()])).map((row) => ({
      cpid: cpidOfBytes(row.uuid),
      timeNs: row.time_ns ?? undefined,
      service: textOf(row.service),
      object: textOf(row.object),
      reason: textOf(row.reason),
      cluster: textOf(row.cluster),
      root: row.in_degree === 0n,
      explained: row.explained === 1n,
      distance: distances.get(Number(row.id)) ?? 0,
    }))
  }

  *#edgesAmong(
    ids: readonly number[],
  ): Pages<{ source: Cpid; target: Cpid }> & Generator<{ source: Cpid; target: Cpid }[]> {
    const all = JSON.stringify(ids)
    for (let at = 0; at < ids.length; at += PAGE) {
      yield this.#edges
        .all(JSON.stringify(ids.slice(at, at + PAGE)), all)
        .map(({ source, target }) => ({ source: cpidOfBytes(source), target: cpidOfBytes(target) }))
    }
  }
}

function textOf(column: string | null): string | undefined {
  return column === null || column === '' ? undefined : column
}
