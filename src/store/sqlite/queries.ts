import type { Statement } from 'better-sqlite3'
import { kindOfObject } from '../../model/kubernetes-objects.ts'
import type { Cpid, CpidPrefix } from '../../model/merge-graph.ts'
import { readOwnSpan } from '../../model/otlp/read-stored-span.ts'
import type { OutboxItem, ScopeEnvelopes } from '../../model/outbox.ts'
import {
  type Absent,
  type CascadeFacts,
  type CascadeFilter,
  type CascadesOfCpid,
  type CausewayQueries,
  type CpidFacts,
  type Facets,
  type GraphAround,
  type LinkedSpan,
  MOST_FACETS,
  type MergelogFacts,
  type ObjectActivity,
  type ObjectVersionFacts,
  type Pages,
  type PodStatsFound,
  type Position,
  type ReadAllowance,
  type SentTrace,
  type SentTraceRange,
  type SpanHint,
  type StoredRecord,
  type TraceFacts,
} from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import { CascadeFactsReader, CascadeTraces } from './cascade-queries.ts'
import { CpidLookup, GraphAroundReader, GraphWalk, MergelogFactsReader } from './graph-queries.ts'
import { LinkedSpans } from './linked-span-queries.ts'
import { ObjectFactsReader, ObjectVersionsReader } from './object-queries.ts'
import type { Sqlite } from './open-database.ts'
import { SqliteOutbox } from './outbox.ts'
import { PodStatReader } from './pod-stat-queries.ts'
import { BytesRead, EnvelopeReader, LogPages, SpanPages } from './record-queries.ts'
import { addContentSqlFunctions } from './repeated-records.ts'
import { SentTraceSearch } from './sent-trace-search.ts'

/** How many cascades are named with an event of an object. */
const CASCADES_NAMED = 8

/** Made when it is first needed: few of the readers answer one question, and each prepares its statements. */
function later<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** Answers queries through a read-only connection, which the caller owns and closes. */
export class SqliteQueries implements CausewayQueries {
  readonly #read = new BytesRead()
  readonly #cpids: () => CpidLookup
  readonly #walk: () => GraphWalk
  readonly #mergelogs: () => MergelogFactsReader
  readonly #spans: () => SpanPages
  readonly #logs: () => LogPages
  readonly #envelopes: () => EnvelopeReader
  readonly #cascades: () => CascadeFactsReader
  readonly #traces: () => CascadeTraces
  readonly #linked: () => LinkedSpans
  readonly #sent: () => SentItems
  readonly #sentTraces: () => SentTraces
  readonly #search: () => SentTraceSearch
  readonly #around: () => GraphAroundReader
  readonly #objects: () => ObjectFactsReader
  readonly #versions: () => ObjectVersionsReader
  readonly #facets: () => FacetsReader
  readonly #podStats: () => PodStatReader

  readonly #db: Sqlite

  constructor(db: Sqlite) {
    this.#db = db
    addContentSqlFunctions(db)
    this.#cpids = later(() => new CpidLookup(db))
    this.#walk = later(() => new GraphWalk(db, this.#read))
    this.#mergelogs = later(() => new MergelogFactsReader(db))
    this.#spans = later(() => new SpanPages(db, this.#read))
    this.#logs = later(() => new LogPages(db, this.#read))
    this.#envelopes = later(() => new EnvelopeReader(db, this.#read))
    this.#cascades = later(() => new CascadeFactsReader(db))
    this.#traces = later(() => new CascadeTraces(db))
    this.#linked = later(() => new LinkedSpans(db))
    this.#sent = later(() => new SentItems(db, this.#read))
    this.#sentTraces = later(() => new SentTraces(db, this.#sent()))
    this.#search = later(() => new SentTraceSearch(db, new SqliteOutbox(db), this.#read))
    this.#around = later(() => new GraphAroundReader(db))
    const cascadesOf = (cpid: number): CascadesOfCpid => this.#cascadesOf(cpid, CASCADES_NAMED)
    this.#objects = later(() => new ObjectFactsReader(db, cascadesOf))
    this.#versions = later(() => new ObjectVersionsReader(db, cascadesOf))
    this.#facets = later(() => new FacetsReader(db))
    this.#podStats = later(() => new PodStatReader(db, this.#read))
  }

  /** Identifies the state of the database that is read. Changes when another connection commits. */
  get dataVersion(): string {
    return String(this.#db.pragma('data_version', { simple: true }))
  }

  get bytesRead(): number {
    return this.#read.count
  }

  allow(allowance: ReadAllowance): void {
    this.#read.allow(allowance)
  }

  cpid(cpid: Cpid): CpidFacts | Absent {
    return this.#of(cpid, (id) => this.#mergelogs().cpid(id) ?? 'unknown')
  }

  cpidsBeginning(prefix: CpidPrefix, limit: number): readonly Cpid[] {
    return this.#cpids().beginning(prefix, limit)
  }

  related(cpid: Cpid): Pages<Cpid> | Absent {
    return this.#of(cpid, (id) => this.#cpids().pages(this.#walk().related(id)))
  }

  ancestors(cpid: Cpid): Pages<Cpid> | Absent {
    return this.#of(cpid, (id) => this.#cpids().pages(this.#walk().ancestors(id)))
  }

  roots(cpid: Cpid): Pages<Cpid> | Absent {
    return this.#of(cpid, (id) => this.#cpids().pages(this.#walk().roots(id)))
  }

  mergelogsOf(cpid: Cpid, after: Position | undefined): Pages<MergelogFacts> | Absent {
    return this.#of(cpid, (id) => this.#mergelogs().of(this.#walk().related(id, after), id))
  }

  mergelogs(after: Position | undefined): Pages<MergelogFacts> {
    return this.#mergelogs().all(after)
  }

  spansOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent {
    return this.#of(cpid, (id) => this.#spans().ofCpids(this.#relatedFrom(id, after), after))
  }

  logsOf(cpid: Cpid, after: Position | undefined): Pages<StoredRecord> | Absent {
    return this.#of(cpid, (id) => this.#logs().ofCpids(this.#relatedFrom(id, after), after))
  }

  spans(after: Position | undefined): Pages<StoredRecord> {
    return this.#spans().all(after)
  }

  logs(after: Position | undefined): Pages<StoredRecord> {
    return this.#logs().all(after)
  }

  envelopes(scope: number): ScopeEnvelopes | undefined {
    return this.#envelopes().of(scope)
  }

  allEnvelopes(): Pages<ScopeEnvelopes> {
    return this.#envelopes().all()
  }

  cascades(filter: CascadeFilter, after: Position | undefined): Pages<CascadeFacts> {
    return this.#cascades().pages(filter, after)
  }

  cascadesAmong(
    roots: readonly Cpid[],
    after: Position | undefined,
    filter: CascadeFilter = {},
  ): Pages<CascadeFacts> {
    return this.#cascades().ofRoots(
      roots.flatMap((root) => this.#cpids().findEvenPruned(root) ?? []),
      after,
      filter,
    )
  }

  cascadesOf(cpid: Cpid): CascadesOfCpid | Absent {
    return this.#of(cpid, (id) => this.#cascadesOf(id))
  }

  cascade(root: Cpid): CascadeFacts | Absent {
    const id = this.#cpids().findEvenPruned(root)
    const facts = id === undefined ? undefined : this.#cascades().of(id)
    if (facts !== undefined) return facts
    return this.#cpids().find(root) === 'pruned' ? 'pruned' : 'unknown'
  }

  tracesOf(root: Cpid): readonly TraceFacts[] {
    const id = this.#cpids().findEvenPruned(root)
    return id === undefined ? [] : this.#traces().ofRoot(id)
  }

  missingIn(root: Cpid, limit: number): readonly Cpid[] {
    const id = this.#cpids().findEvenPruned(root)
    return id === undefined ? [] : this.#cpids().cpids(this.#traces().missingIn(id, limit))
  }

  mergelogsIn(root: Cpid, limit: number): readonly MergelogFacts[] {
    const id = this.#cpids().findEvenPruned(root)
    if (id === undefined) return []
    return [...this.#mergelogs().of(this.#traces().mergedIn(id, limit), id)].flat()
  }

  linkedSpans(trace: number): readonly LinkedSpan[] {
    return this.#linked().of(trace)
  }

  linkedSpansOf(decisions: readonly number[]): readonly LinkedSpan[] {
    return this.#linked().ofDecisions(decisions)
  }

  beingPlacedIn(trace: number): readonly number[] {
    return this.#linked().beingPlacedIn(trace)
  }

  sentSpans(trace: number, spanId: bigint): readonly OutboxItem[] {
    return this.#sent().withId(trace, spanId)
  }

  sentInto(trace: number): Pages<OutboxItem> {
    return this.#sent().into(trace)
  }

  traceSent(traceId: Buffer): Pages<OutboxItem> | undefined {
    return this.#sentTraces().withId(traceId)
  }

  tracesOfCascades(range: SentTraceRange, hint?: SpanHint): Pages<SentTrace> {
    return this.#search().ofCascades(range, hint)
  }

  tracesForwarded(range: SentTraceRange, hint?: SpanHint): Pages<SentTrace> {
    return this.#search().forwarded(range, hint)
  }

  graph(cpid: Cpid, limit: number): GraphAround | Absent {
    return this.#of(cpid, (id) => this.#around().around(id, limit))
  }

  objects(ref: string, after: Position | undefined, first?: number): Pages<ObjectActivity> {
    return this.#objects().pages(ref, after, first)
  }

  objectVersions(ref: string, after: Position | undefined, first?: number): Pages<ObjectVersionFacts> {
    return this.#versions().pages(ref, after, first)
  }

  objectsNamed(text: string): Pages<string> {
    return this.#objects().named(text)
  }

  rootOfTrace(traceId: Buffer): Cpid | undefined {
    const root = this.#traces().rootOf(traceId)
    return root === undefined ? undefined : this.#cpids().cpids([root])[0]
  }

  facets(): Facets {
    return this.#facets().read()
  }

  podStats(root: Cpid, limit: number): PodStatsFound {
    const id = this.#cpids().find(root)
    return typeof id === 'number' ? this.#podStats().of(id, limit) : { pods: [], leftOut: 0 }
  }

  #cascadesOf(cpid: number, most?: number): CascadesOfCpid {
    const { driving, passedOn } = this.#traces().rootsOf(cpid, () => this.#walk().roots(cpid))
    const cascades = this.#cpids().cpids([...driving, ...passedOn].slice(0, most))
    return { cascades, drivenBy: cascades.slice(0, driving.length) }
  }

  #relatedFrom(id: number, after: Position | undefined): number[] {
    return this.#walk().relatedBySighting(id, Number(after?.[0] ?? 0n))
  }

  #of<T>(cpid: Cpid, answer: (id: number) => T): T | Absent {
    const id = this.#cpids().find(cpid)
    return typeof id === 'number' ? answer(id) : id
  }
}

/** How many of the newest resources and objects are checked. */
const LATELY = 5_000

/** Reads which services, clusters, actors, namespaces and kinds of objects appeared recently. */
class FacetsReader {
  readonly #services: Statement<[], string>
  readonly #clusters: Statement<[], string>
  readonly #objects: Statement<[], string>
  readonly #actors: Statement<[], string>
  readonly #namespaces: Statement<[], string>

  constructor(db: Sqlite) {
    const newest = `(SELECT service, cluster FROM resources ORDER BY id DESC LIMIT ${LATELY})`
    this.#services = db
      .prepare<[], string>(
        `SELECT DISTINCT service FROM ${newest} WHERE service <> '' ORDER BY 1 LIMIT ${MOST_FACETS}`,
      )
      .pluck()
    this.#clusters = db
      .prepare<[], string>(
        `SELECT DISTINCT cluster FROM ${newest} WHERE cluster <> '' ORDER BY 1 LIMIT ${MOST_FACETS}`,
      )
      .pluck()
    const inNewestTraces = (column: string, table: string): Statement<[], string> =>
      db
        .prepare<[], string>(
          `SELECT DISTINCT ${column} FROM (SELECT ${column} FROM ${table} ORDER BY trace DESC LIMIT ${LATELY})
           ORDER BY 1 LIMIT ${MOST_FACETS}`,
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
      kinds: [...kinds].sort().slice(0, MOST_FACETS),
    }
  }
}

/** Finds outgoing traces by the ids that backends know. */
class SentTraces {
  readonly #items: SentItems
  readonly #byId: Statement<[Buffer], number>
  readonly #forwarded: Statement<[{ id: Buffer }], number>

  constructor(db: Sqlite, items: SentItems) {
    this.#items = items
    this.#byId = db.prepare<[Buffer], number>('SELECT id FROM traces WHERE trace_id = ?').pluck()
    // CROSS JOIN: otherwise SQLite begins with everything that was ever forwarded.
    this.#forwarded = db
      .prepare<[{ id: Buffer }], number>(
        `SELECT outbox.decision FROM (SELECT origin FROM origin_trace_index WHERE trace_id = @id
           UNION SELECT id FROM origin_traces
             WHERE id > (SELECT indexed_origins FROM progress) AND trace_id = @id) found
         CROSS JOIN spans ON spans.origin = found.origin
         CROSS JOIN outbox ON outbox.trace = 0 AND outbox.span = spans.id ORDER BY 1`,
      )
      .pluck()
  }

  /** What a backend has under this trace id: an outgoing trace, or forwarded spans. */
  withId(traceId: Buffer): Pages<OutboxItem> | undefined {
    const trace = this.#byId.get(traceId)
    const forwarded = this.#forwarded.all({ id: traceId })
    return trace === undefined && forwarded.length === 0 ? undefined : this.#both(trace, forwarded)
  }

  *#both(trace: number | undefined, forwarded: readonly number[]): Generator<readonly OutboxItem[]> {
    if (trace !== undefined) yield* this.#items.into(trace)
    yield* this.#items.of(forwarded)
  }
}

/** A page has this many items, or fewer of this many bytes, or one larger item. */
const ITEMS_A_PAGE = 500
const PAGE_BYTES = MIB

/** Reads what was sent into traces, as exporters read it. */
class SentItems {
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#outbox = new SqliteOutbox(db)
    this.#read = read
  }

  /** Everything, in the order of sending. */
  *into(trace: number): Pages<OutboxItem> & Generator<OutboxItem[]> {
    yield* this.of(Float64Array.from(this.#outbox.decisionsOf(trace)))
  }

  /** What these decisions sent, in their order. */
  *of(decisions: Iterable<number>): Pages<OutboxItem> & Generator<OutboxItem[]> {
    let items: OutboxItem[] = []
    let bytes = 0
    for (const decision of decisions) {
      const item = this.#outbox.item(decision)
      if (item === undefined) continue
      items.push(item)
      const length = (item.raw?.length ?? 0) + (item.extra?.length ?? 0)
      bytes += length
      this.#read.add(length)
      if (items.length < ITEMS_A_PAGE && bytes < PAGE_BYTES) continue
      yield items
      ;[items, bytes] = [[], 0]
    }
    yield items
  }

  /** Spans with this id. */
  withId(trace: number, spanId: bigint): OutboxItem[] {
    const { received, own } = this.#outbox.decisionsOfSpan(trace, spanId)
    if (received.length > 0) return received.flatMap((decision) => this.#outbox.item(decision) ?? [])
    for (const page of this.of(own)) {
      const found = page.filter(({ raw }) => raw !== undefined && readOwnSpan(raw).spanId === spanId)
      if (found.length > 0) return found
    }
    return []
  }
}
