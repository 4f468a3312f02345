import type { Statement } from 'better-sqlite3'
import { scopeEnvelope, serviceEnvelope } from '../../otlp/write/own-envelopes.ts'
import type { Interner } from '../writer/interner.ts'
import type { Sqlite } from '../open-database.ts'

const OWN_SERVICE = { envelope: serviceEnvelope('causeway'), service: 'causeway', cluster: undefined }
const OWN_SCOPE = scopeEnvelope('causeway')

/** The scopes of spans of Causeway's own making. */
export class SyntheticScopes {
  readonly #interner: Interner
  readonly #resourceOf: Statement<[number], number>

  constructor(db: Sqlite, interner: Interner) {
    this.#interner = interner
    this.#resourceOf = db.prepare<[number], number>('SELECT resource FROM scopes WHERE id = ?').pluck()
  }

  /** The scope `causeway` under the resource of another scope, or under Causeway's own. */
  under(senderScope: number | undefined): number {
    const resource = senderScope === undefined ? undefined : this.#resourceOf.get(senderScope)
    return resource === undefined
      ? this.#interner.scope(OWN_SERVICE, OWN_SCOPE)
      : this.#interner.scopeOf(resource, OWN_SCOPE)
  }
}
