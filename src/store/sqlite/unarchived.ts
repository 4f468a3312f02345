import type { Statement } from 'better-sqlite3'
import type { ArchivedCascade, ArchivedEdge, CpidMoment, Unarchived } from '../../model/archive.ts'
import { type Cpid, cpidOfBytes } from '../../model/merge-graph.ts'
import { CASCADE } from './archive-reader.ts'
import { type Row, cascadeOf } from './archived-rows.ts'
import { ArchivePositions, CHANGED } from './archives.ts'
import { cpidsOf } from './merge-graph.ts'
import { OnConnection, type Sqlite } from './open-database.ts'

/** The most changes that are searched for traces, and for spans. */
const CHANGES = 50_000

const STEPS = {
  below: `UNION SELECT e.target FROM reached r CROSS JOIN edges e ON e.source = r.id)
    SELECT s.uuid AS source, t.uuid AS cpid FROM reached r CROSS JOIN edges e ON e.source = r.id
    CROSS JOIN cpids s ON s.id = e.source CROSS JOIN cpids t ON t.id = e.target LIMIT ?`,
  above: `UNION SELECT e.source FROM reached r CROSS JOIN edges e ON e.target = r.id)
    SELECT s.uuid AS source, t.uuid AS cpid FROM reached r CROSS JOIN edges e ON e.target = r.id
    CROSS JOIN cpids s ON s.id = e.source CROSS JOIN cpids t ON t.id = e.target LIMIT ?`,
}

type MomentRow = { state: bigint; merged_ns: bigint | null; first_seen_ms: bigint }
type EdgesStatement = Statement<[string, number], { source: Buffer; cpid: Buffer }>

/** Reads what archives lack, through a read-only connection. */
export class SqliteUnarchived extends OnConnection implements Unarchived {
  readonly #positions: ArchivePositions
  readonly #edges: Readonly<Record<'above' | 'below', EdgesStatement>>
  readonly #sources = this.column<[string], Buffer>(
    'SELECT m.sources FROM cpids c CROSS JOIN mergelogs m ON m.cpid = c.id WHERE c.text = +?',
  )
  readonly #moment = this.exactRows<[string], MomentRow>(
    'SELECT state, merged_ns, first_seen_ms FROM cpids WHERE text = +?',
  )
  readonly #cascade = this.exactRows<[number], Row>(CASCADE)

  constructor(db: Sqlite) {
    super(db)
    this.#positions = new ArchivePositions(db)
    const edges = (direction: 'above' | 'below'): EdgesStatement =>
      db.prepare(`WITH RECURSIVE reached (id) AS
        (SELECT cpids.id FROM json_each(?) wanted CROSS JOIN cpids ON cpids.text = +wanted.value ${STEPS[direction]}`)
    this.#edges = { above: edges('above'), below: edges('below') }
  }

  position(): ReturnType<Unarchived['position']> {
    const archives = [...this.#positions.all().values()]
    const [first] = archives
    if (first === undefined) return undefined
    const least = (of: 'arrival' | 'change'): number =>
      Math.min(...archives.map(({ position }) => position[of]))
    return { instance: first.instance, arrival: least('arrival'), change: least('change') }
  }

  cascades(change: number | undefined, most: number): { traces: ArchivedCascade[]; isCut: boolean } {
    const { ids, isCut } = change === undefined ? this.#newest(most) : this.#changed(change, most)
    return { traces: ids.flatMap((id) => this.#cascade.all(id).map(cascadeOf)), isCut }
  }

  #newest(most: number): { ids: number[]; isCut: boolean } {
    const ids = this.#ids('SELECT id FROM traces ORDER BY id DESC LIMIT ?', most + 1)
    return { ids: ids.slice(0, most), isCut: ids.length > most }
  }

  #changed(change: number, most: number): { ids: number[]; isCut: boolean } {
    const changes = '(SELECT kind, item FROM archive_changes WHERE change > ? ORDER BY change DESC LIMIT ?)'
    const ids = this.#ids(
      `SELECT item FROM ${changes} WHERE kind = ${CHANGED.trace}
       UNION SELECT t.id FROM ${changes} x CROSS JOIN traces t ON t.root = x.item WHERE x.kind = ${CHANGED.replacedMergelog}
       ORDER BY 1 DESC LIMIT ?`,
      ...[change, CHANGES, change, CHANGES, most + 1],
    )
    const [looked = 0] = this.#ids(`SELECT count(*) FROM ${changes}`, change, CHANGES)
    return { ids: ids.slice(0, most), isCut: ids.length > most || looked === CHANGES }
  }

  #ids(sql: string, ...values: number[]): number[] {
    return this.column<number[], number>(sql).all(...values)
  }

  attributed(change: number): ReadonlyMap<number, Cpid> {
    const rows = this.db
      .prepare<[number, number], { id: number; uuid: Buffer }>(
        `SELECT s.id, c.uuid FROM archive_changes x CROSS JOIN spans s ON s.id = x.item CROSS JOIN cpids c ON c.id = s.cpid
         WHERE x.change > ? AND x.kind = ${CHANGED.spanCpid} ORDER BY x.change DESC LIMIT ?`,
      )
      .all(change, CHANGES)
    return new Map(rows.map(({ id, uuid }) => [id, cpidOfBytes(uuid)]))
  }

  edges(direction: 'above' | 'below', from: readonly Cpid[], most: number): ArchivedEdge[] {
    return this.#edges[direction]
      .all(JSON.stringify(from), most)
      .map(({ source, cpid }) => ({ source: cpidOfBytes(source), cpid: cpidOfBytes(cpid) }))
  }

  sourcesOf(cpid: Cpid): readonly Cpid[] | undefined {
    const sources = this.#sources.get(cpid)
    return sources === undefined ? undefined : cpidsOf(sources)
  }

  momentOf(cpid: Cpid): CpidMoment | undefined {
    const row = this.#moment.get(cpid)
    return row === undefined
      ? undefined
      : {
          isPruned: row.state !== 0n,
          timeNs: row.merged_ns ?? undefined,
          firstSeenMs: Number(row.first_seen_ms),
        }
  }
}
