import type { Statement } from 'better-sqlite3'
import { MIB } from '../../../model/sizes.ts'
import { envelopeBytes, type ScopeEnvelopes } from '../../../model/ports/outbox-port.ts'
import { GenerationCache } from '../../generation-cache.ts'
import type { Sqlite } from '../../open-database.ts'
import type { BytesRead } from '../bytes-read.ts'

const SCOPES = 1_000
const SCOPE_BYTES = 8 * MIB

/** The envelopes in which records came. */
export class EnvelopeReader {
  readonly #cache = new GenerationCache<number, ScopeEnvelopes>(SCOPES, {
    most: SCOPE_BYTES,
    of: envelopeBytes,
  })
  readonly #find: Statement<[number], ScopeEnvelopes>
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#read = read
    this.#find = db.prepare(
      `SELECT scopes.resource AS resourceId, resources.envelope AS resource, scopes.envelope AS scope
       FROM scopes JOIN resources ON resources.id = scopes.resource WHERE scopes.id = ?`,
    )
  }

  of(scope: number): ScopeEnvelopes | undefined {
    const cached = this.#cache.get(scope)
    if (cached !== undefined) return cached
    const found = this.#find.get(scope)
    if (found === undefined) return undefined
    this.#cache.set(scope, found)
    this.#read.add(envelopeBytes(found))
    return found
  }
}
