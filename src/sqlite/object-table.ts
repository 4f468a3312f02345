import type { Statement } from 'better-sqlite3'
import type { ArrivedSpan, ObjectVersion } from '../model/link-port.ts'
import { kindOfObject, parseObjectReference } from '../model/object-reference.ts'
import { GenerationCache } from './generation-cache.ts'
import type { Sqlite } from './open-database.ts'
import type { Progress } from './progress.ts'

const OBJECTS = 20_000
/** What one span may name; the rest is stored with the span but not linked by. */
const MOST_A_SPAN = 500

const MOST_LENGTH = 1_024
/** Which services have observed which versions: enough for what resyncs look at again. */
const OBSERVATIONS = 20_000

const ROLES = { observed: 0, wrote: 1 } as const

interface VersionRow {
  object: bigint
  version: bigint
  uid: string | null
}

/** Which spans read and wrote which versions of which objects. */
export class ObjectTable {
  readonly #progress: Progress
  readonly #objects = new GenerationCache<string, number>(OBJECTS)
  readonly #kinds = new GenerationCache<number, string>(OBJECTS)
  readonly #observed = new GenerationCache<string, true>(OBSERVATIONS)
  readonly #find: Statement<[string, string], number>
  readonly #addObject: Statement
  readonly #name: Statement<[number], string>
  readonly #wrote: Statement<[number, number, bigint], number>
  readonly #addVersion: Statement
  readonly #versions: Statement<[number, number], VersionRow>
  readonly #writer: Statement<[{ object: number; version: bigint; uid: string | null; upTo: number }], number>
  readonly #addWrite: Statement
  readonly #writers: Statement<
    [{ trace: number; object: number; version: bigint; uid: string | null }],
    number
  >
  readonly #await: Statement
  readonly #since: Statement<[number, bigint], number>
  readonly #addObserver: Statement
  readonly #observers: Statement<[number, bigint], number>
  readonly #dropObservers: Statement
  readonly #dropAwaited: Statement

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#find = db
      .prepare<[string, string], number>('SELECT id FROM objects WHERE object = ? AND cluster = ?')
      .pluck()
    this.#addObject = db.prepare('INSERT INTO objects (object, cluster) VALUES (?, ?)')
    this.#name = db.prepare<[number], string>('SELECT object FROM objects WHERE id = ?').pluck()
    this.#wrote = db
      .prepare<[number, number, bigint], number>(
        'SELECT 1 FROM span_objects WHERE span = ? AND role = 1 AND object = ? AND version = ?',
      )
      .pluck()
    this.#addVersion = db.prepare(
      'INSERT OR IGNORE INTO span_objects (span, role, object, version, uid) VALUES (?, ?, ?, ?, ?)',
    )
    this.#versions = db
      .prepare<[number, number], VersionRow>(
        'SELECT object, version, uid FROM span_objects WHERE span = ? AND role = ?',
      )
      .safeIntegers()
    this.#writer = db
      .prepare<[{ object: number; version: bigint; uid: string | null; upTo: number }], number>(
        `SELECT span FROM span_objects WHERE object = +@object AND role = 1 AND version = +@version AND span <= +@upTo
           AND (uid = +@uid OR uid IS NULL OR +@uid IS NULL) LIMIT 1`,
      )
      .pluck()
    this.#addWrite = db.prepare(
      'INSERT OR IGNORE INTO trace_writes (trace, object, end_ns, span, version, uid) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#writers = db
      .prepare<[{ trace: number; object: number; version: bigint; uid: string | null }], number>(
        `SELECT span FROM trace_writes WHERE trace = +@trace AND object = +@object AND version <= +@version
           AND (uid = +@uid OR uid IS NULL OR +@uid IS NULL) ORDER BY end_ns DESC, span DESC`,
      )
      .pluck()
    this.#await = db.prepare(
      'INSERT OR IGNORE INTO awaited_versions (object, version, since_ms) VALUES (?, ?, ?)',
    )
    this.#since = db
      .prepare<[number, bigint], number>(
        'SELECT since_ms FROM awaited_versions WHERE object = ? AND version = ?',
      )
      .pluck()
    this.#addObserver = db.prepare(
      'INSERT OR IGNORE INTO awaited_writers (object, version, span) VALUES (?, ?, ?)',
    )
    this.#observers = db
      .prepare<[number, bigint], number>('SELECT span FROM awaited_writers WHERE object = ? AND version = ?')
      .pluck()
    this.#dropObservers = db.prepare('DELETE FROM awaited_writers WHERE object = ? AND version = ?')
    this.#dropAwaited = db.prepare('DELETE FROM awaited_versions WHERE object = ? AND version = ?')
  }

  /** Stores what a span named; a reference without a resourceVersion cannot be compared and is left to its bytes. */
  add(span: number, role: keyof typeof ROLES, references: readonly string[], cluster: string): void {
    for (const text of references.slice(0, MOST_A_SPAN)) {
      const reference = parseObjectReference(text)
      if (reference === undefined) continue
      const { object, uid, version } = reference
      this.#addVersion.run(span, ROLES[role], this.#idOf(object, cluster), version ?? -1n, uid ?? null)
    }
  }

  /** The number of the object that a mergelog names; null for a text too long to be a reference. */
  numberOf(reference: string, cluster: string): number | null {
    const object = reference.split('?', 1)[0] ?? ''
    return object === '' || object.length > MOST_LENGTH ? null : this.#idOf(object, cluster)
  }

  versions(span: number, role: keyof typeof ROLES): ObjectVersion[] {
    return this.#versions
      .all(span, ROLES[role])
      .flatMap(({ object, version, uid }) =>
        version < 0n ? [] : [{ object: Number(object), version, uid: uid ?? undefined }],
      )
  }

  writerOf({ object, version, uid }: ObjectVersion): number | undefined {
    return this.#writer.get({ object, version, uid: uid ?? null, upTo: this.#progress.linkedArrival })
  }

  addWrites(trace: number, span: ArrivedSpan, versions: readonly ObjectVersion[]): void {
    for (const { object, version, uid } of versions) {
      this.#addWrite.run(trace, object, span.endNs, span.row, version, uid ?? null)
    }
  }

  writersIn(trace: number, { object, version, uid }: ObjectVersion): number[] {
    return this.#writers.all({ trace, object, version, uid: uid ?? null })
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

  awaitWriter({ object, version }: ObjectVersion, span: number): number {
    this.#await.run(object, version, this.#progress.activeMs)
    this.#addObserver.run(object, version, span)
    return this.#since.get(object, version) ?? this.#progress.activeMs
  }

  takeObservers({ object, version }: ObjectVersion): number[] {
    const spans = this.#observers.all(object, version)
    if (spans.length > 0) this.#dropObservers.run(object, version)
    this.#dropAwaited.run(object, version)
    return spans
  }

  forget(): void {
    this.#objects.clear()
    this.#kinds.clear()
  }

  #idOf(object: string, cluster: string): number {
    const key = `${cluster} ${object}`
    const cached = this.#objects.get(key)
    if (cached !== undefined) return cached
    const id = this.#find.get(object, cluster) ?? Number(this.#addObject.run(object, cluster).lastInsertRowid)
    this.#objects.set(key, id)
    return id
  }
}
