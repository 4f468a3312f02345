import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { MIB } from '../../model/time-and-size.ts'
import type { FromSql, SqlQuestion } from './ask-sql.ts'

/** The nice value: a Causeway on the same machine goes first. */
const NICE = 10
const MAX_MEMORY = 1024 * MIB
const LOOK_MS = 50

/**
 * The process that runs one query. SQLite cannot be interrupted from its own thread, so the query runs in a worker thread. The process
 * kills itself if the query takes too much memory, or if the parent is gone.
 */
process.once('message', (message: SqlQuestion) => {
  setPriority(NICE)
  const worker = new Worker(new URL('./sql-thread.ts', import.meta.url), { workerData: message })
  const tell = (answer: FromSql): void => {
    process.send?.(answer)
  }
  worker.on('message', (answer: FromSql) => tell(answer))
  worker.on('error', (error: Error) => tell({ kind: 'failed', message: error.message }))
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() <= MAX_MEMORY) return
    clearInterval(watch)
    tell({ kind: 'failed', message: 'the query needs more than 1 GiB of memory; select, sort or group less' })
  }, LOOK_MS)
  watch.unref()
})
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
