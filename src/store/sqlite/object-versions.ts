import {
  kindOfObject,
  namespaceOfObject,
  objectOfReference,
  parseObjectReference,
} from '../../model/kubernetes-objects.ts'
import type { LinkedObjects, ObjectVersion, Writer } from '../../model/linking-ports.ts'
import { GenerationCache } from './generation-cache.ts'
import { WriterTable } from './transactions.ts'

const OBJECTS = 20_000
/** The most references per span that are used for linking. Others are only in the span's bytes. */
const MAX_A_SPAN = 500

const MAX_LENGTH = 1_024
/** The size of the cache of versions that services have observed: enough to recognise what a resync observes again. */
const OBSERVATIONS = 20_000
/** Each may reference up to 500 versions. */
const SPANS = 500

const PODS = 'v1/pods'
const ROLES = { observed: 0, wrote: 1 } as const

interface WriterQuery {
  cascade: number
  object: number
  version: bigint
  uid: string | null
  most: number
}

interface BelowQuery {
  object: number
  version: bigint
  uid: string | null
  upTo: number
  most: number
}

interface VersionRow {
  object: bigint
  version: bigint
  uid: string | null
}

/** The references that a span observed, or wrote. */
interface References {
  /** All references; without a resourceVersion the version is -1. */
  readonly all: readonly ObjectVersion[]
  readonly versions: readonly ObjectVersion[]
}

/** Which spans read and wrote which versions of which objects. */
export class ObjectTable extends WriterTable implements LinkedObjects {
  readonly #objects = new GenerationCache<string, number>(OBJECTS)
  readonly #kinds = new GenerationCache<number, string>(OBJECTS)
  /** The namespace of each object; '' for none. */
  readonly #namespaces = new GenerationCache<number, string>(OBJECTS)
  readonly #inCascades = new GenerationCache<string, true>(OBJECTS)
  readonly #observed = new GenerationCache<string, true>(OBSERVATIONS)
  /** What spans that are being linked observed and wrote, which is read several times. */
  readonly #ofSpans = new GenerationCache<number, References>(SPANS)
  readonly #find = this.column<[string, string], number>(
    'SELECT id FROM objects WHERE object = ? AND cluster = ?',
  )
  readonly #addObject = this.db.prepare('INSERT INTO objects (object, cluster) VALUES (?, ?)')
  readonly #name = this.column<[number], string>('SELECT object FROM objects WHERE id = ?')
  readonly #wrote = this.column<[number, number, bigint], number>(
    'SELECT 1 FROM span_objects WHERE span = ? AND role = 1 AND object = ? AND version = ?',
  )
  readonly #addVersion = this.db.prepare(
    'INSERT OR IGNORE INTO span_objects (span, role, object, version, uid) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #versions = this.exactRows<[number, number], VersionRow>(
    'SELECT object, version, uid FROM span_objects WHERE span = ? AND role = ?',
  )
  readonly #writer = this.column<
    [{ object: number; version: bigint; uid: string | null; upTo: number }],
    number
  >(
    `SELECT span FROM span_objects WHERE object = +@object AND role = 1 AND version = +@version AND span <= +@upTo
       AND (uid = +@uid OR uid IS NULL OR +@uid IS NULL) LIMIT 1`,
  )
  readonly #below = this.exactRows<[BelowQuery], { row: bigint; version: bigint }>(
    `SELECT span AS row, version FROM (SELECT span, version, uid FROM span_objects
         WHERE object = +@object AND role = 1 AND version < +@version AND version >= 0 AND span <= +@upTo
         ORDER BY version DESC, span DESC LIMIT +@most)
       WHERE uid = +@uid OR uid IS NULL OR +@uid IS NULL`,
  )
  readonly #addWrite = this.db.prepare(
    'INSERT OR IGNORE INTO trace_writes (trace, object, version, end_ns, span, uid) VALUES (?, ?, ?, ?, ?, ?)',
  )
  readonly #addPod = this.db.prepare(
    `INSERT INTO cascade_pods (uid, trace, cluster, object, first_ns, last_ns)
         SELECT @uid, @cascade, cluster, object, @endNs, @endNs FROM objects WHERE id = @object
       ON CONFLICT DO UPDATE SET first_ns = min(first_ns, excluded.first_ns), last_ns = max(last_ns, excluded.last_ns)`,
  )
  readonly #addNamespace = this.db.prepare(
    'INSERT OR IGNORE INTO trace_namespaces (trace, namespace) VALUES (?, ?)',
  )
  readonly #writers = this.column<[WriterQuery], number>(
    `SELECT span FROM (SELECT span, uid FROM trace_writes
         WHERE trace = +@cascade AND object = +@object AND version <= +@version
         ORDER BY version DESC, end_ns DESC, span DESC LIMIT +@most)
       WHERE uid = +@uid OR uid IS NULL OR +@uid IS NULL`,
  )
  readonly #await = this.db.prepare(
    'INSERT OR IGNORE INTO awaited_versions (object, version, since_ms) VALUES (?, ?, ?)',
  )
  readonly #since = this.column<[number, bigint], number>(
    'SELECT since_ms FROM awaited_versions WHERE object = ? AND version = ?',
  )
  readonly #addObserver = this.db.prepare(
    'INSERT OR IGNORE INTO awaited_writers (object, version, span) VALUES (?, ?, ?)',
  )
  readonly #observers = this.column<[number, bigint], number>(
    'SELECT span FROM awaited_writers WHERE object = ? AND version = ?',
  )
  readonly #dropObservers = this.db.prepare('DELETE FROM awaited_writers WHERE object = ? AND version = ?')
  readonly #dropAwaited = this.db.prepare('DELETE FROM awaited_versions WHERE object = ? AND version = ?')
  readonly #removeNamed = this.column<[number], number>(
    'DELETE FROM span_objects WHERE span = ? RETURNING object',
  )
  readonly #removeUnnamed = this.db.prepare(
    `DELETE FROM objects WHERE id = @object AND NOT EXISTS (SELECT 1 FROM span_objects WHERE object = @object)
         AND NOT EXISTS (SELECT 1 FROM mergelogs WHERE object_id = @object)`,
  )

  /** Stores the references of a span; version -1 for those without a resourceVersion. */
  add(span: number, role: keyof typeof ROLES, references: readonly string[], cluster: string): void {
    for (const text of references.slice(0, MAX_A_SPAN)) {
      const reference = parseObjectReference(text)
      if (reference === undefined) continue
      const { object, uid, version } = reference
      this.#addVersion.run(span, ROLES[role], this.#idOf(object, cluster), version ?? -1n, uid ?? null)
    }
  }

  /** The id of the object in a mergelog; null if its reference is invalid or too long. */
  numberOf(reference: string, cluster: string): number | null {
    const object = objectOfReference(reference)
    return object === '' || object.length > MAX_LENGTH ? null : this.#idOf(object, cluster)
  }

  versions(span: number, role: keyof typeof ROLES): readonly ObjectVersion[] {
    return this.#referencesOf(span, role).versions
  }

  #referencesOf(span: number, role: keyof typeof ROLES): References {
    const key = 2 * span + ROLES[role]
    const known = this.#ofSpans.get(key)
    if (known !== undefined) return known
    const all = this.#versions
      .all(span, ROLES[role])
      .map(({ object, version, uid }) => ({ object: Number(object), version, uid: uid ?? undefined }))
    const versions = all.filter(({ version }) => version >= 0n)
    const found = { all, versions }
    this.#ofSpans.set(key, found)
    return found
  }

  writerOf({ object, version, uid }: ObjectVersion): number | undefined {
    return this.#writer.get({ object, version, uid: uid ?? null, upTo: this.progress.linkedArrival })
  }

  writersBelow({ object, version, uid }: ObjectVersion, most: number): { row: number; version: bigint }[] {
    const upTo = this.progress.linkedArrival
    return this.#below
      .all({ object, version, uid: uid ?? null, upTo, most })
      .map((found) => ({ row: Number(found.row), version: found.version }))
  }

  addWrites(cascade: number, span: Writer, versions: readonly ObjectVersion[]): void {
    for (const { object, version, uid } of versions)
      this.#addWrite.run(cascade, object, version, span.endNs, span.row, uid ?? null)
  }

  addWritten(cascade: number, span: Writer): void {
    for (const { object, uid } of this.#referencesOf(span.row, 'wrote').all) {
      this.#noteNamespace(cascade, this.#namespaceOf(object))
      if (uid !== undefined && this.kindOf(object) === PODS)
        this.#addPod.run({ uid, cascade, object, endNs: span.endNs })
    }
  }

  addNamespace(cascade: number, reference: string): void {
    this.#noteNamespace(cascade, namespaceOfObject(objectOfReference(reference)) ?? '')
  }

  writersIn(cascade: number, { object, version, uid }: ObjectVersion, most: number): number[] {
    return this.#writers.all({ cascade, object, version, uid: uid ?? null, most })
  }

  wrote(span: number, { object, version }: ObjectVersion): boolean {
    return this.#wrote.get(span, object, version) === 1
  }

  isFirstToObserve(service: string, { object, version }: ObjectVersion): boolean {
    const key = `${object} ${version} ${service}`
    if (this.#observed.get(key) === true) return false
    this.#observed.set(key, true)
    return true
  }

  /** `<apiVersion>/<resource>` of an object. */
  kindOf(object: number): string {
    const known = this.#kinds.get(object)
    if (known !== undefined) return known
    const kind = kindOfObject(this.#name.get(object) ?? '') ?? 'unknown'
    this.#kinds.set(object, kind)
    return kind
  }

  #noteNamespace(cascade: number, namespace: string): void {
    if (namespace === '') return
    const key = `${cascade} ${namespace}`
    if (this.#inCascades.get(key) === true) return
    this.#inCascades.set(key, true)
    this.#addNamespace.run(cascade, namespace)
  }

  #namespaceOf(object: number): string {
    const known = this.#namespaces.get(object)
    if (known !== undefined) return known
    const namespace = namespaceOfObject(this.#name.get(object) ?? '') ?? ''
    this.#namespaces.set(object, namespace)
    return namespace
  }

  awaitWriter({ object, version }: ObjectVersion, span: number): number {
    this.#await.run(object, version, this.progress.activeMs)
    this.#addObserver.run(object, version, span)
    return this.#since.get(object, version) ?? this.progress.activeMs
  }

  takeObservers({ object, version }: ObjectVersion): number[] {
    const spans = this.#observers.all(object, version)
    if (spans.length > 0) this.#dropObservers.run(object, version)
    this.#dropAwaited.run(object, version)
    return spans
  }

  /** Drops an object from the caches: its row was removed. */
  drop(id: number, object: string, cluster: string): void {
    this.#objects.delete(keyOf(object, cluster))
    this.#kinds.delete(id)
    this.#namespaces.delete(id)
  }

  /** Removes the references of a span that is not linked yet. */
  remove(span: number): void {
    for (const role of Object.values(ROLES)) this.#ofSpans.delete(2 * span + role)
    let removed = 0
    for (const object of this.#removeNamed.all(span)) removed += this.#removeUnnamed.run({ object }).changes
    if (removed > 0) this.forget()
  }

  /** Removes an object that is no longer referenced. */
  removeUnnamed(object: number): void {
    if (this.#removeUnnamed.run({ object }).changes > 0) this.forget()
  }

  forget(): void {
    this.#ofSpans.clear()
    this.#objects.clear()
    this.#kinds.clear()
    this.#namespaces.clear()
    this.#inCascades.clear()
  }

  #idOf(object: string, cluster: string): number {
    const key = keyOf(object, cluster)
    const cached = this.#objects.get(key)
    if (cached !== undefined) return cached
    const id = this.#find.get(object, cluster) ?? Number(this.#addObject.run(object, cluster).lastInsertRowid)
    this.#objects.set(key, id)
    return id
  }
}

function keyOf(object: string, cluster: string): string {
  return `${cluster} ${object}`
}
