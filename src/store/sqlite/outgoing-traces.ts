import type { Statement } from 'better-sqlite3'
import type {
  ArrivedSpan,
  ChangeSpan,
  ChangeSpans,
  Trace,
  TraceActors,
  Traces,
} from '../../model/linking-ports.ts'
import { GenerationCache } from './generation-cache.ts'
import { OnConnection } from './open-database.ts'
import { WriterTable } from './transactions.ts'

const TRACES = 10_000
const SERVICES = 20_000
/** Cached for a root without a trace; row ids begin at 1. */
const NO_TRACE = 0

type TraceRow = { [column: string]: bigint | null } & { trace_id: Buffer }

/** Outgoing traces. `flush` writes those that changed. The cache evicts only between transactions. */
export class TraceTable extends WriterTable implements Traces {
  readonly #byId = new GenerationCache<number, Trace>(TRACES)
  readonly #currentOf = new GenerationCache<number, number>(TRACES)
  readonly #services = new GenerationCache<string, true>(SERVICES)
  readonly #touched = new Map<number, Trace>()
  readonly #one = this.#traces<[number]>('WHERE id = ?')
  readonly #current = this.#traces<[number]>('WHERE root = +? ORDER BY episode DESC LIMIT 1')
  readonly #ofRoot = this.#traces<[number]>('WHERE root = +? ORDER BY episode')
  readonly #due = this.#traces<[number, number]>('WHERE state = 0 AND due_ms <= ? ORDER BY due_ms LIMIT ?')
  readonly #insert = this.db.prepare(
    `INSERT INTO traces (trace_id, root, episode, root_span, state, opened_ms, last_arrival_ms, due_ms, first_ns,
         last_ns, sent_spans, sent_bytes, controller_spans, services, merges, missing, truncated, root_sent,
         provisional, last_decision, last_wall_ms, continues_root, continues, clock_skew, doubtful_times, sent_from_ns, sent_to_ns)
       VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #update = this.db.prepare(
    `UPDATE traces SET state = ?, last_arrival_ms = ?, due_ms = ?, first_ns = ?, last_ns = ?, sent_from_ns = ?, sent_to_ns = ?, sent_spans = ?,
         sent_bytes = ?, guest_spans = ?, guest_bytes = ?, controller_spans = ?, failed_spans = ?, services = ?, merges = ?, missing = ?, truncated = ?, root_sent = ?,
         last_decision = ?, last_wall_ms = ?, clock_skew = ?, doubtful_times = ? WHERE id = ?`,
  )
  readonly #addService = this.db.prepare(
    'INSERT OR IGNORE INTO trace_services (trace, service) VALUES (?, ?)',
  )
  readonly #missing = this.column<[number, number], number>(
    `SELECT count(DISTINCT c.id) FROM traces t JOIN change_spans s ON s.trace = t.id JOIN cpids c ON c.id = s.cpid
       WHERE t.root = +? AND coalesce(t.continues, t.id) = +? AND c.has_mergelog = 0 AND c.explained = 0`,
  )
  readonly #parts = this.#traces<[number, number]>('WHERE id = ? OR continues = ? ORDER BY episode')
  readonly #servicesIn = this.column<[number, number], number>(
    `SELECT count(DISTINCT service) FROM trace_services WHERE trace IN
       (SELECT id FROM traces WHERE id = ? UNION ALL SELECT id FROM traces WHERE continues = ?)`,
  )

  #traces<Bind extends unknown[]>(rest: string): Statement<Bind, TraceRow> {
    return this.exactRows<Bind, TraceRow>(`SELECT * FROM traces ${rest}`)
  }

  trace(id: number): Trace | undefined {
    return this.#byId.get(id) ?? this.#cached(this.#one.get(id))
  }

  currentOf(root: number): Trace | undefined {
    const known = this.#currentOf.get(root)
    if (known !== undefined) return known === NO_TRACE ? undefined : this.trace(known)
    const trace = this.#cached(this.#current.get(root))
    this.#currentOf.set(root, trace?.id ?? NO_TRACE)
    return trace
  }

  ofRoot(root: number): Trace[] {
    return this.#ofRoot.all(root).flatMap((row) => this.#cached(row) ?? [])
  }

  /** The stored traces of a cascade, by the id of the first one. */
  partsOf(cascade: number): Trace[] {
    return this.#parts.all(cascade, cascade).flatMap((row) => this.#cached(row) ?? [])
  }

  /** The number of services with spans in a cascade. */
  servicesIn(cascade: number): number {
    return this.#servicesIn.get(cascade, cascade) ?? 0
  }

  due(limit: number): Trace[] {
    const rows = this.#due.all(this.progress.activeMs, limit)
    return rows.flatMap((row) => this.#cached(row) ?? [])
  }

  add(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace {
    const { lastInsertRowid } = this.#insert.run(
      trace.traceId,
      trace.root,
      trace.episode,
      trace.rootSpan,
      trace.openedMs,
      trace.lastArrivalMs,
      trace.dueMs,
      trace.firstNs,
      trace.lastNs,
      trace.provisional ? 1 : 0,
      trace.lastWallMs,
      trace.continuesRoot ? 1 : 0,
      continues?.cascade ?? null,
      trace.clockSkew ? 1 : 0,
      trace.doubtfulTimes ? 1 : 0,
      trace.sentFromNs,
      trace.sentToNs,
    )
    const id = Number(lastInsertRowid)
    const added: Trace = {
      ...trace,
      id,
      cascade: continues?.cascade ?? id,
      traceId: ownCopyOf(trace.traceId),
    }
    this.#byId.set(added.id, added)
    this.#currentOf.set(added.root, added.id)
    this.touch(added)
    return added
  }

  touch(trace: Trace): void {
    this.#touched.set(trace.id, trace)
  }

  addService(trace: Trace, service: string): boolean {
    const key = `${trace.id} ${service}`
    if (this.#services.get(key) === true) return false
    this.#services.set(key, true)
    return this.#addService.run(trace.id, service).changes > 0
  }

  countMissing(trace: Trace): number {
    return this.#missing.get(trace.root, trace.cascade) ?? 0
  }

  /** Writes the traces that changed since the last call. */
  flush(): void {
    for (const trace of this.#touched.values()) {
      this.#update.run(
        trace.open ? 0 : 1,
        trace.lastArrivalMs,
        trace.dueMs,
        trace.firstNs,
        trace.lastNs,
        trace.sentFromNs,
        trace.sentToNs,
        trace.sentSpans,
        trace.sentBytes,
        trace.guestSpans,
        trace.guestBytes,
        trace.controllerSpans,
        trace.failedSpans,
        trace.services,
        trace.merges,
        trace.missing,
        trace.truncated ? 1 : 0,
        trace.rootSent ? 1 : 0,
        this.progress.lastDecision,
        trace.lastWallMs,
        trace.clockSkew ? 1 : 0,
        trace.doubtfulTimes ? 1 : 0,
        trace.id,
      )
    }
    this.#touched.clear()
  }

  /** Drops a trace from the caches: its row was removed. */
  drop(id: number, root: number): void {
    this.#byId.delete(id)
    this.#currentOf.delete(root)
  }

  forget(): void {
    this.#byId.clear()
    this.#currentOf.clear()
    this.#services.clear()
    this.#touched.clear()
  }

  #cached(row: TraceRow | undefined): Trace | undefined {
    if (row === undefined) return undefined
    const id = Number(row['id'])
    const known = this.#touched.get(id) ?? this.#byId.get(id)
    if (known !== undefined) return known
    const trace = traceOf(row)
    this.#byId.set(trace.id, trace)
    return trace
  }
}

/** A copy with memory of its own. Node cuts small buffers out of large ones, and keeping one keeps all of the large one. */
function ownCopyOf(bytes: Buffer): Buffer {
  const own = Buffer.alloc(bytes.length)
  own.set(bytes)
  return own
}

function whole(value: bigint | null | undefined): number {
  return Number(value ?? 0n)
}

function traceOf(row: TraceRow): Trace {
  return {
    id: whole(row['id']),
    traceId: row.trace_id,
    root: whole(row['root']),
    episode: whole(row['episode']),
    cascade: Number(row['continues'] ?? row['id'] ?? 0n),
    rootSpan: row['root_span'] ?? 0n,
    open: row['state'] === 0n,
    openedMs: whole(row['opened_ms']),
    lastArrivalMs: whole(row['last_arrival_ms']),
    lastWallMs: whole(row['last_wall_ms']),
    dueMs: whole(row['due_ms']),
    firstNs: row['first_ns'] ?? 0n,
    lastNs: row['last_ns'] ?? 0n,
    sentFromNs: row['sent_from_ns'] ?? 0n,
    sentToNs: row['sent_to_ns'] ?? 0n,
    clockSkew: row['clock_skew'] === 1n,
    doubtfulTimes: row['doubtful_times'] === 1n,
    sentSpans: whole(row['sent_spans']),
    sentBytes: whole(row['sent_bytes']),
    guestSpans: whole(row['guest_spans']),
    guestBytes: whole(row['guest_bytes']),
    controllerSpans: whole(row['controller_spans']),
    failedSpans: whole(row['failed_spans']),
    services: whole(row['services']),
    merges: whole(row['merges']),
    missing: whole(row['missing']),
    truncated: row['truncated'] === 1n,
    rootSent: row['root_sent'] === 1n,
    provisional: row['provisional'] === 1n,
    continuesRoot: row['continues_root'] === 1n,
  }
}

const CHANGES = 20_000

interface ChangeRow {
  trace: bigint
  span_id: bigint
  depth: bigint
  driven: bigint
}

/** The change span of each CPID in each trace. */
export class ChangeSpanTable extends OnConnection implements ChangeSpans {
  readonly #cache = new GenerationCache<string, ChangeSpan>(CHANGES)
  readonly #one = this.#changes<[number, number]>('WHERE cpid = ? AND trace = ?')
  readonly #newest = this.#changes<[number, number]>('WHERE cpid = +? ORDER BY trace DESC LIMIT +?')
  readonly #cpids = this.column<[number], number>(
    'SELECT cpid FROM change_spans WHERE trace = +? ORDER BY depth, cpid',
  )
  readonly #insert = this.db.prepare(
    'INSERT INTO change_spans (cpid, trace, span_id, depth, driven) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #noteDriven = this.db.prepare<[number, number]>(
    'UPDATE change_spans SET driven = 1 WHERE cpid = ? AND trace = ?',
  )

  #changes<Bind extends unknown[]>(rest: string): Statement<Bind, ChangeRow> {
    return this.exactRows<Bind, ChangeRow>(`SELECT trace, span_id, depth, driven FROM change_spans ${rest}`)
  }

  find(cpid: number, trace: number): ChangeSpan | undefined {
    const key = `${cpid} ${trace}`
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const row = this.#one.get(cpid, trace)
    if (row === undefined) return undefined
    const change = changeOf(row)
    this.#cache.set(key, change)
    return change
  }

  newest(cpid: number, most: number): ChangeSpan[] {
    return this.#newest.all(cpid, most).map(changeOf)
  }

  cpidsIn(trace: number): number[] {
    return this.#cpids.all(trace)
  }

  add(cpid: number, change: ChangeSpan): void {
    this.#insert.run(cpid, change.trace, change.spanId, change.depth, change.driven ? 1 : 0)
    this.#cache.set(`${cpid} ${change.trace}`, change)
  }

  noteDriven(cpid: number, change: ChangeSpan): void {
    this.#noteDriven.run(cpid, change.trace)
    this.#cache.set(`${cpid} ${change.trace}`, { ...change, driven: true })
  }

  forget(): void {
    this.#cache.clear()
  }
}

function changeOf(row: ChangeRow): ChangeSpan {
  const { trace, span_id: spanId, depth, driven } = row
  return { trace: Number(trace), spanId, depth: Number(depth), driven: driven === 1n }
}

interface Added {
  trace: number
  span: number
  service: string
  /** 1 if the span belongs to the change with which the cascade began. */
  ofRoot: number
}

/** Counts the writes of each actor in each trace; cascades are found by these rows. */
export class TraceActorTable extends OnConnection implements TraceActors {
  readonly #add = this.db.prepare<[Added]>(
    `INSERT INTO trace_actors (trace, actor, writes, gaps, missed, began)
       SELECT @trace, coalesce(user_name, @service), 1, gap, missed, cause = 'operator' AND @ofRoot = 1
       FROM seen_writes WHERE span = @span
       ON CONFLICT (trace, actor) DO UPDATE SET writes = writes + 1, gaps = gaps + excluded.gaps,
         missed = missed + excluded.missed,
         began = max(began, excluded.began)`,
  )

  add(trace: Trace, { row, service, cpid }: ArrivedSpan): void {
    this.#add.run({ trace: trace.id, span: row, service, ofRoot: cpid === trace.root ? 1 : 0 })
  }
}
