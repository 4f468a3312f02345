import { hash } from 'node:crypto'
import type { LinkScopes } from '../../model/linking-ports.ts'
import { scopeEnvelope, serviceEnvelope } from '../../model/otlp/encode-telemetry.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { GenerationCache } from './generation-cache.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { TraceIndex } from './trace-id-index.ts'

const ENVELOPES = 5_000
/** A longer envelope is cached under its digest, since attributes may be as long as a request. */
const LONGEST_KEY_BYTES = 1_024
const NO_SCOPE = Buffer.alloc(0)

/** A received resource: its bytes, and the two attributes by which queries filter. */
export interface ResourceEnvelope {
  envelope: Buffer
  service: string
  cluster: string | undefined
}

/** Assigns ids to resources, scopes and original traces. Equal bytes have equal ids. */
export class ScopeNumbers extends OnConnection {
  readonly #resources = new GenerationCache<string, number>(ENVELOPES)
  readonly #scopes = new GenerationCache<string, number>(ENVELOPES)
  readonly #traces: TraceIndex
  readonly #highest = this.db.prepare<[], { resource: number | null; scope: number | null }>(
    'SELECT (SELECT max(id) FROM resources) AS resource, (SELECT max(id) FROM scopes) AS scope',
  )
  /** Ids are never reused, even that of the last row, since readers cache envelopes by id. */
  #lastResource = 0
  #lastScope = 0
  /** A cache of one, since spans of a trace often arrive in succession. */
  #lastTrace = ''
  #lastOrigin = 0
  readonly #findResource = this.column<[Buffer], number>('SELECT id FROM resources WHERE hash = ?')
  readonly #addResource = this.db.prepare(
    'INSERT INTO resources (id, hash, service, cluster, envelope) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #findScope = this.column<[number, Buffer], number>(
    'SELECT id FROM scopes WHERE resource = ? AND hash = ?',
  )
  readonly #addScope = this.db.prepare(
    'INSERT INTO scopes (id, resource, hash, envelope) VALUES (?, ?, ?, ?)',
  )

  constructor(db: Sqlite, traces: TraceIndex) {
    super(db)
    this.#traces = traces
    this.#readHighest()
  }

  scope(resource: ResourceEnvelope, envelope: Buffer): number {
    return this.scopeOf(this.#resource(resource), envelope)
  }

  /** The id of a scope of a known resource. */
  scopeOf(resourceId: number, envelope: Buffer): number {
    const key = `${resourceId} ${keyOf(envelope)}`
    const cached = this.#scopes.get(key)
    if (cached !== undefined) return cached
    const digest = digestOf(envelope)
    let id = this.#findScope.get(resourceId, digest)
    if (id === undefined) {
      id = ++this.#lastScope
      this.#addScope.run(id, resourceId, digest, envelope)
    }
    this.#scopes.set(key, id)
    return id
  }

  /** The id of a scope with only a service and a cluster. */
  smallScope(service: string, cluster: string): number {
    const envelope = serviceEnvelope(service, cluster)
    return this.scope({ envelope, service, cluster: cluster === '' ? undefined : cluster }, NO_SCOPE)
  }

  /** The id of the original trace of a span with this start. `traceKey`: the 16 bytes of the trace id as latin1. */
  origin(traceKey: string, startNs: UnixNanos): number {
    if (traceKey === this.#lastTrace) return this.#lastOrigin
    this.#lastOrigin = this.#traces.numberOf(traceKey, startNs)
    this.#lastTrace = traceKey
    return this.#lastOrigin
  }

  /** Drops the cache: an original trace, or some of its spans, were removed. */
  dropOrigin(origin: number): void {
    if (this.#lastOrigin === origin) this.#lastTrace = ''
  }

  /** Drops the caches: scopes and resources were removed. */
  forgetEnvelopes(): void {
    this.#resources.clear()
    this.#scopes.clear()
  }

  forget(): void {
    this.forgetEnvelopes()
    this.#readHighest()
    this.#lastTrace = ''
  }

  #readHighest(): void {
    const { resource, scope } = this.#highest.get() ?? { resource: 0, scope: 0 }
    this.#lastResource = Math.max(this.#lastResource, resource ?? 0)
    this.#lastScope = Math.max(this.#lastScope, scope ?? 0)
  }

  #resource({ envelope, service, cluster }: ResourceEnvelope): number {
    const key = keyOf(envelope)
    const cached = this.#resources.get(key)
    if (cached !== undefined) return cached
    const digest = digestOf(envelope)
    let id = this.#findResource.get(digest)
    if (id === undefined) {
      id = ++this.#lastResource
      this.#addResource.run(id, digest, service, cluster ?? null, envelope)
    }
    this.#resources.set(key, id)
    return id
  }
}

function keyOf(envelope: Buffer): string {
  return envelope.length > LONGEST_KEY_BYTES
    ? `sha256 ${digestOf(envelope).toString('latin1')}`
    : envelope.toString('latin1')
}

function digestOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer').subarray(0, 16)
}

const SCOPES = 5_000
const UNKNOWN = { service: '', cluster: '', envelopeBytes: 0 }

interface ScopeFact {
  /** The service.name of its resource. */
  readonly service: string
  /** Its k8s.cluster.name; '' for none. */
  readonly cluster: string
  /** The size of the scope and its resource in bytes. */
  readonly envelopeBytes: number
}

export class ScopeFacts extends OnConnection {
  readonly #cache = new GenerationCache<number, ScopeFact>(SCOPES)
  readonly #find = this.db.prepare<[number], ScopeFact>(
    `SELECT r.service, coalesce(r.cluster, '') AS cluster, length(r.envelope) + length(s.envelope) AS envelopeBytes
       FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?`,
  )

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

const OWN_SERVICE = { envelope: serviceEnvelope('causeway'), service: 'causeway', cluster: undefined }
const OWN_SCOPE = scopeEnvelope('causeway')

/** Reads the facts of scopes, and creates the scopes of Causeway's own spans. */
export class LinkScopeTable extends ScopeFacts implements LinkScopes {
  readonly #interner: ScopeNumbers
  readonly #resourceOf = this.column<[number], number>('SELECT resource FROM scopes WHERE id = ?')

  constructor(db: Sqlite, interner: ScopeNumbers) {
    super(db)
    this.#interner = interner
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
