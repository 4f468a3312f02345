import type { Statement } from 'better-sqlite3'
import type { Facets } from '../../model/ports/query-port.ts'
import { kindOfObject } from '../../model/object-reference.ts'
import type { Sqlite } from '../open-database.ts'

/** How many of the newest resources and objects are looked at. */
const LATELY = 5_000
const MOST = 200

/** Reads which services, clusters and kinds of objects came up lately. */
export class FacetsReader {
  readonly #services: Statement<[], string>
  readonly #clusters: Statement<[], string>
  readonly #objects: Statement<[], string>

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
    this.#objects = db
      .prepare<[], string>(`SELECT object FROM objects ORDER BY id DESC LIMIT ${LATELY}`)
      .pluck()
  }

  read(): Facets {
    const kinds = new Set(this.#objects.all().flatMap((object) => kindOfObject(object) ?? []))
    return {
      services: this.#services.all(),
      clusters: this.#clusters.all(),
      kinds: [...kinds].sort().slice(0, MOST),
    }
  }
}
