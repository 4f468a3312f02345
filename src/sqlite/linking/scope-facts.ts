import type { Statement } from 'better-sqlite3'
import { GenerationCache } from '../generation-cache.ts'
import type { Sqlite } from '../open-database.ts'

const SCOPES = 5_000
const UNKNOWN = { service: '', cluster: '', envelopeBytes: 0 }

export interface ScopeFact {
  /** The service.name of its resource. */
  readonly service: string
  /** Its k8s.cluster.name; empty where there is none. */
  readonly cluster: string
  /** What it and its resource weigh. */
  readonly envelopeBytes: number
}

/** What stands behind a scope. */
export class ScopeFacts {
  readonly #cache = new GenerationCache<number, ScopeFact>(SCOPES)
  readonly #find: Statement<[number], ScopeFact>

  constructor(db: Sqlite) {
    this.#find = db.prepare<[number], ScopeFact>(
      `SELECT r.service, coalesce(r.cluster, '') AS cluster, length(r.envelope) + length(s.envelope) AS envelopeBytes
       FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?`,
    )
  }

  of(scope: number): ScopeFact {
    const cached = this.#cache.get(scope)
    if (cached !== undefined) return cached
    const fact = this.#find.get(scope) ?? UNKNOWN
    this.#cache.set(scope, fact)
    return fact
  }

  forget(): void {
    this.#cache.clear()
  }
}
