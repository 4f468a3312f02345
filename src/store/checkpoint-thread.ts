import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { CheckpointThreadData, FromCheckpoints, ToCheckpoints } from './checkpoints.ts'
import { openForCheckpoints, SqliteWalCheckpointer } from './sqlite/write-ahead-log.ts'

/** Copies the write-ahead log into the database while the writer goes on writing. */
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
      // The writer meets the same fault when it checkpoints itself, and handles it.
    }
    port.postMessage(done)
  })
}

if (parentPort !== null) run(parentPort)
