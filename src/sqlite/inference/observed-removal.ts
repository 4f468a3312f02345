import type { Statement } from 'better-sqlite3'
import { Sweep } from '../keeping/sweep.ts'
import type { Sqlite } from '../open-database.ts'
import type { InferenceRows } from './cluster-objects.ts'

const HOUR_MS = 3_600_000
/** What is collected as garbage after its owner goes within minutes: of longer ones nothing follows. */
const GONE_KEPT_MS = HOUR_MS
/** In a cluster that makes and removes more than that in an hour, fewer are kept. */
const MOST_GONE = 50_000
/** Where no watch tells what went, such as in an audit log of requests that delete many, objects stay that are not there. */
const MOST_OBJECTS = 1_000_000
/** A cluster of which nobody tells that long, while Causeway runs, is not configured any more. */
const CLUSTER_KEPT_MS = 7 * 24 * HOUR_MS
/** By then no source tells of a request again. */
const TOLD_KEPT_MS = 24 * HOUR_MS
const STEP = 200
const STEP_OF_ROWS = 1_000

interface Removable {
  id: number
  cluster: number
}

/** Removes objects that went, and clusters that nobody watches any more, a step at a time. */
export class ObservedRemoval {
  readonly #rows: InferenceRows
  readonly #gone: Statement<[number], Removable>
  readonly #goneTooMany: Statement<[], number>
  readonly #oldest: Statement<[], Removable>
  readonly #last: Statement<[], number>
  readonly #leftCluster: Statement<[number], number>
  readonly #ofCluster: Statement<[number], Removable>
  readonly #dropCluster: readonly Statement[]
  readonly #acted: Sweep
  readonly #oldTold: Statement

  constructor(db: Sqlite, rows: InferenceRows) {
    this.#rows = rows
    this.#gone = db.prepare(
      `SELECT id, cluster FROM k8s_objects WHERE gone_ms < ? ORDER BY gone_ms LIMIT ${STEP}`,
    )
    this.#goneTooMany = db
      .prepare<[], number>(
        `SELECT gone_ms FROM k8s_objects WHERE gone_ms IS NOT NULL ORDER BY gone_ms DESC LIMIT 1 OFFSET ${MOST_GONE}`,
      )
      .pluck()
    this.#oldest = db.prepare(`SELECT id, cluster FROM k8s_objects ORDER BY id LIMIT ${STEP}`)
    this.#last = db
      .prepare<[], number>(`SELECT id FROM k8s_objects ORDER BY id DESC LIMIT 1 OFFSET ${MOST_OBJECTS}`)
      .pluck()
    this.#leftCluster = db
      .prepare<[number], number>('SELECT id FROM k8s_clusters WHERE told_ms < ? ORDER BY id LIMIT 1')
      .pluck()
    this.#ofCluster = db.prepare(`SELECT id, cluster FROM k8s_objects WHERE cluster = ? LIMIT ${STEP}`)
    const some = (table: string, key: string): Statement =>
      db.prepare(
        `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE cluster = ? LIMIT ${STEP_OF_ROWS})`,
      )
    this.#dropCluster = [
      some('k8s_told_requests', 'id'),
      some('k8s_acted', 'id'),
      some('k8s_tellings', 'id'),
      db.prepare('DELETE FROM k8s_streams WHERE cluster = ?'),
      db.prepare('DELETE FROM k8s_clusters WHERE id = ?'),
    ]
    this.#oldTold = db.prepare(
      `DELETE FROM k8s_told_requests WHERE id < (SELECT min(id) FROM k8s_told_requests) + ${STEP_OF_ROWS} AND told_ms < ?`,
    )
    this.#acted = new Sweep(db, {
      table: 'k8s_acted',
      key: ['id'],
      useless: 'NOT EXISTS (SELECT 1 FROM k8s_objects o WHERE o.cluster = a.cluster AND o.uid = a.uid)',
    })
  }

  /** Removes some, and says which; true when there are more. `nowMs` is up time. */
  turn(nowMs: number, onRemoved: (cluster: number, uid: string) => void): boolean {
    const isSwept =
      this.#acted.turn(nowMs) || this.#oldTold.run(nowMs - TOLD_KEPT_MS).changes === STEP_OF_ROWS
    const goneBefore = Math.max(nowMs - GONE_KEPT_MS, this.#goneTooMany.get() ?? 0)
    const gone = this.#gone.all(goneBefore)
    const left = this.#leftCluster.get(nowMs - CLUSTER_KEPT_MS)
    const ofLeft = left === undefined ? [] : this.#ofCluster.all(left)
    const tooMany = this.#last.get() === undefined ? [] : this.#oldest.all()
    for (const { id, cluster } of [...gone, ...ofLeft, ...tooMany]) this.#remove(id, cluster, onRemoved)
    const isLeft = left !== undefined && ofLeft.length === 0
    if (isLeft && this.#removeCluster(left)) onRemoved(left, '')
    return isSwept || [gone, ofLeft, tooMany].some(({ length }) => length === STEP) || isLeft
  }

  #remove(id: number, cluster: number, onRemoved: (cluster: number, uid: string) => void): void {
    const object = this.#rows.objects.remove(id)
    if (object === undefined) return
    const { uid, resource } = object.identity
    this.#rows.relations.replace(cluster, { id, resource }, object.versions[0], undefined, () => true)
    this.#rows.acted.remove(cluster, uid)
    onRemoved(cluster, uid)
  }

  /** A step at a time; true when nothing of it is left. */
  #removeCluster(cluster: number): boolean {
    return this.#dropCluster.every((statement) => statement.run(cluster).changes < STEP_OF_ROWS)
  }
}
