import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SentLog } from '../../lab/harness/sinks/log-json.ts'
import type { InferenceRules } from '../../src/kube/inference/inference-settings.ts'
import type {
  IngestOutcome,
  Sender,
  SenderGrants,
  SenderPolicy,
  Signal,
} from '../../src/model/otlp-requests.ts'
import type { WriterDatabase } from '../../src/model/store-ports.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import type { CausewayQueries } from '../../src/model/queries.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'
import { sqliteStores, type SqliteStoresSettings } from '../../src/store/sqlite/writer-stores.ts'
import { StoreWriter, type WriterSettings } from '../../src/store/store-writer.ts'
import { migratedBytes, migratedMemory } from './migrated-memory.ts'
import {
  type LogSketch,
  logsRequest,
  type MergelogSketch,
  mergelogsRequest,
  type SpanSketch,
  spansRequest,
} from './otlp-requests.ts'
import { sentLogs } from './sent-logs.ts'
import { type SentSpan, sentSpans } from './sent-spans.ts'
import { TestClock } from './test-clock.ts'

/** Others are found by what an autoscaler names. */
const SOUGHT = new Set(['target'])

const MANY = 100_000
/** As many as SQLite allows. */
const MAX_PAGES = 4_294_967_294
/** So few that trace ids are put into their index, and read from it, in nearly every test. */
const FEW_TRACES = { batch: 3, readAtStart: 2, readAtOnce: 1, leastIds: 4 }

/** A sender that may do everything. */
export const ALL_GRANTS: SenderGrants = {
  ...{
    spans: true,
    logs: true,
    mergelogs: true,
    metrics: true,
    join: 'any',
    clusters: ['*'],
    services: ['*'],
  },
  mergeFrom: { clusters: ['*'], services: ['*'], unknown: true },
}

export interface TestSettings {
  linking?: Partial<WriterSettings['linking']>
  retention?: Partial<WriterSettings['retention']>
  maxSources?: number
  maxCycleEdges?: number
  keepsFilters?: boolean
  senders?: SenderPolicy
  inference?: InferenceRules
  traceIndex?: SqliteStoresSettings['traceIndex']
  rowsABlock?: number
}

export function writerSettings({
  linking,
  retention,
  maxSources,
  maxCycleEdges,
  keepsFilters,
  senders,
  inference,
}: TestSettings = {}): WriterSettings {
  return {
    maxSources: maxSources ?? 1024,
    ...(maxCycleEdges !== undefined && { maxCycleEdges }),
    ...(keepsFilters !== undefined && { keepsFilters }),
    ...(senders && { senders }),
    ...(inference && { inference }),
    linking: {
      mode: 'cascade',
      waitMs: 10_000,
      settleAfterMs: 300_000,
      maxOpenMs: 1_800_000,
      maxFanout: 8,
      maxTraceSpans: 10_000,
      maxTraceBytes: 4 * 1024 * 1024,
      logs: false,
      ...linking,
    },
    retention: { maxCpids: 0, maxAgeMs: 0, maxBytes: 0, ...retention },
  }
}

/** The real writer on a real database, with a clock that tests turn. */
export class TestWriter {
  readonly clock: TestClock
  readonly db: Sqlite
  readonly stores: WriterDatabase
  readonly writer: StoreWriter
  readonly #settings: TestSettings

  private constructor(db: Sqlite, settings: TestSettings, clock: TestClock) {
    this.#settings = settings
    this.clock = clock
    this.db = db
    const wanted = writerSettings(settings)
    const traceIndex = { ...FEW_TRACES, ...settings.traceIndex }
    const { rowsABlock } = settings
    const sizes = { traceIndex, ...(rowsABlock !== undefined && { rowsABlock }) }
    this.stores = sqliteStores(db, { retention: wanted.retention, ...sizes, sought: SOUGHT }, clock)
    this.writer = new StoreWriter(this.stores, wanted, clock)
  }

  static async open(
    settings: TestSettings = {},
    path = ':memory:',
    clock = new TestClock(),
  ): Promise<TestWriter> {
    if (path === ':memory:') return new TestWriter(await migratedMemory(), settings, clock)
    // A file that there is already may be an older one.
    if (!existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, await migratedBytes())
    }
    const db = openForWriting(path)
    await migrate(db)
    return new TestWriter(db, settings, clock)
  }

  /** On a database that is up to date, which it closes. */
  static on(db: Sqlite, settings: TestSettings = {}, clock = new TestClock()): TestWriter {
    return new TestWriter(db, settings, clock)
  }

  /** The writer of another process on the same database, which closes it. */
  reopened(settings: TestSettings = this.#settings): TestWriter {
    return new TestWriter(this.db, settings, this.clock)
  }

  spans(service: string, spans: readonly SpanSketch[], cluster?: string): IngestOutcome {
    return this.ingest('traces', spansRequest(service, spans, cluster))
  }

  mergelogs(service: string, mergelogs: readonly MergelogSketch[], cluster?: string): IngestOutcome {
    return this.ingest('logs', mergelogsRequest(service, mergelogs, cluster))
  }

  logs(service: string, logs: readonly LogSketch[]): IngestOutcome {
    return this.ingest('logs', logsRequest(service, logs))
  }

  ingest(signal: Signal, bytes: Buffer, sender?: Sender): IngestOutcome {
    const outcome = this.writer.ingest([{ signal, bytes, ...(sender && { sender }) }]).outcomes[0]
    if (outcome === undefined) throw new Error('the writer gave no outcome')
    return outcome
  }

  /** Links all there is, in as many steps as `mayGoOn` makes of it. */
  link(mayGoOn?: () => boolean): void {
    while (this.writer.link(MANY, mayGoOn) > 0);
  }

  /** Lets time go by, then links and settles what is due. */
  pass(ms: number): void {
    this.link()
    this.clock.advance(ms)
    this.link()
    while (this.writer.reader.isAnythingDue()) this.writer.linking.expire(MANY)
    this.link()
    while (this.writer.reader.arePodPointsDue()) this.writer.decidePodPoints(() => true)
  }

  /** Every span that was decided on after a position, as backends receive it. */
  sent(after?: number): SentSpan[] {
    return sentSpans(this.db, after)
  }

  /** Every log record that was decided on after a position and that some exporter has still to send. */
  sentLogs(after?: number): SentLog[] {
    return sentLogs(this.db, after)
  }

  /** How many rows there are in a table or view; with a condition where it is `table WHERE …`. */
  rows(from: string): number {
    return this.db.prepare<[], number>(`SELECT count(*) FROM ${from}`).pluck().get() ?? -1
  }

  /** How many rows were inserted, updated and deleted so far. */
  get rowsWritten(): number {
    return this.db.prepare<[], number>('SELECT total_changes()').pluck().get() ?? -1
  }

  /** What people's questions are answered from. */
  queries(): CausewayQueries {
    return sqliteQueries(this.db)
  }

  /** Moves the write-ahead log into the database, as a stop does. */
  shortenLog(): void {
    this.db.pragma('wal_checkpoint(TRUNCATE)')
  }

  /** From here on nothing can be written, as on a disk that is read-only, until it is allowed again. */
  refuseWrites(): void {
    this.db.pragma('query_only = ON')
  }

  allowWrites(): void {
    this.db.pragma('query_only = OFF')
  }

  /** From here on the database cannot grow, as on a full disk, until there is room again. */
  fillDisk(): void {
    this.db.pragma(`max_page_count = ${Number(this.db.pragma('page_count', { simple: true }))}`)
  }

  freeDisk(): void {
    this.db.pragma(`max_page_count = ${MAX_PAGES}`)
  }

  /** Has exactly these exporters of a signal; new ones have everything after a decision to send. */
  keepExporters(signal: Signal, names: readonly string[], from = 0): void {
    this.writer.keepExporters(signal, names, from)
  }

  /** An exporter has sent everything up to now, or up to a decision. */
  exporterMoved(signal: Signal, exporter: string, position = this.writer.lastDecisions[signal]): void {
    this.writer.savePositions([{ signal, exporter, position, refused: 0 }])
  }

  /** Does something in a transaction that is rolled back. */
  rollBack(work: () => void = () => undefined): void {
    const broken = new Error('rolled back')
    try {
      this.stores.transactor.run(() => {
        work()
        throw broken
      })
    } catch (error) {
      if (error !== broken) throw error
    }
  }

  [Symbol.dispose](): void {
    this.db.close()
  }
}
