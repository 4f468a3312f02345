import type { Statement } from 'better-sqlite3'
import type { Facets } from '../../model/ports/query-port.ts'
import { kindOfObject } from '../../model/object-reference.ts'
import type { Sqlite } from '../open-database.ts'

/** How many of the newest resources and objects are looked at. */
const LATELY = 5_000
const MOST = 200

/** Reads which services, clusters, actors, namespaces and kinds of objects came up lately. */
export class FacetsReader {
  readonly #services: Statement<[], string>
  readonly #clusters: Statement<[], string>
  readonly #objects: Statement<[], string>
  readonly #actors: Statement<[], string>
  readonly #namespaces: Statement<[], string>

  constructor(db: Sqlite) {
    const newest = `(SELECT service, cluster FROM resources ORDER BY id DESC LIMIT ${LATELY})`
    this.#services = db
      .prepare<[], string>(
        `SELECT DISTINCT service FROM ${newest} WHERE service <> '' ORDER BY 1 LIMIT ${MOST}`,
      )
      .pluck()
    this.#clusters = db
      .prepare<[], string>(
        `SELECT DISTINCT cluster FROM ${newest} WHERE cluster <> '' ORDER BY 1 LIMIT ${MOST}`,
      )
      .pluck()
    const inNewestTraces = (column: string, table: string): Statement<[], string> =>
      db
        .prepare<[], string>(
          `SELECT DISTINCT ${column} FROM (SELECT ${column} FROM ${table} ORDER BY trace DESC LIMIT ${LATELY})
           ORDER BY 1 LIMIT ${MOST}`,
        )
        .pluck()
    this.#actors = inNewestTraces('actor', 'trace_actors')
    this.#namespaces = inNewestTraces('namespace', 'trace_namespaces')
    this.#objects = db
      .prepare<[], string>(`SELECT object FROM objects ORDER BY id DESC LIMIT ${LATELY}`)
      .pluck()
  }

  read(): Facets {
    const kinds = new Set(this.#objects.all().flatMap((object) => kindOfObject(object) ?? []))
    return {
      services: this.#services.all(),
      clusters: this.#clusters.all(),
      actors: this.#actors.all(),
      namespaces: this.#namespaces.all(),
      kinds: [...kinds].sort().slice(0, MOST),
    }
  }
}
