import { hash } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import { GenerationCache } from './generation-cache.ts'
import type { Sqlite } from './open-database.ts'
import type { TraceIndex } from './trace-index.ts'

const ENVELOPES = 5_000

/** A resource as it arrived: its bytes, and the two attributes questions are asked about. */
export interface ResourceEnvelope {
  envelope: Buffer
  service: string
  cluster: string | undefined
}

/** Gives resources, scopes and original traces small numbers, the same for the same bytes. */
export class Interner {
  readonly #resources = new GenerationCache<string, number>(ENVELOPES)
  readonly #scopes = new GenerationCache<string, number>(ENVELOPES)
  readonly #traces: TraceIndex
  /** Spans of a trace often come one after another. */
  #lastTrace = ''
  #lastOrigin = 0
  readonly #findResource: Statement<[Buffer], number>
  readonly #addResource: Statement
  readonly #findScope: Statement<[number, Buffer], number>
  readonly #addScope: Statement

  constructor(db: Sqlite, traces: TraceIndex) {
    this.#traces = traces
    this.#findResource = db.prepare<[Buffer], number>('SELECT id FROM resources WHERE hash = ?').pluck()
    this.#addResource = db.prepare(
      'INSERT INTO resources (hash, service, cluster, envelope) VALUES (?, ?, ?, ?)',
    )
    this.#findScope = db
      .prepare<[number, Buffer], number>('SELECT id FROM scopes WHERE resource = ? AND hash = ?')
      .pluck()
    this.#addScope = db.prepare('INSERT INTO scopes (resource, hash, envelope) VALUES (?, ?, ?)')
  }

  scope(resource: ResourceEnvelope, envelope: Buffer): number {
    return this.scopeOf(this.#resource(resource), envelope)
  }

  /** The number of a scope under a resource already known. */
  scopeOf(resourceId: number, envelope: Buffer): number {
    const key = `${resourceId} ${envelope.toString('latin1')}`
    const cached = this.#scopes.get(key)
    if (cached !== undefined) return cached
    const digest = digestOf(envelope)
    const id =
      this.#findScope.get(resourceId, digest) ??
      Number(this.#addScope.run(resourceId, digest, envelope).lastInsertRowid)
    this.#scopes.set(key, id)
    return id
  }

  /** The number of an original trace; `traceKey` is its id's 16 bytes as latin1. */
  origin(traceKey: string): number {
    if (traceKey === this.#lastTrace) return this.#lastOrigin
    this.#lastOrigin = this.#traces.numberOf(traceKey)
    this.#lastTrace = traceKey
    return this.#lastOrigin
  }

  /** An original trace is gone, or some of its spans. */
  dropOrigin(origin: number): void {
    if (this.#lastOrigin === origin) this.#lastTrace = ''
  }

  forget(): void {
    this.#resources.clear()
    this.#scopes.clear()
    this.#lastTrace = ''
  }

  #resource({ envelope, service, cluster }: ResourceEnvelope): number {
    const key = envelope.toString('latin1')
    const cached = this.#resources.get(key)
    if (cached !== undefined) return cached
    const digest = digestOf(envelope)
    const id =
      this.#findResource.get(digest) ??
      Number(this.#addResource.run(digest, service, cluster ?? null, envelope).lastInsertRowid)
    this.#resources.set(key, id)
    return id
  }
}

function digestOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer').subarray(0, 16)
}
