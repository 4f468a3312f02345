import type { Statement } from 'better-sqlite3'
import type { UnixNanos } from '../../model/clock.ts'
import {
  keyOfLink,
  keyOfPod,
  keyOfRequest,
  keyOfTrace,
  LINK,
  type Joins,
  type NamedByItself,
} from '../../model/ports/linking/joins.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import { readNamed } from '../../otlp/read/read-named.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import type { TraceIndex } from '../writer/trace-index.ts'

/** Writes that share a number, or a trace, of which one is chosen. */
const MAX_WRITES = 16
/** Writes of a Pod at and above which none is looked for that a kubelet may have read. */
const MAX_OF_POD = 1_000
/** Keys in memory before it is looked which of them are still awaited: pruning by force drops spans that wait. */
const LEAST_KEYS = 10_000

const NONE: readonly number[] = []

interface OfPod {
  object: string
  uid: string
  cluster: string
  upToNs: UnixNanos
  upTo: number
}

/** Which spans have joined what, and which wait to. */
export class JoinTable implements Joins {
  readonly #progress: Progress
  readonly #traces: Pick<TraceIndex, 'find'>
  readonly #raw: Statement<[number], Buffer>
  readonly #ofRequest: Statement<[string, number], number>
  readonly #ofTrace: Statement<[number, number], number>
  readonly #ofPod: Statement<[OfPod], number>
  readonly #add: Statement<[number, number]>
  readonly #target: Statement<[number], number>
  readonly #await: Statement<[string, number]>
  readonly #stop: Statement<[number], string>
  readonly #waiting: Statement<[string], number>
  readonly #all: Statement<[], string>
  readonly #keys: Statement<[number], { audit_id: string | null; admitted_trace: Buffer | null }>
  readonly #pods: Statement<[number], string>
  /** The keys that something waits for, or more, so that spans need not ask while nothing does. */
  #awaited: Set<string> | undefined
  /** The ids of spans among them that links name. */
  #links = new Set<bigint>()
  #mostKeys = LEAST_KEYS

  constructor(db: Sqlite, progress: Progress, traces: Pick<TraceIndex, 'find'>) {
    this.#progress = progress
    this.#traces = traces
    this.#raw = db.prepare<[number], Buffer>('SELECT raw FROM spans WHERE id = ?').pluck()
    this.#ofRequest = db
      .prepare<[string, number], number>(
        `SELECT span FROM seen_writes WHERE audit_id = ? AND span <= ? ORDER BY span LIMIT ${MAX_WRITES}`,
      )
      .pluck()
    this.#ofTrace = db
      .prepare<[number, number], number>(
        `SELECT span FROM seen_writes WHERE admitted_trace = (SELECT trace_id FROM origin_traces WHERE id = ?) AND span <= ?
         ORDER BY span LIMIT ${MAX_WRITES}`,
      )
      .pluck()
    this.#ofPod = db
      .prepare<[OfPod], number>(
        `SELECT id FROM (
           SELECT s.id, s.end_ns, x.version FROM objects o JOIN span_objects x ON x.object = o.id AND x.role = 1
           JOIN spans s ON s.id = x.span JOIN seen_writes y ON y.span = s.id
           WHERE o.object = @object AND (@cluster = '' OR o.cluster = @cluster) AND x.uid = @uid AND s.id <= @upTo
           ORDER BY x.version DESC LIMIT ${MAX_OF_POD})
         WHERE end_ns <= @upToNs ORDER BY version DESC LIMIT 1`,
      )
      .pluck()
    this.#add = db.prepare('INSERT OR REPLACE INTO joined_spans (span, target) VALUES (?, ?)')
    this.#target = db.prepare<[number], number>('SELECT target FROM joined_spans WHERE span = ?').pluck()
    this.#await = db.prepare('INSERT OR IGNORE INTO awaited_joins (key, span) VALUES (?, ?)')
    this.#stop = db
      .prepare<[number], string>('DELETE FROM awaited_joins WHERE span = ? RETURNING key')
      .pluck()
    this.#waiting = db
      .prepare<[string], number>('SELECT span FROM awaited_joins WHERE key = ? ORDER BY span')
      .pluck()
    this.#all = db.prepare<[], string>('SELECT DISTINCT key FROM awaited_joins').pluck()
    this.#keys = db.prepare('SELECT audit_id, admitted_trace FROM seen_writes WHERE span = ?')
    this.#pods = db
      .prepare<[number], string>(
        `SELECT x.uid FROM span_objects x JOIN objects o ON o.id = x.object
         WHERE x.span = ? AND x.role = 1 AND x.uid IS NOT NULL AND o.object GLOB 'v1/pods/*'`,
      )
      .pluck()
  }

  namedBy(row: number): NamedByItself {
    return readNamed(this.#raw.get(row) ?? Buffer.alloc(0))
  }

  writesOf(auditId: string): number[] {
    return this.#ofRequest.all(auditId, this.#progress.linkedArrival)
  }

  writesAdmittedIn(origin: number): number[] {
    return this.#ofTrace.all(origin, this.#progress.linkedArrival)
  }

  newestWriteOf(
    { uid, object }: { uid: string; object: string },
    cluster: string,
    upToNs: UnixNanos,
  ): number | undefined {
    return this.#ofPod.get({ uid, object, cluster, upToNs, upTo: this.#progress.linkedArrival })
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

  /** After a rollback, or when someone else wrote. */
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

  /** By what others may wait for a write that a span tells of. */
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
