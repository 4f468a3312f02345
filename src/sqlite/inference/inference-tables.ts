import type { Statement } from 'better-sqlite3'
import type { InferenceStore, StoredObservationBatch } from '../../model/ports/inference-port.ts'
import type { AskedHeld, HeldObject } from '../../model/ports/observation-port.ts'
import type { Cached } from '../../model/ports/transactor.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import { ActedRows } from './acted-rows.ts'
import { SqliteClusterObjects, type InferenceRows } from './cluster-objects.ts'
import { ObservedRemoval } from './observed-removal.ts'
import { ObjectRows } from './object-rows.ts'
import { RelationRows } from './relation-rows.ts'

/** What inference keeps of clusters, in SQLite. */
export class InferenceTables implements InferenceStore, Cached {
  readonly #progress: Progress
  readonly #rows: InferenceRows
  readonly #sought: ReadonlySet<string>
  readonly #clusters = new Map<string, number>()
  readonly #objects = new Map<number, SqliteClusterObjects>()
  readonly #removal: ObservedRemoval
  readonly #findCluster: Statement<[string], number>
  readonly #addCluster: Statement
  readonly #toldNow: Statement
  readonly #addTelling: Statement
  readonly #removeTellings: Statement
  readonly #tellings: Statement<[number, number], StoredObservationBatch>
  readonly #move: Statement
  readonly #position: Statement<[string, string], string>

  /** `sought`: references by which objects are asked for. */
  constructor(db: Sqlite, progress: Progress, sought: ReadonlySet<string>) {
    this.#progress = progress
    this.#sought = sought
    this.#rows = {
      objects: new ObjectRows(db),
      relations: new RelationRows(db),
      acted: new ActedRows(db),
    }
    this.#removal = new ObservedRemoval(db, this.#rows)
    this.#findCluster = db.prepare<[string], number>('SELECT id FROM k8s_clusters WHERE name = ?').pluck()
    this.#addCluster = db.prepare('INSERT INTO k8s_clusters (name, told_ms) VALUES (?, ?)')
    this.#toldNow = db.prepare('UPDATE k8s_clusters SET told_ms = ? WHERE id = ?')
    this.#addTelling = db.prepare('INSERT INTO k8s_tellings (cluster, body) VALUES (?, ?)')
    this.#removeTellings = db.prepare('DELETE FROM k8s_tellings WHERE cluster = ? AND id <= ?')
    this.#tellings = db.prepare<[number, number], StoredObservationBatch>(
      `SELECT t.id, c.name AS cluster, t.body FROM k8s_tellings t JOIN k8s_clusters c ON c.id = t.cluster
         WHERE t.id > ? ORDER BY t.id LIMIT ?`,
    )
    this.#move = db.prepare(
      `INSERT INTO k8s_streams (cluster, stream, position) VALUES (?, ?, ?)
         ON CONFLICT (cluster, stream) DO UPDATE SET position = excluded.position`,
    )
    this.#position = db
      .prepare<[string, string], string>(
        `SELECT s.position FROM k8s_clusters c JOIN k8s_streams s ON s.cluster = c.id WHERE c.name = ? AND s.stream = ?`,
      )
      .pluck()
  }

  objectsOf(cluster: string): SqliteClusterObjects {
    const id = this.#idOf(cluster)
    const known = this.#objects.get(id)
    if (known !== undefined) return known
    const objects = new SqliteClusterObjects(id, this.#rows, this.#sought, this.#progress)
    this.#objects.set(id, objects)
    return objects
  }

  addTelling(cluster: string, body: Uint8Array): number {
    return Number(this.#addTelling.run(this.#toldOf(cluster), body).lastInsertRowid)
  }

  removeTellings(cluster: string, upTo: number): void {
    this.#removeTellings.run(this.#idOf(cluster), upTo)
  }

  tellings(after: number, most: number): StoredObservationBatch[] {
    return this.#tellings.all(after, most)
  }

  moveTo(cluster: string, stream: string, position: string): void {
    this.#move.run(this.#toldOf(cluster), stream, position)
  }

  position(cluster: string, stream: string): string | undefined {
    return this.#position.get(cluster, stream)
  }

  held(asked: AskedHeld): HeldObject[] {
    const id = this.#findCluster.get(asked.cluster)
    return id === undefined ? [] : this.#rows.objects.held(id, asked)
  }

  forget(): void {
    this.#clusters.clear()
    for (const objects of this.#objects.values()) objects.forget()
  }

  /** Removes a step of what nobody can ask for any more; true when there is more. */
  keep(): boolean {
    return this.#removal.turn(this.#progress.activeMs, (cluster, uid) => {
      this.#objects.get(cluster)?.drop(uid)
      this.#clusters.clear()
    })
  }

  /** The number of a cluster that is told of now. */
  #toldOf(cluster: string): number {
    const id = this.#idOf(cluster)
    this.#toldNow.run(this.#progress.activeMs, id)
    return id
  }

  #idOf(cluster: string): number {
    const cached = this.#clusters.get(cluster)
    if (cached !== undefined) return cached
    const id =
      this.#findCluster.get(cluster) ??
      Number(this.#addCluster.run(cluster, this.#progress.activeMs).lastInsertRowid)
    this.#clusters.set(cluster, id)
    return id
  }
}
