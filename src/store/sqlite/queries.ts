import { kindOfObject } from '../../model/kubernetes-objects.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { readOwnSpan } from '../../model/otlp/read-stored-span.ts'
import type { OutboxItem } from '../../model/outbox.ts'
import {
  type Absent,
  type CascadesOfCpid,
  type CausewayQueries,
  type Facets,
  MOST_FACETS,
  type Pages,
  type Position,
} from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import { CascadeFactsReader, CascadeTraces } from './cascade-queries.ts'
import { CpidLookup, GraphAroundReader, GraphWalk, MergelogFactsReader } from './graph-queries.ts'
import { LinkedSpans } from './linked-span-queries.ts'
import { ObjectFactsReader, ObjectVersionsReader } from './object-queries.ts'
import type { Sqlite } from './open-database.ts'
import { SqliteOutbox } from './outbox.ts'
import { PodStatReader } from './pod-stat-queries.ts'
import { BytesRead, EnvelopeReader, LogPages, RecordReader, SpanPages } from './record-queries.ts'
import { addContentSqlFunctions } from './repeated-records.ts'
import { SentTraceSearch } from './sent-trace-search.ts'
import { ROWS_A_BLOCK } from './span-block-facts.ts'

/** How many cascades are given with an event of an object. */
const CASCADES_NAMED = 8

/** Makes a reader on first use: one question needs few of the readers, and each prepares its statements. */
function later<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** Identifies the state of the database that a connection reads; changes when another connection commits. */
export function dataVersion(db: Sqlite): string {
  return String(db.pragma('data_version', { simple: true }))
}

/** Answers questions through a read-only connection, which the caller closes. */
export function sqliteQueries(db: Sqlite, rowsABlock = ROWS_A_BLOCK): CausewayQueries {
  addContentSqlFunctions(db)
  const read = new BytesRead()
  const cpids = later(() => new CpidLookup(db))
  const walk = later(() => new GraphWalk(db, read))
  const mergelogs = later(() => new MergelogFactsReader(db))
  const spans = later(() => new SpanPages(db, read))
  const logs = later(() => new LogPages(db, read))
  const envelopes = later(() => new EnvelopeReader(db, read))
  const cascades = later(() => new CascadeFactsReader(db))
  const traces = later(() => new CascadeTraces(db))
  const linked = later(() => new LinkedSpans(db))
  const sent = later(() => new SentItems(db, read))
  const search = later(() => new SentTraceSearch(db, new SqliteOutbox(db), read, rowsABlock))
  const around = later(() => new GraphAroundReader(db))
  const objects = later(() => new ObjectFactsReader(db, (cpid) => cascadesOf(cpid, CASCADES_NAMED)))
  const versions = later(() => new ObjectVersionsReader(db, (cpid) => cascadesOf(cpid, CASCADES_NAMED)))
  const podStats = later(() => new PodStatReader(db, read))

  const cascadesOf = (cpid: number, most?: number): CascadesOfCpid => {
    const { driving, passedOn } = traces().rootsOf(cpid, () => walk().roots(cpid))
    const roots = cpids().cpids([...driving, ...passedOn].slice(0, most))
    return { cascades: roots, drivenBy: roots.slice(0, driving.length) }
  }
  const relatedFrom = (id: number, after: Position | undefined): number[] =>
    walk().relatedBySighting(id, Number(after?.[0] ?? 0n))
  function of<T>(cpid: Cpid, answer: (id: number) => T): T | Absent {
    const id = cpids().find(cpid)
    return typeof id === 'number' ? answer(id) : id
  }
  /** Answers a question about a cascade, whose root may be pruned. */
  function ofRoot<T>(root: Cpid, answer: (id: number) => T): T | undefined {
    const id = cpids().findEvenPruned(root)
    return id === undefined ? undefined : answer(id)
  }

  return {
    get bytesRead() {
      return read.count
    },
    allow: (allowance) => read.allow(allowance),
    cpid: (cpid) => of(cpid, (id) => mergelogs().cpid(id) ?? 'unknown'),
    cpidsBeginning: (prefix, limit) => cpids().beginning(prefix, limit),
    related: (cpid) => of(cpid, (id) => cpids().pages(walk().related(id))),
    ancestors: (cpid) => of(cpid, (id) => cpids().pages(walk().ancestors(id))),
    roots: (cpid) => of(cpid, (id) => cpids().pages(walk().roots(id))),
    mergelogsOf: (cpid, after) => of(cpid, (id) => mergelogs().of(walk().related(id, after), id)),
    mergelogs: (after) => mergelogs().all(after),
    spansOf: (cpid, after) => of(cpid, (id) => spans().ofCpids(relatedFrom(id, after), after)),
    logsOf: (cpid, after) => of(cpid, (id) => logs().ofCpids(relatedFrom(id, after), after)),
    spans: (after) => spans().all(after),
    logs: (after) => logs().all(after),
    envelopes: (scope) => envelopes().of(scope),
    allEnvelopes: () => envelopes().all(),
    cascades: (filter, after) => cascades().pages(filter, after),
    cascadesAmong: (roots, after, filter = {}) =>
      cascades().ofRoots(
        roots.flatMap((root) => cpids().findEvenPruned(root) ?? []),
        after,
        filter,
      ),
    cascadesOf: (cpid) => of(cpid, cascadesOf),
    cascade: (root) =>
      ofRoot(root, (id) => cascades().of(id)) ?? (cpids().find(root) === 'pruned' ? 'pruned' : 'unknown'),
    tracesOf: (root) => ofRoot(root, (id) => traces().ofRoot(id)) ?? [],
    missingIn: (root, limit) => ofRoot(root, (id) => cpids().cpids(traces().missing.all(id, limit))) ?? [],
    mergelogsIn: (root, limit) =>
      ofRoot(root, (id) => [...mergelogs().of(traces().merged.all(id, limit), id)].flat()) ?? [],
    linkedSpans: (trace) => linked().of(trace),
    linkedSpansOf: (decisions) => linked().ofDecisions(decisions),
    beingPlacedIn: (trace) => linked().beingPlaced.rowsIn(trace),
    sentSpans: (trace, spanId) => sent().withId(trace, spanId),
    traceSent: (traceId) => sent().ofTrace(traceId),
    tracesOfCascades: (range, hint, test) => search().ofCascades(range, hint, test),
    tracesForwarded: (range, hint, test) => search().forwarded(range, hint, test),
    spansSent: (range, hint) => search().spans(range, hint),
    traceId: (trace) => search().traceId(trace),
    graph: (cpid, limit) => of(cpid, (id) => around().around(id, limit)),
    objects: (ref, after, first) => objects().pages(ref, after, first),
    objectVersions: (ref, after, first) => versions().pages(ref, after, first),
    objectsNamed: (text) => objects().numbers.named(text),
    *rootsOfTrace(traceId) {
      const root = traces().rootOf.get(traceId)
      if (root !== undefined) yield cpids().cpids([root])
      for (const cpid of sent().cpidsOf(traceId)) {
        const found = of(cpid, (id) => cascadesOf(id))
        if (typeof found !== 'string') yield found.cascades
      }
    },
    facets: () => readFacets(db),
    podStats: (root, limit) => {
      const id = cpids().find(root)
      return typeof id === 'number' ? podStats().of(id, limit) : { pods: [], leftOut: 0 }
    },
  }
}

/** How many of the newest resources and objects are read. */
const LATELY = 5_000

/** The services, clusters, actors, namespaces and kinds of objects that appeared recently. */
function readFacets(db: Sqlite): Facets {
  const texts = (sql: string): string[] => db.prepare<[], string>(sql).pluck().all()
  const lately = (column: string, table: string, age: string, where = ''): string[] =>
    texts(`SELECT DISTINCT ${column} FROM (SELECT ${column} FROM ${table} ORDER BY ${age} DESC LIMIT ${LATELY})
      ${where} ORDER BY 1 LIMIT ${MOST_FACETS}`)
  const objects = texts(`SELECT object FROM objects ORDER BY id DESC LIMIT ${LATELY}`)
  const kinds = new Set(objects.flatMap((object) => kindOfObject(object) ?? []))
  return {
    services: lately('service', 'resources', 'id', "WHERE service <> ''"),
    clusters: lately('cluster', 'resources', 'id', "WHERE cluster <> ''"),
    actors: lately('actor', 'trace_actors', 'trace'),
    namespaces: lately('namespace', 'trace_namespaces', 'trace'),
    kinds: [...kinds].sort().slice(0, MOST_FACETS),
  }
}

/** The most items of a page, and the most bytes unless a single item is larger. */
const ITEMS_A_PAGE = 500
const PAGE_BYTES = MIB

/** The ids of the original trace with the trace id @id. */
const ORIGINS = `(SELECT origin FROM origin_trace_index WHERE trace_id = @id
  UNION SELECT id FROM origin_traces WHERE id > (SELECT indexed_origins FROM progress) AND trace_id = @id)`
/** The most spans of an original trace that are read for their CPIDs. */
const SPANS_OF_TRACE = 10_000
/** How many of the newest of these CPIDs are looked up for their cascades. */
const CPIDS_OF_TRACE = 100

/** Reads what was sent into traces, as exporters read it; and which CPIDs a sender's trace has. */
class SentItems extends RecordReader {
  readonly #outbox = new SqliteOutbox(this.db)
  readonly #trace = this.column<[Buffer], number>('SELECT id FROM traces WHERE trace_id = ?')
  // CROSS JOIN: otherwise SQLite begins with all decisions that forwarded a span.
  readonly #forwarded = this.column<[{ id: Buffer }], number>(
    `SELECT outbox.decision FROM ${ORIGINS} found
       CROSS JOIN spans ON spans.origin = found.origin
       CROSS JOIN outbox ON outbox.trace = 0 AND outbox.span = spans.id ORDER BY 1`,
  )
  readonly #cpids = this.column<[{ id: Buffer }], Cpid>(
    `SELECT cpids.text FROM (SELECT cpid, max(id) AS newest FROM (SELECT spans.cpid, spans.id FROM ${ORIGINS} found
           CROSS JOIN spans ON spans.origin = found.origin LIMIT ${SPANS_OF_TRACE})
         WHERE cpid IS NOT NULL GROUP BY cpid ORDER BY newest DESC LIMIT ${CPIDS_OF_TRACE}) found
       CROSS JOIN cpids ON cpids.id = found.cpid ORDER BY found.newest DESC`,
  )

  /** What a backend has under this trace id: an outgoing trace, or forwarded spans. */
  ofTrace(traceId: Buffer): Pages<OutboxItem> | undefined {
    const trace = this.#trace.get(traceId)
    const forwarded = this.#forwarded.all({ id: traceId })
    return trace === undefined && forwarded.length === 0 ? undefined : this.#both(trace, forwarded)
  }

  /** The CPIDs of spans that a sender sent in the trace with this id. */
  cpidsOf(traceId: Buffer): Cpid[] {
    return this.#cpids.all({ id: traceId })
  }

  *#both(trace: number | undefined, forwarded: readonly number[]): Generator<readonly OutboxItem[]> {
    if (trace !== undefined) yield* this.#of(Float64Array.from(this.#outbox.decisionsOf(trace)))
    yield* this.#of(forwarded)
  }

  /** What these decisions sent, in the same order. */
  *#of(decisions: Iterable<number>): Pages<OutboxItem> & Generator<OutboxItem[]> {
    let items: OutboxItem[] = []
    let bytes = 0
    for (const decision of decisions) {
      const item = this.#outbox.item(decision)
      if (item === undefined) continue
      items.push(item)
      const length = (item.raw?.length ?? 0) + (item.extra?.length ?? 0)
      bytes += length
      this.read.add(length)
      if (items.length < ITEMS_A_PAGE && bytes < PAGE_BYTES) continue
      yield items
      ;[items, bytes] = [[], 0]
    }
    yield items
  }

  /** Spans with this id in a trace. */
  withId(trace: number, spanId: bigint): OutboxItem[] {
    const { received, own } = this.#outbox.decisionsOfSpan(trace, spanId)
    if (received.length > 0) return received.flatMap((decision) => this.#outbox.item(decision) ?? [])
    for (const page of this.#of(own)) {
      const found = page.filter(({ raw }) => raw !== undefined && readOwnSpan(raw).spanId === spanId)
      if (found.length > 0) return found
    }
    return []
  }
}
