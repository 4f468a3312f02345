import type { Statement } from 'better-sqlite3'
import type { LinkScopes } from '../../model/ports/linking/changes.ts'
import { scopeEnvelope, serviceEnvelope } from '../../otlp/write/own-envelopes.ts'
import type { Sqlite } from '../open-database.ts'
import type { Interner } from '../writer/interner.ts'
import { ScopeFacts } from './scope-facts.ts'

const OWN_SERVICE = { envelope: serviceEnvelope('causeway'), service: 'causeway', cluster: undefined }
const OWN_SCOPE = scopeEnvelope('causeway')

/** What stands behind scopes, and the scopes of spans of Causeway's own making. */
export class LinkScopeTable extends ScopeFacts implements LinkScopes {
  readonly #interner: Interner
  readonly #resourceOf: Statement<[number], number>

  constructor(db: Sqlite, interner: Interner) {
    super(db)
    this.#interner = interner
    this.#resourceOf = db.prepare<[number], number>('SELECT resource FROM scopes WHERE id = ?').pluck()
  }

  envelopeBytes(scope: number): number {
    return this.of(scope).envelopeBytes
  }

  clusterOf(scope: number): string {
    return this.of(scope).cluster
  }

  ownUnder(senderScope: number | undefined): number {
    const resource = senderScope === undefined ? undefined : this.#resourceOf.get(senderScope)
    return resource === undefined
      ? this.#interner.scope(OWN_SERVICE, OWN_SCOPE)
      : this.#interner.scopeOf(resource, OWN_SCOPE)
  }
}
