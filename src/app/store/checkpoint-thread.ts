import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { openForCheckpoints, WalMover } from '../../sqlite/log/wal-mover.ts'
import type {
  CheckpointThreadData,
  FromCheckpoints,
  ToCheckpoints,
} from '../../store/checkpoints/checkpoint-messages.ts'

/** Copies the write-ahead log into the database while the writer goes on writing. */
function run(port: MessagePort): void {
  const { path } = workerData as CheckpointThreadData
  const db = openForCheckpoints(path)
  const log = new WalMover(db)
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
      // The writer meets the same fault when it tries for itself, and knows what to make of it.
    }
    port.postMessage(done)
  })
}

if (parentPort !== null) run(parentPort)
