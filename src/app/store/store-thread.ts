import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { errorText } from '../../model/error-text.ts'
import { holdDatabase } from '../../sqlite/hold-database.ts'
import { migrate } from '../../sqlite/migrate.ts'
import { openForWriting, storageSentence, type Sqlite } from '../../sqlite/open-database.ts'
import { storageFault } from '../../sqlite/storage-fault.ts'
import { WalKeeper } from '../../sqlite/log/wal-keeper.ts'
import { Checkpoints } from '../../store/checkpoints/checkpoints.ts'
import { collectGarbage } from '../../store/collect-garbage.ts'
import { StorageHealth } from '../../store/storage-health.ts'
import { StoreTurns } from '../../store/store-turns.ts'
import { StoreWriter } from '../../store/store-writer.ts'
import { systemClock } from '../system-clock.ts'
import type { FromStore, StoreThreadData, ToStore } from '../../threads/thread-messages.ts'

/** The thread that owns the database's only writing connection. */
const { path, exporters, retention, ...settings } = workerData as StoreThreadData

async function run(port: MessagePort): Promise<void> {
  const post = (message: FromStore): void => port.postMessage(message)
  try {
    const db = openForWriting(path)
    await migrate(db)
    const hold = holdDatabase(path)
    const writer = new StoreWriter(db, { ...settings, retention }, systemClock)
    const last = writer.lastDecisions
    const positions = writer.run(() => ({
      traces: writer.positions.traces.keep(exporters.traces, last.traces),
      logs: writer.positions.logs.keep(exporters.logs, last.logs),
    }))
    const health = new StorageHealth((fault) => post({ kind: 'storage', fault }))
    const checkpoints = db.memory
      ? undefined
      : new Checkpoints(db, { onEnded: (reason) => post({ kind: 'checkpointsEnded', reason }) })
    const turns = new StoreTurns(writer, {
      pruneIntervalMs: retention.intervalMs,
      post,
      health,
      wal: new WalKeeper(db),
      ...(checkpoints && { checkpoints }),
      rest: () => {
        db.pragma('shrink_memory')
        collectGarbage()
        post({ kind: 'resting' })
      },
    })
    const stop = async (): Promise<void> => {
      turns.stop()
      await checkpoints?.[Symbol.asyncDispose]()
      close(db)
      hold[Symbol.dispose]()
      post({ kind: 'stopped' })
      port.close()
    }
    port.on('message', (message: ToStore) => {
      switch (message.kind) {
        case 'ingest':
          turns.add(message)
          return
        case 'moved':
          turns.exporterMoved(message)
          return
        case 'setAside':
          turns.setAside(message.items)
          return
        case 'catchUp':
          turns.catchUp(message.graceMs)
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
    post({ kind: 'ready', positions, lastDecisions: writer.lastDecisions })
    turns.start()
  } catch (error) {
    post({ kind: 'fatal', reason: reasonOf(error) })
    port.close()
  }
}

/** What lies in the write-ahead log stays there when it cannot be moved now; nothing of it is lost. */
function close(db: Sqlite): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (storageFault(error) === undefined) throw error
  }
  db.close()
}

/** Damage may show only after opening. */
function reasonOf(error: unknown): string {
  if (storageFault(error) !== undefined) return storageSentence(path, error)
  return errorText(error)
}

if (parentPort !== null) await run(parentPort)
