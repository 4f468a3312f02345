import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { moveWal, openForCheckpoints } from '../../sqlite/log/wal-checkpoint.ts'
import type { CheckpointThreadData, FromCheckpoints, ToCheckpoints } from './checkpoint-messages.ts'

/** Copies the write-ahead log into the database while the writer goes on writing. */
function run(port: MessagePort): void {
  const { path } = workerData as CheckpointThreadData
  const db = openForCheckpoints(path)
  port.on('message', (message: ToCheckpoints) => {
    if (message === 'stop') {
      db.close()
      port.close()
      return
    }
    let done: FromCheckpoints = 'failed'
    try {
      moveWal(db)
      done = 'moved'
    } catch {
      // The writer meets the same fault when it tries for itself, and knows what to make of it.
    }
    port.postMessage(done)
  })
}

if (parentPort !== null) run(parentPort)
