import type { Statement } from 'better-sqlite3'
import {
  type ArrivedSpan,
  type AwaitedParent,
  type AwaitedParents,
  type Joins,
  type JoinTargets,
  keyOfLink,
  keyOfPod,
  keyOfRequest,
  keyOfTrace,
  LINK,
  type ReleasedStep,
  type UnfinishedSteps,
  type Waiting,
  type WaitingItems,
  type WaitingKind,
} from '../../model/linking-ports.ts'
import { readJoinTargets } from '../../model/otlp/read-stored-span.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import type { ArrivedSpanTable } from './arrived-spans.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { TraceIndex } from './trace-id-index.ts'
import { type Progress, WriterTable } from './transactions.ts'

const KINDS: readonly WaitingKind[] = ['span', 'change', 'orphan', 'cause', 'parent', 'join']
const CHANGE = KINDS.indexOf('change')
/** Stored in place of an original trace for a change that waits for its reporting span. */
const TOLD = -1

interface WaitingRow {
  arrival: bigint
  kind: bigint
  cpid: bigint | null
  origin: bigint | null
  parent_id: bigint | null
  behind_until_ms: bigint | null
}

const COLUMNS = 'arrival, kind, cpid, origin, parent_id, behind_until_ms'

/** Spans and changes that wait for a mergelog or a parent, and until when. */
export class WaitingTable extends WriterTable implements WaitingItems {
  readonly #insert = this.db.prepare(`INSERT INTO waiting (${COLUMNS}, due_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`)
  readonly #is = this.column<[number], number>(
    `SELECT 1 FROM waiting WHERE arrival = ? AND kind <> ${CHANGE}`,
  )
  readonly #until = this.column<[number], number>('SELECT due_ms FROM waiting WHERE arrival = ?')
  readonly #isBehind = this.column<[number], number>(
    'SELECT behind_until_ms IS NOT NULL FROM waiting WHERE arrival = ?',
  )
  readonly #find = this.#rows<[number]>('WHERE arrival = ?')
  readonly #forCpid = this.#rows<[number]>('WHERE cpid = +? ORDER BY arrival')
  readonly #changeOf = this.#rows<[number]>(`WHERE cpid = +? AND kind = ${CHANGE} ORDER BY arrival LIMIT 1`)
  readonly #forParent = this.#rows<[number, bigint]>('WHERE origin = +? AND parent_id = +? ORDER BY arrival')
  readonly #due = this.#rows<[number, number]>('WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT ?')
  readonly #delete = this.column<[number], number>(
    'DELETE FROM waiting WHERE arrival = ? RETURNING origin IS -1',
  )
  readonly #countTold = this.column<[], number>(`SELECT count(*) FROM waiting WHERE origin = ${TOLD}`)
  /** An upper bound on the number of changes that wait for their reporting span: while it is 0, spans need no query. */
  #told: number | undefined

  #rows<Bind extends unknown[]>(rest: string): Statement<Bind, WaitingRow> {
    return this.exactRows<Bind, WaitingRow>(`SELECT ${COLUMNS} FROM waiting ${rest}`)
  }

  add(waiting: Waiting, dueMs: number): void {
    const { arrival, kind, cpid, origin, parentId, behindUntilMs } = waiting
    const isTold = kind === 'change' && parentId !== undefined
    const of = isTold ? TOLD : (origin ?? null)
    const numbers = [arrival, KINDS.indexOf(kind), cpid ?? null, of, parentId ?? null, behindUntilMs ?? null]
    this.#insert.run(...numbers, dueMs)
    if (isTold && this.#told !== undefined) this.#told++
  }

  hasSpan(arrival: number): boolean {
    return this.#is.get(arrival) === 1
  }

  untilOf(arrival: number): number | undefined {
    return this.#until.get(arrival)
  }

  isBehind(arrival: number): boolean {
    return this.#isBehind.get(arrival) === 1
  }

  find(arrival: number): Waiting | undefined {
    const row = this.#find.get(arrival)
    return row && waitingOf(row)
  }

  remove(arrival: number): boolean {
    const wasTold = this.#delete.get(arrival)
    if (wasTold === 1 && this.#told !== undefined) this.#told--
    return wasTold !== undefined
  }

  forCpid(cpid: number): Waiting[] {
    return this.#forCpid.all(cpid).map(waitingOf)
  }

  changeOf(cpid: number): Waiting | undefined {
    const row = this.#changeOf.get(cpid)
    return row && waitingOf(row)
  }

  forParent(origin: number, parentId: bigint): Waiting[] {
    return this.#forParent.all(origin, parentId).map(waitingOf)
  }

  changesReportedBy(spanId: bigint): Waiting[] {
    this.#told ??= this.#countTold.get() ?? 0
    return this.#told === 0 ? [] : this.forParent(TOLD, spanId)
  }

  due(limit: number): Waiting[] {
    return this.#due.all(this.progress.activeMs, limit).map(waitingOf)
  }

  /** Drops the cache after a rollback, or a write by another process. */
  forget(): void {
    this.#told = undefined
  }
}

function waitingOf(row: WaitingRow): Waiting {
  return {
    arrival: Number(row.arrival),
    kind: KINDS[Number(row.kind)] ?? 'span',
    cpid: row.cpid === null ? undefined : Number(row.cpid),
    origin: row.origin === null || row.origin === BigInt(TOLD) ? undefined : Number(row.origin),
    parentId: row.parent_id ?? undefined,
    behindUntilMs: row.behind_until_ms === null ? undefined : Number(row.behind_until_ms),
  }
}

const STEPS: readonly ReleasedStep['kind'][] = [
  'waited',
  'observer',
  'child',
  'given up',
  'waited log',
  'moved',
]

interface StepRow {
  kind: number
  arrival: number
  cpid: number | null
  joined: number
}

/** The linker's unfinished steps. */
export class UnfinishedStepTable extends OnConnection implements UnfinishedSteps {
  readonly #waiting: WaitingTable
  readonly #insert = this.db.prepare(
    'INSERT INTO unfinished_steps (id, kind, arrival, cpid, joined) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #firstId = this.column<[], number | null>('SELECT min(id) FROM unfinished_steps')
  readonly #take = this.db.prepare<[], StepRow>(
    `DELETE FROM unfinished_steps WHERE id = (SELECT min(id) FROM unfinished_steps)
       RETURNING kind, arrival, cpid, joined`,
  )
  readonly #isAny = this.column<[], number>('SELECT EXISTS (SELECT 1 FROM unfinished_steps)')
  /** Undefined after a rollback, until queried. */
  #areAny: boolean | undefined

  constructor(db: Sqlite, waiting: WaitingTable) {
    super(db)
    this.#waiting = waiting
  }

  /** Does not query, so it also works outside transactions. */
  get mayBeAny(): boolean {
    return this.#areAny !== false
  }

  get areAny(): boolean {
    return (this.#areAny ??= this.#isAny.get() === 1)
  }

  add(steps: readonly ReleasedStep[]): void {
    for (const step of steps) this.#add(step, null)
  }

  addFirst(steps: readonly ReleasedStep[]): void {
    if (steps.length === 0) return
    const before = (this.#firstId.get() ?? 0) - steps.length
    for (const [at, step] of steps.entries()) this.#add(step, before + at)
  }

  /** Adds a step under `id`; if that is null, after all others. */
  #add(step: ReleasedStep, id: number | null): void {
    const arrival = step.kind === 'waited' ? step.waiting.arrival : step.row
    const cpid = step.kind === 'child' || step.kind === 'moved' ? step.cpid : undefined
    const joined = step.kind === 'child' && step.joined ? 1 : 0
    this.#insert.run(id, STEPS.indexOf(step.kind), arrival, cpid ?? null, joined)
    this.#areAny = true
  }

  take(): ReleasedStep | undefined {
    this.#areAny = undefined
    const found = this.#take.get()
    if (found === undefined) return undefined
    const { arrival: row, cpid, joined } = found
    const kind = STEPS[found.kind] ?? 'waited'
    if (kind === 'child') return { kind, row, cpid: cpid ?? undefined, joined: joined === 1 }
    if (kind === 'moved') return cpid === null ? undefined : { kind, row, cpid }
    if (kind !== 'waited') return { kind, row }
    const waiting = this.#waiting.find(row)
    return waiting && { kind, waiting }
  }

  /** Drops the cache after a rollback, or a write by another process. */
  forget(): void {
    this.#areAny = undefined
  }
}

interface AwaitedRow {
  trace: number
  cpid: number | null
  since_ms: number
  driven: number
}

interface Pending {
  origin: number
  spanId: bigint
  children: Map<number, AwaitedParent>
}

/**
 * Parents that had not arrived when their child was linked. Rows are written at the end of the round, since most parents arrive in the same
 * round: span processors export children first.
 */
export class AwaitedParentTable extends WriterTable implements AwaitedParents {
  readonly #spans: Pick<ArrivedSpanTable, 'isOfThisRound'>
  readonly #pending = new Map<string, Pending>()
  readonly #stored = this.db.prepare<[number, bigint], AwaitedRow>(
    'SELECT trace, cpid, since_ms, driven FROM awaited_parents WHERE origin = ? AND span_id = ?',
  )
  readonly #insert = this.db.prepare(
    `INSERT INTO awaited_parents (origin, span_id, trace, cpid, since_ms, driven) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET driven = max(driven, excluded.driven)`,
  )
  readonly #delete = this.db.prepare('DELETE FROM awaited_parents WHERE origin = ? AND span_id = ?')

  constructor(db: Sqlite, progress: Progress, spans: Pick<ArrivedSpanTable, 'isOfThisRound'>) {
    super(db, progress)
    this.#spans = spans
  }

  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void {
    const key = `${origin} ${spanId}`
    let pending = this.#pending.get(key)
    if (pending === undefined) {
      pending = { origin, spanId, children: new Map() }
      this.#pending.set(key, pending)
    }
    const known = pending.children.get(trace)
    if (known === undefined || (driven && !known.driven)) {
      const sinceMs = known?.sinceMs ?? this.progress.activeMs
      pending.children.set(trace, { trace, cpid: known === undefined ? cpid : known.cpid, sinceMs, driven })
    }
  }

  since(origin: number, spanId: bigint): number | undefined {
    const times = [...this.#stored.all(origin, spanId)].map((row) => row.since_ms)
    for (const child of this.#pending.get(`${origin} ${spanId}`)?.children.values() ?? [])
      times.push(child.sinceMs)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  take({ origin, spanId, awaited, row }: ArrivedSpan): AwaitedParent[] {
    const taken: AwaitedParent[] = []
    if (awaited || !this.#spans.isOfThisRound(row)) {
      for (const stored of this.#stored.all(origin, spanId)) {
        const { trace, cpid, since_ms: sinceMs, driven } = stored
        taken.push({ trace, cpid: cpid ?? undefined, sinceMs, driven: driven === 1 })
      }
      if (taken.length > 0) this.#delete.run(origin, spanId)
    }
    if (this.#pending.size === 0) return taken
    const key = `${origin} ${spanId}`
    const pending = this.#pending.get(key)
    if (pending === undefined) return taken
    this.#pending.delete(key)
    for (const child of pending.children.values()) {
      const at = taken.findIndex((stored) => stored.trace === child.trace)
      const stored = taken[at]
      if (stored === undefined) taken.push(child)
      else if (child.driven && !stored.driven) taken[at] = { ...stored, driven: true }
    }
    return taken
  }

  flush(): void {
    for (const { origin, spanId, children } of this.#pending.values()) {
      for (const { trace, cpid, sinceMs, driven } of children.values()) {
        this.#insert.run(origin, spanId, trace, cpid ?? null, sinceMs, driven ? 1 : 0)
      }
    }
    this.#pending.clear()
  }

  forget(): void {
    this.#pending.clear()
  }
}

/** The most writes with the same audit id or trace among which one is chosen. */
const MAX_WRITES = 16
/** How many of the newest writes of a Pod are searched for the one that a kubelet may have read. */
const MAX_OF_POD = 1_000
/** With this many keys, stale ones are removed, which forced pruning of waiting spans leaves behind. */
const LEAST_KEYS = 10_000

const NONE: readonly number[] = []

interface OfPod {
  object: string
  uid: string
  cluster: string
  upToNs: UnixNanos
  upTo: number
}

/** Which spans have joined which, and which wait to join. */
export class AwaitedJoinTable extends WriterTable implements Joins {
  readonly #traces: Pick<TraceIndex, 'find'>
  readonly #raw = this.column<[number], Buffer>('SELECT raw FROM spans WHERE id = ?')
  readonly #ofRequest = this.column<[string, number], number>(
    `SELECT span FROM seen_writes WHERE audit_id = ? AND span <= ? ORDER BY span LIMIT ${MAX_WRITES}`,
  )
  readonly #ofTrace = this.column<[number, number], number>(
    `SELECT span FROM seen_writes WHERE admitted_trace = (SELECT trace_id FROM origin_traces WHERE id = ?) AND span <= ?
       ORDER BY span LIMIT ${MAX_WRITES}`,
  )
  readonly #ofPod = this.column<[OfPod], number>(
    `SELECT id FROM (
         SELECT s.id, s.end_ns, x.version FROM objects o JOIN span_objects x ON x.object = o.id AND x.role = 1
         JOIN spans s ON s.id = x.span JOIN seen_writes y ON y.span = s.id
         WHERE o.object = @object AND (@cluster = '' OR o.cluster = @cluster) AND x.uid = @uid AND s.id <= @upTo
         ORDER BY x.version DESC LIMIT ${MAX_OF_POD})
       WHERE end_ns <= @upToNs ORDER BY version DESC LIMIT 1`,
  )
  readonly #add = this.db.prepare<[number, number]>(
    'INSERT OR REPLACE INTO joined_spans (span, target) VALUES (?, ?)',
  )
  readonly #target = this.column<[number], number>('SELECT target FROM joined_spans WHERE span = ?')
  readonly #await = this.db.prepare<[string, number]>(
    'INSERT OR IGNORE INTO awaited_joins (key, span) VALUES (?, ?)',
  )
  readonly #stop = this.column<[number], string>('DELETE FROM awaited_joins WHERE span = ? RETURNING key')
  readonly #waiting = this.column<[string], number>(
    'SELECT span FROM awaited_joins WHERE key = ? ORDER BY span',
  )
  readonly #all = this.column<[], string>('SELECT DISTINCT key FROM awaited_joins')
  readonly #keys = this.db.prepare<[number], { audit_id: string | null; admitted_trace: Buffer | null }>(
    'SELECT audit_id, admitted_trace FROM seen_writes WHERE span = ?',
  )
  readonly #pods = this.column<[number], string>(
    `SELECT x.uid FROM span_objects x JOIN objects o ON o.id = x.object
       WHERE x.span = ? AND x.role = 1 AND x.uid IS NOT NULL AND o.object GLOB 'v1/pods/*'`,
  )
  /** A superset of the awaited keys: while it is empty, spans need no query. */
  #awaited: Set<string> | undefined
  /** The span ids among them, which links name. */
  #links = new Set<bigint>()
  #mostKeys = LEAST_KEYS

  constructor(db: Sqlite, progress: Progress, traces: Pick<TraceIndex, 'find'>) {
    super(db, progress)
    this.#traces = traces
  }

  namedBy(row: number): JoinTargets {
    return readJoinTargets(this.#raw.get(row) ?? Buffer.alloc(0))
  }

  writesOf(auditId: string): number[] {
    return this.#ofRequest.all(auditId, this.progress.linkedArrival)
  }

  writesAdmittedIn(origin: number): number[] {
    return this.#ofTrace.all(origin, this.progress.linkedArrival)
  }

  newestWriteOf(
    { uid, object }: { uid: string; object: string },
    cluster: string,
    upToNs: UnixNanos,
  ): number | undefined {
    return this.#ofPod.get({ uid, object, cluster, upToNs, upTo: this.progress.linkedArrival })
  }

  add(span: ArrivedSpan, target: number): void {
    this.#add.run(span.row, target)
  }

  targetOf(row: number): number | undefined {
    return this.#target.get(row)
  }

  await(row: number, keys: readonly string[]): void {
    if ((this.#awaited?.size ?? 0) > this.#mostKeys) this.forget()
    const awaited = this.#known()
    for (const key of keys) {
      this.#await.run(key, row)
      awaited.add(key)
      if (key.startsWith(LINK)) this.#links.add(BigInt(key.slice(LINK.length)))
    }
  }

  stopAwaiting(row: number): void {
    const awaited = this.#known()
    for (const key of this.#stop.all(row)) {
      if (this.#waiting.get(key) !== undefined) continue
      awaited.delete(key)
      if (key.startsWith(LINK)) this.#links.delete(BigInt(key.slice(LINK.length)))
    }
  }

  waitingFor(span: ArrivedSpan): readonly number[] {
    const awaited = this.#known()
    if (awaited.size === 0) return NONE
    const keys = span.seen ? this.#keysOf(span.row) : []
    if (this.#links.has(span.spanId)) keys.push(keyOfLink(span.spanId))
    return keys.flatMap((key) => (awaited.has(key) ? this.#waiting.all(key) : []))
  }

  /** Drops the caches after a rollback, or a write by another process. */
  forget(): void {
    this.#awaited = undefined
    this.#links.clear()
  }

  #known(): Set<string> {
    if (this.#awaited !== undefined) return this.#awaited
    this.#awaited = new Set(this.#all.all())
    for (const key of this.#awaited) if (key.startsWith(LINK)) this.#links.add(BigInt(key.slice(LINK.length)))
    this.#mostKeys = LEAST_KEYS + 2 * this.#awaited.size
    return this.#awaited
  }

  /** The keys by which other spans may wait for the write that a span reports. */
  #keysOf(row: number): string[] {
    const said = this.#keys.get(row)
    const keys = this.#pods.all(row).map(keyOfPod)
    if (said?.audit_id != null) keys.push(keyOfRequest(said.audit_id))
    const trace = said?.admitted_trace ?? undefined
    const origin = trace && this.#traces.find(trace.toString('latin1'))
    if (origin !== undefined) keys.push(keyOfTrace(origin))
    return keys
  }
}
