import type { Statement } from 'better-sqlite3'
import type { ContentReference, ObjectFacts, ObjectIdentity } from '../../model/kubernetes/object-facts.ts'
import type { Sqlite } from '../open-database.ts'

/** What of an object's newest version others are found by. */
export interface Indexed {
  readonly version: bigint
  readonly facts: ObjectFacts
}

/** Who owns whom, and whose content names whom: that of the newest version of each object, as rows. */
export class RelationRows {
  readonly #addOwner: Statement
  readonly #dropOwner: Statement
  readonly #owned: Statement<[number, string, string, bigint, number], number>
  readonly #addReference: Statement
  readonly #dropReference: Statement
  readonly #naming: Statement<[number, string, string, string, string, string, number], number>

  constructor(db: Sqlite) {
    this.#addOwner = db.prepare(
      'INSERT OR IGNORE INTO k8s_owners (cluster, owner, resource, version, object) VALUES (?, ?, ?, ?, ?)',
    )
    this.#dropOwner = db.prepare(
      'DELETE FROM k8s_owners WHERE cluster = ? AND owner = ? AND resource = ? AND version = ? AND object = ?',
    )
    this.#owned = db
      .prepare<[number, string, string, bigint, number], number>(
        `SELECT object FROM k8s_owners WHERE cluster = ? AND owner = ? AND resource = ? AND version > ?
           ORDER BY version DESC LIMIT ?`,
      )
      .pluck()
    this.#addReference = db.prepare(
      `INSERT OR IGNORE INTO k8s_references (cluster, resource, namespace, name, field, by_resource, object)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#dropReference = db.prepare(
      `DELETE FROM k8s_references WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? AND field = ?
         AND by_resource = ? AND object = ?`,
    )
    this.#naming = db
      .prepare<[number, string, string, string, string, string, number], number>(
        `SELECT object FROM k8s_references WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? AND field = ?
           AND by_resource = ? LIMIT ?`,
      )
      .pluck()
  }

  /** Finds an object by its newest version instead of the one before. Only references that are sought are kept. */
  replace(
    cluster: number,
    { id, resource }: { id: number; resource: string },
    before: Indexed | undefined,
    after: Indexed | undefined,
    isSought: (field: string) => boolean,
  ): void {
    const run = (statement: Statement, { version, facts }: Indexed): void => {
      for (const { uid } of facts.owners) statement.run(cluster, uid, resource, version, id)
    }
    if (before !== undefined) run(this.#dropOwner, before)
    if (after !== undefined) run(this.#addOwner, after)
    const named = (indexed: Indexed | undefined): ContentReference[] =>
      indexed?.facts.references.filter(({ field }) => isSought(field)) ?? []
    for (const one of named(before))
      this.#dropReference.run(cluster, one.resource, one.namespace, one.name, one.field, resource, id)
    for (const one of named(after))
      this.#addReference.run(cluster, one.resource, one.namespace, one.name, one.field, resource, id)
  }

  /** What somebody owns, by its newest version, those above a version; newest first. */
  owned(cluster: number, owner: string, resource: string, above: bigint, most: number): number[] {
    return this.#owned.all(cluster, owner, resource, above, most)
  }

  /** Objects of the resource `by` whose content names an object as a field. */
  naming(
    cluster: number,
    field: string,
    by: string,
    { resource, namespace, name }: ObjectIdentity,
    most: number,
  ): number[] {
    return this.#naming.all(cluster, resource, namespace, name, field, by, most)
  }
}
