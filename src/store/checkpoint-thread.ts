import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { CheckpointThreadData, FromCheckpoints, ToCheckpoints } from './checkpoints.ts'
import { openForCheckpoints, SqliteWalCheckpointer } from './sqlite/write-ahead-log.ts'

/** Checkpoints the write-ahead log while the writer continues to write. */
function run(port: MessagePort): void {
  const { path } = workerData as CheckpointThreadData
  const db = openForCheckpoints(path)
  const log = new SqliteWalCheckpointer(db)
  port.on('message', (message: ToCheckpoints) => {
    if (message === 'stop') {
      db.close()
      port.close()
      return
    }
    let done: FromCheckpoints = 'failed'
    try {
      log.move()
      done = 'moved'
    } catch {
      // The writer will meet the same fault when it checkpoints, and handles it.
    }
    port.postMessage(done)
  })
}

if (parentPort !== null) run(parentPort)
