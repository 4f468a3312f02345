import { cpidConnector } from '../../../src/config/cpid-connector.ts'
import { Findings } from '../../../src/config/schema.ts'
import type { Retention } from '../../../src/model/store-ports.ts'
import { systemClock } from '../../../src/platform/system-clock.ts'
import { openForWriting, type Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { sqliteStores } from '../../../src/store/sqlite/writer-stores.ts'
import { StoreWriter, type WriterSettings } from '../../../src/store/store-writer.ts'
import { obeyOrders } from '../load/obey-orders.ts'
import { freshChanges, type FreshChanges } from './fresh-changes.ts'
import type { Cost, FromWriter, ToWriter } from './messages.ts'
import { changeObjects } from './object-changes.ts'

/** As in the store thread. */
const MAX_COMMIT_BYTES = 1024 * 1024
const LINK_STEP = 500
const PRUNE_STEP = 200
const KEEP_ALL: Retention = { maxCpids: 0, maxAgeMs: 0, maxBytes: 0 }
/** Changes before those that are measured, so that the code is compiled and the caches hold what they would. */
const WARM_UP = 0.25

/**
 * A process that is Causeway's store thread and nothing else: its processor time is that of storing, linking or pruning,
 * whatever else the machine does.
 */
function measure(path: string, changes: number, prune: number): FromWriter {
  const db = openForWriting(path)
  const writer = writerOn(db, KEEP_ALL)
  writer.keepExporters('traces', ['sink'])
  store(db, writer, freshChanges(Math.ceil(changes * WARM_UP), Date.now()))
  const costs = store(db, writer, freshChanges(changes, Date.now()))
  const position = writer.lastDecisions.traces
  writer.savePositions([{ signal: 'traces', exporter: 'sink', position, refused: 0 }])
  const { cpids } = writer.gauges()
  const perPruned = pruned(db, cpids - prune)
  db.close()
  return { kind: 'measured', ...costs, perPruned }
}

function store(db: Sqlite, writer: StoreWriter, fresh: FreshChanges): { perSpan: Cost; perCpid: Cost } {
  const mergelogs = costOf(db, () => storeAll(writer, 'logs', fresh.mergelogRequests))
  const spans = costOf(db, () => storeAll(writer, 'traces', fresh.spanRequests))
  return { perCpid: divided(mergelogs, fresh.cpids), perSpan: divided(spans, fresh.spans) }
}

function storeAll(writer: StoreWriter, signal: 'logs' | 'traces', requests: readonly Buffer[]): void {
  let waiting: Buffer[] = []
  let bytes = 0
  const commit = (): void => {
    const { outcomes } = writer.ingest(waiting.map((request) => ({ signal, bytes: request })))
    if (outcomes.some(({ kind }) => kind !== 'accepted')) throw new Error(JSON.stringify(outcomes))
    while (writer.link(LINK_STEP) > 0);
    waiting = []
    bytes = 0
  }
  for (const request of requests) {
    waiting.push(request)
    bytes += request.length
    if (bytes >= MAX_COMMIT_BYTES) commit()
  }
  if (waiting.length > 0) commit()
}

function pruned(db: Sqlite, maxCpids: number): Cost {
  const writer = writerOn(db, { ...KEEP_ALL, maxCpids })
  let cpids = 0
  const cost = costOf(db, () => {
    for (let more = true; more;) {
      const result = writer.prune(PRUNE_STEP)
      cpids += result.cpids
      more = result.more
    }
  })
  return divided(cost, cpids)
}

/** With the checkpoint that the work leads to. */
function costOf(db: Sqlite, work: () => void): Cost {
  db.pragma('wal_checkpoint(PASSIVE)')
  const cpu = process.threadCpuUsage()
  const startedMs = performance.now()
  work()
  db.pragma('wal_checkpoint(PASSIVE)')
  const { user, system } = process.threadCpuUsage(cpu)
  return { cpuUs: user + system, wallUs: (performance.now() - startedMs) * 1000 }
}

function divided({ cpuUs, wallUs }: Cost, count: number): Cost {
  return { cpuUs: cpuUs / count, wallUs: wallUs / count }
}

function writerOn(db: Sqlite, retention: Retention): StoreWriter {
  return new StoreWriter(sqliteStores(db, { retention }, systemClock), settings(retention), systemClock)
}

/** As when nothing else is configured. */
function settings(retention: Retention): WriterSettings {
  const config = cpidConnector.read({}, [], new Findings())
  if (config === undefined) throw new Error('a connector without settings has mistakes')
  return { maxSources: config.maxSources, linking: { ...config.linking, logs: false }, retention }
}

function obey(order: ToWriter): FromWriter {
  if (order.kind === 'measure') return measure(order.path, order.changes, order.prune)
  return changeObjects(order, settings(KEEP_ALL))
}

obeyOrders(obey)
