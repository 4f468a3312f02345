import type { Statement } from 'better-sqlite3'
import { type Cpid, cpidOfBytes, cpidOfDigits, type CpidPrefix } from '../../model/merge-graph.ts'
import {
  type Absent,
  type CpidFacts,
  type GraphAround,
  type GraphNode,
  type MergelogFacts,
  type Pages,
  type Position,
  textOrNone,
} from '../../model/queries.ts'
import { cpidsOf } from './merge-graph.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { type BytesRead, TooMuchRead } from './record-queries.ts'
import { SupersededVersions } from './superseded-versions.ts'

const CPIDS_A_PAGE = 500
/** Sorts after every digit and the dash. */
const BEHIND_DIGITS = 'g'

/** Converts CPIDs to their ids and back. */
export class CpidLookup extends OnConnection {
  readonly #find = this.db.prepare<[Cpid], { id: number; state: number }>(
    'SELECT id, state FROM cpids WHERE text = +?',
  )
  readonly #beginning = this.column<[string, string, number], Cpid>(
    'SELECT text FROM cpids WHERE text >= ? AND text < ? ORDER BY text LIMIT ?',
  )
  readonly #uuids = this.column<[string], string | null>(
    `SELECT group_concat(lower(hex(cpids.uuid)), '' ORDER BY wanted.key)
       FROM json_each(?) wanted JOIN cpids ON cpids.id = wanted.value`,
  )

  /** The id of a live CPID. */
  find(cpid: Cpid): number | Absent {
    const row = this.#find.get(cpid)
    if (row === undefined) return 'unknown'
    return row.state === 0 ? row.id : 'pruned'
  }

  /** The id of a CPID, also of a tombstone. */
  findEvenPruned(cpid: Cpid): number | undefined {
    return this.#find.get(cpid)?.id
  }

  /** CPIDs with this prefix, including tombstones, at most `limit`; scans one range of the index. */
  beginning(prefix: CpidPrefix, limit: number): Cpid[] {
    return this.#beginning.all(prefix, prefix + BEHIND_DIGITS, limit)
  }

  cpids(ids: readonly number[]): Cpid[] {
    // One JSON text for all: a row for each would double the time.
    const digits = this.#uuids.get(JSON.stringify(ids)) ?? ''
    const cpids: Cpid[] = []
    for (let at = 0; at < digits.length; at += 32) cpids.push(cpidOfDigits(digits.slice(at, at + 32)))
    return cpids
  }

  /** The CPIDs with these ids, in the same order. */
  *pages(ids: readonly number[]): Pages<Cpid> & Generator<Cpid[]> {
    for (let at = 0; at < ids.length; at += CPIDS_A_PAGE) yield this.cpids(ids.slice(at, at + CPIDS_A_PAGE))
  }
}

const RELATED_IDS =
  'SELECT @from UNION SELECT edges.target FROM related JOIN edges ON edges.source = related.id'
const RELATED = `WITH RECURSIVE related (id) AS (${RELATED_IDS})`

/** The time by which a CPID is sorted: its mergelog's, or else its first sighting. */
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

/** Walks the merge graph by the ids of CPIDs. */
export class GraphWalk extends OnConnection {
  readonly #read: Pick<BytesRead, 'maxCpids'>
  readonly #reached = this.column<[{ from: number; most: number }], number>(
    `WITH RECURSIVE related (id) AS (${RELATED_IDS} LIMIT @most) SELECT count(*) FROM related`,
  )
  readonly #inOrder = this.column<[RelatedBind], number>(
    `${RELATED}
       SELECT related.id FROM related JOIN cpids ON cpids.id = related.id
       WHERE (related.id <> @from, ${MOMENT}, related.id) > (@rank, @time, @id)
       ORDER BY related.id <> @from, ${MOMENT}, related.id`,
  )
  readonly #sighted = this.column<[{ from: number; least: number }], number>(
    `${RELATED} SELECT id FROM related WHERE id >= @least ORDER BY id`,
  )
  readonly #self = this.db.prepare<[number], AncestorRow>('SELECT id, in_degree FROM cpids WHERE id = ?')
  readonly #sources = this.db.prepare<[string], AncestorRow>(
    `SELECT DISTINCT cpids.id, cpids.in_degree FROM json_each(?) wanted JOIN edges ON edges.target = wanted.value
       JOIN cpids ON cpids.id = edges.source ORDER BY ${MOMENT}, cpids.id`,
  )

  constructor(db: Sqlite, read: Pick<BytesRead, 'maxCpids'>) {
    super(db)
    this.#read = read
  }

  /** The CPID and its descendants, itself first, then by time. `after` is a position: rank (0 for itself), time and id. */
  related(from: number, after: Position = []): number[] {
    this.#holdToAllowance(from)
    const [rank = -1n, time = 0n, id = 0n] = after
    return this.#inOrder.all({ from, rank, time, id })
  }

  /** The CPID and its descendants by first sighting, from the id `least` on. */
  relatedBySighting(from: number, least: number): number[] {
    this.#holdToAllowance(from)
    return this.#sighted.all({ from, least })
  }

  /** Sorting all related CPIDs takes one statement, which cannot be interrupted. */
  #holdToAllowance(from: number): void {
    const { maxCpids } = this.#read
    if (maxCpids === Infinity) return
    const reached = this.#reached.get({ from, most: maxCpids + 1 }) ?? 0
    if (reached > maxCpids) throw new TooMuchRead(`more than ${maxCpids} CPIDs were reached`)
  }

  /** The ancestors of a CPID, nearest first, then by time. */
  ancestors(id: number): number[] {
    return this.#climb(id)
      .filter((node) => node.id !== id)
      .map((node) => node.id)
  }

  /** The roots among the CPID and its ancestors. */
  roots(id: number): number[] {
    return this.#climb(id)
      .filter((node) => node.in_degree === 0)
      .map((node) => node.id)
  }

  /** Climbs level by level: a recursive query would compute a distance for each path, and there may be very many. */
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

const EDGES_A_PAGE = 200

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
export class GraphAroundReader extends OnConnection {
  readonly #above = this.#step('target', 'source')
  readonly #below = this.#step('source', 'target')
  readonly #nodes = this.exactRows<[string], NodeRow>(
    `SELECT cpids.id, cpids.uuid, cpids.in_degree, ${CPID_IS_EXPLAINED} AS explained, mergelogs.time_ns,
         mergelogs.object, mergelogs.reason, resources.service, resources.cluster
       FROM json_each(?) wanted JOIN cpids ON cpids.id = wanted.value
       LEFT JOIN mergelogs ON mergelogs.cpid = cpids.id
       LEFT JOIN scopes ON scopes.id = mergelogs.scope
       LEFT JOIN resources ON resources.id = scopes.resource ORDER BY wanted.key`,
  )
  readonly #edges = this.db.prepare<[string, string], EdgeRow>(
    `SELECT source_cpid.uuid AS source, target_cpid.uuid AS target
       FROM json_each(?) wanted JOIN edges ON edges.target = wanted.value
       JOIN cpids source_cpid ON source_cpid.id = edges.source
       JOIN cpids target_cpid ON target_cpid.id = edges.target
       WHERE edges.source IN (SELECT value FROM json_each(?)) ORDER BY edges.target, edges.source`,
  )
  readonly #superseded: SupersededVersions

  constructor(db: Sqlite) {
    super(db)
    this.#superseded = new SupersededVersions(db)
  }

  #step(from: string, to: string): Statement<[string, number], number> {
    return this.column<[string, number], number>(
      `SELECT DISTINCT edges.${to} FROM json_each(?) wanted JOIN edges ON edges.${from} = wanted.value ORDER BY 1 LIMIT ?`,
    )
  }

  /** Alternates between levels above and below, so that what the limit leaves out is farthest away. */
  around(middle: number, limit: number): GraphAround {
    const distances = new Map([[middle, 0]])
    let [above, below] = [[middle], [middle]]
    const cut = { truncated: false }
    const widen = (level: number[], statement: Statement<[string, number], number>, at: number): number[] => {
      if (level.length === 0) return level
      // The limit plus one: CPIDs that are known already may come first.
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
    return this.#nodes.all(JSON.stringify([...distances.keys()])).map((row) => {
      const isRoot = row.in_degree === 0n
      return {
        cpid: cpidOfBytes(row.uuid),
        timeNs: row.time_ns ?? undefined,
        service: textOrNone(row.service),
        object: textOrNone(row.object),
        reason: textOrNone(row.reason),
        cluster: textOrNone(row.cluster),
        root: isRoot,
        explained: row.explained === 1n,
        distance: distances.get(Number(row.id)) ?? 0,
        supersededBy: isRoot ? this.#superseded.by(row.object ?? '') : undefined,
      }
    })
  }

  *#edgesAmong(
    ids: readonly number[],
  ): Pages<{ source: Cpid; target: Cpid }> & Generator<{ source: Cpid; target: Cpid }[]> {
    const all = JSON.stringify(ids)
    for (let at = 0; at < ids.length; at += EDGES_A_PAGE) {
      yield this.#edges
        .all(JSON.stringify(ids.slice(at, at + EDGES_A_PAGE)), all)
        .map(({ source, target }) => ({ source: cpidOfBytes(source), target: cpidOfBytes(target) }))
    }
  }
}

const MERGELOGS_A_PAGE = 200

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
export class MergelogFactsReader extends OnConnection {
  readonly #cpid = this.exactRows<[number], CpidRow>(
    `SELECT cpids.uuid, ${CPID_IS_EXPLAINED} AS explained, mergelogs.time_ns, mergelogs.sources, mergelogs.object, resources.service
       FROM cpids LEFT JOIN mergelogs ON mergelogs.cpid = cpids.id ${SENDER} WHERE cpids.id = ?`,
  )
  readonly #of = this.exactRows<[string], MergelogRow>(
    `SELECT ${COLUMNS} FROM json_each(?) wanted JOIN mergelogs ON mergelogs.cpid = wanted.value
       JOIN cpids ON cpids.id = mergelogs.cpid
       ${SENDER} ORDER BY wanted.key`,
  )
  readonly #all = this.exactRows<[bigint, bigint, number], MergelogRow>(
    `SELECT ${COLUMNS} FROM mergelogs JOIN cpids ON cpids.id = mergelogs.cpid ${SENDER}
       WHERE (mergelogs.time_ns, mergelogs.arrival) > (?, ?) ORDER BY mergelogs.time_ns, mergelogs.arrival LIMIT ?`,
  )

  cpid(id: number): CpidFacts | undefined {
    const row = this.#cpid.get(id)
    return row === undefined
      ? undefined
      : {
          cpid: cpidOfBytes(row.uuid),
          timeNs: row.time_ns ?? undefined,
          sources: row.sources === null ? undefined : cpidsOf(row.sources),
          explained: row.explained === 1n,
          service: textOrNone(row.service),
          object: textOrNone(row.object),
        }
  }

  /** The mergelogs of these CPIDs, in the same order. `first` comes first, whatever its time. */
  *of(ids: readonly number[], first: number): Pages<MergelogFacts> & Generator<MergelogFacts[]> {
    for (let at = 0; at < ids.length; at += MERGELOGS_A_PAGE) {
      const rows = this.#of.all(JSON.stringify(ids.slice(at, at + MERGELOGS_A_PAGE)))
      yield rows.map((row) => factsOf(row, [row.id === BigInt(first) ? 0n : 1n, row.time_ns, row.id]))
    }
  }

  *all(after: Position = []): Pages<MergelogFacts> & Generator<MergelogFacts[]> {
    let [time = -1n, arrival = 0n] = after
    for (;;) {
      const rows = this.#all.all(time, arrival, MERGELOGS_A_PAGE)
      yield rows.map((row) => factsOf(row, [row.time_ns, row.arrival]))
      const last = rows.at(-1)
      if (last === undefined || rows.length < MERGELOGS_A_PAGE) return
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
    service: textOrNone(row.service),
    object: textOrNone(row.object),
    reason: textOrNone(row.reason),
    cluster: textOrNone(row.cluster),
  }
}

/**
 * Whether the mergelogs of a row of `cpids` and all its ancestors have arrived. The graph also counts a pruned CPID that is seen again as
 * explained, though its mergelog is gone.
 */
const CPID_IS_EXPLAINED = 'cpids.explained AND cpids.has_mergelog AND cpids.unexplained_sources = 0'
