import type { Statement } from 'better-sqlite3'
import type { Position } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'

const RELATED = `WITH RECURSIVE related (id) AS
  (SELECT @from UNION SELECT edges.target FROM related JOIN edges ON edges.source = related.id)`

/** A CPID without a mergelog stands where it was first sighted. */
const MOMENT = 'coalesce(cpids.merged_ns, cpids.first_seen_ms * 1000000)'

interface RelatedBind {
  from: number
  rank: bigint
  time: bigint
  id: bigint
}

interface AncestorRow {
  id: number
  in_degree: number
}

/** Walks the merge graph by the numbers of its CPIDs. */
export class GraphWalk {
  readonly #inOrder: Statement<[RelatedBind], number>
  readonly #sighted: Statement<[{ from: number; least: number }], number>
  readonly #self: Statement<[number], AncestorRow>
  readonly #sources: Statement<[string], AncestorRow>

  constructor(db: Sqlite) {
    this.#inOrder = db
      .prepare<[RelatedBind], number>(
        `${RELATED}
         SELECT related.id FROM related JOIN cpids ON cpids.id = related.id
         WHERE (related.id <> @from, ${MOMENT}, related.id) > (@rank, @time, @id)
         ORDER BY related.id <> @from, ${MOMENT}, related.id`,
      )
      .pluck()
    this.#sighted = db
      .prepare<[{ from: number; least: number }], number>(
        `${RELATED} SELECT id FROM related WHERE id >= @least ORDER BY id`,
      )
      .pluck()
    this.#self = db.prepare('SELECT id, in_degree FROM cpids WHERE id = ?')
    this.#sources = db.prepare(
      `SELECT DISTINCT cpids.id, cpids.in_degree FROM json_each(?) wanted JOIN edges ON edges.target = wanted.value
       JOIN cpids ON cpids.id = edges.source ORDER BY ${MOMENT}, cpids.id`,
    )
  }

  /** The CPID and its descendants, itself first, then by time; `after` is rank (0 for itself), time and number. */
  related(from: number, after: Position = []): number[] {
    const [rank = -1n, time = 0n, id = 0n] = after
    return this.#inOrder.all({ from, rank, time, id })
  }

  /** The same in the order of first sighting, beginning with a number. */
  relatedBySighting(from: number, least: number): number[] {
    return this.#sighted.all({ from, least })
  }

  /** The ancestors of a CPID, nearest first, ties by time. */
  ancestors(id: number): number[] {
    return this.#climb(id)
      .filter((node) => node.id !== id)
      .map((node) => node.id)
  }

  /** Those of its ancestors and itself that no edge points to. */
  roots(id: number): number[] {
    return this.#climb(id)
      .filter((node) => node.in_degree === 0)
      .map((node) => node.id)
  }

  /** Level by level, since one recursive query knows the distance only of paths, of which there may be very many. */
  #climb(id: number): AncestorRow[] {
    const climbed = this.#self.all(id)
    const seen = new Set([id])
    let level = [id]
    while (level.length > 0) {
      const above = this.#sources.all(JSON.stringify(level)).filter((node) => !seen.has(node.id))
      for (const node of above) {
        seen.add(node.id)
        climbed.push(node)
      }
      level = above.map((node) => node.id)
    }
    return climbed
  }
}
