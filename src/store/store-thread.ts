import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { errorText } from '../model/faults.ts'
import { collectGarbage } from '../platform/collect-garbage.ts'
import { systemClock, systemTimers } from '../platform/system-clock.ts'
import { AwaitedMessages } from './awaited-messages.ts'
import { Checkpoints, startCheckpointThread } from './checkpoints.ts'
import { soughtReferences } from './inference-rules.ts'
import { migrate } from './sqlite/migrate.ts'
import {
  closeWriting,
  holdDatabase,
  openFailureSentence,
  openForWriting,
  shrinkMemory,
  sqliteFaults,
} from './sqlite/open-database.ts'
import { CommittedArrivalsMark, SqliteWalCheckpointer, WalLength } from './sqlite/write-ahead-log.ts'
import { sqliteStores } from './sqlite/writer-stores.ts'
import { StorageHealth } from './storage-health.ts'
import type { FromStore, StoreThreadData, ToStore } from './store-messages.ts'
import { StoreScheduler } from './store-scheduler.ts'
import { StoreWriter } from './store-writer.ts'

/** The thread that owns the database's only writing connection. */
const { path, exporters, archives, retention, awaited: posted, ...settings } = workerData as StoreThreadData

async function run(port: MessagePort): Promise<void> {
  const post = (message: FromStore): void => port.postMessage(message)
  try {
    const mark = new CommittedArrivalsMark(path)
    const db = openForWriting(path)
    await migrate(db)
    const hold = holdDatabase(path)
    const stores = sqliteStores(db, { retention, sought: soughtReferences(settings.inference) }, systemClock)
    const writer = new StoreWriter(stores, { ...settings, retention }, systemClock)
    const positions = {
      traces: writer.keepExporters('traces', exporters.traces),
      logs: writer.keepExporters('logs', exporters.logs),
      metrics: writer.keepExporters('metrics', exporters.metrics),
    }
    const kept = writer.keepArchives(archives)
    const nowMs = (): number => systemClock.monotonicMs()
    const health = new StorageHealth(stores.faults, (fault) => post({ kind: 'storage', fault }), nowMs)
    const checkpoints = db.memory
      ? undefined
      : new Checkpoints(new SqliteWalCheckpointer(db), {
          nowMs,
          start: () => startCheckpointThread(path),
          onEnded: (reason) => post({ kind: 'checkpointsEnded', reason }),
        })
    const awaited = new AwaitedMessages(posted)
    const scheduler = new StoreScheduler(writer, {
      pruneIntervalMs: retention.intervalMs,
      post,
      health,
      wal: new WalLength(db),
      clock: systemClock,
      timers: systemTimers,
      isAwaited: () => awaited.areThere,
      ...(checkpoints && { checkpoints }),
      ...(!db.memory && { mark }),
      rest: () => {
        checkpoints?.rest()
        shrinkMemory(db)
        collectGarbage()
        post({ kind: 'resting' })
      },
    })
    const stop = async (): Promise<void> => {
      scheduler.stop()
      await checkpoints?.[Symbol.asyncDispose]()
      closeWriting(db)
      mark.remove()
      hold[Symbol.dispose]()
      post({ kind: 'stopped' })
      port.close()
    }
    port.on('message', (message: ToStore) => {
      awaited.noteTaken(message)
      switch (message.kind) {
        case 'ingest':
          scheduler.add(message)
          return
        case 'observe':
          scheduler.observe(message)
          return
        case 'streamsBehind':
          writer.inference.setBehind(message.cluster, message.receiver, message.isBehind)
          return
        case 'askKnownObjects':
        case 'askStreamPosition':
          scheduler.inference.answer(message)
          return
        case 'exporterMoved':
          scheduler.exporterReports.moved(message)
          return
        case 'archiveMoved':
          scheduler.exporterReports.archived(message)
          return
        case 'setAside':
          scheduler.setAside(message.items)
          return
        case 'catchUp':
          scheduler.catchUp(message.graceMs)
          return
        case 'collectGarbage':
          collectGarbage()
          return
        case 'stop':
          stop().catch((error: unknown) => {
            post({ kind: 'fatal', reason: reasonOf(error) })
            port.close()
          })
      }
    })
    post({ kind: 'ready', positions, lastDecisions: writer.lastDecisions, archives: kept })
    const missing = mark.missing(writer.progress.lastArrival)
    if (missing > 0) post({ kind: 'notice', reason: logIsGone(path, missing) })
    scheduler.start()
  } catch (error) {
    post({ kind: 'fatal', reason: reasonOf(error) })
    port.close()
  }
}

function logIsGone(path: string, missing: number): string {
  return (
    `the last ${missing} spans and log records that were stored in ${path} before Causeway ended are missing, since its ` +
    `write-ahead log ${path}-wal was removed or cut after that: stop Causeway, put back what was removed, or else a backup ` +
    '(docs/recovery.md), or go on without them'
  )
}

/** The text of an error at the start; damage may only show after opening. */
function reasonOf(error: unknown): string {
  if (sqliteFaults.of(error) !== undefined) return openFailureSentence(path, error)
  return errorText(error)
}

if (parentPort !== null) await run(parentPort)
