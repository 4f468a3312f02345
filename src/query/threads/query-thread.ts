import { randomUUID } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { errorText } from '../../model/faults.ts'
import { MIB } from '../../model/time-and-size.ts'
import { collectGarbage } from '../../platform/collect-garbage.ts'
import { systemClock, systemTimers } from '../../platform/system-clock.ts'
import { openForReading, storageFault } from '../../store/sqlite/open-database.ts'
import { dataVersion, sqliteQueries } from '../../store/sqlite/queries.ts'
import { LongAnswers } from './long-answers.ts'
import type { AnswerLength, FromQuery, QueryThreadData, ToQuery } from './query-messages.ts'
import { type Answering, type QueryServing, ShortAnswers } from './short-answers.ts'

/** The nice value of the thread for long answers. Linux has one per thread. */
const NICENESS_OF_LONG = 5

/** Enough for the pages of a walk over a few thousand CPIDs with scattered rows. */
const PAGE_CACHE_KIB = 8 * 1024

/** A row with this many bytes counts as large. Garbage is collected explicitly after COLLECT_AFTER_BYTES of large rows. */
const LARGE_BYTES = 256 * 1024
const COLLECT_AFTER_BYTES = 8 * MIB

/** The thread that answers questions over its own read-only connection. */
async function run(port: MessagePort): Promise<void> {
  const { path, salt, answers, archive } = workerData as QueryThreadData
  try {
    if (answers !== 'short') giveWay()
    const db = openForReading(path, PAGE_CACHE_KIB)
    if (archive !== undefined) {
      const { serveArchive } = await import('./serve-archive.ts')
      serveArchive(port, { db, archive, reasonOf: reasonOf(port) })
      port.postMessage({ kind: 'ready' } satisfies FromQuery)
      return
    }
    // SQLite's data_version is only comparable within a connection.
    const connection = randomUUID()
    serveQueries(port, {
      queries: sqliteQueries(db),
      salt,
      answers,
      dataVersion: () => `${connection} ${dataVersion(db)}`,
      cpuMs: () => {
        const { user, system } = process.threadCpuUsage()
        return (user + system) / 1000
      },
      onStop: () => db.close(),
      clock: systemClock,
      timers: systemTimers,
      onMade: collecting(),
      reasonOf: reasonOf(port),
    })
    port.postMessage({ kind: 'ready' } satisfies FromQuery)
  } catch (error) {
    port.postMessage({ kind: 'fatal', reason: errorText(error) } satisfies FromQuery)
    port.close()
  }
}

/** Says why a question failed. If the database is damaged, also reports that to the main thread. */
function reasonOf(port: MessagePort): (error: unknown) => string {
  return (error) => {
    const fault = storageFault(error)
    if (fault?.kind === 'damaged') port.postMessage({ kind: 'storage', fault } satisfies FromQuery)
    return fault?.reason ?? errorText(error)
  }
}

interface ServingSettings extends Omit<QueryServing, 'reasonOf'>, Partial<Pick<QueryServing, 'reasonOf'>> {
  /** Any length by default. */
  answers?: AnswerLength
  onStop: () => void
}

/**
 * Answers questions from a port in turns, so that a long answer does not block a short one. An answer whose client reads slowly waits
 * without a read transaction.
 */
export function serveQueries(
  port: MessagePort,
  { answers = 'any', onStop, reasonOf = errorText, ...settings }: ServingSettings,
): void {
  const post = (message: FromQuery): void => port.postMessage(message)
  const serving = { ...settings, reasonOf }
  const answering: Answering =
    answers === 'short' ? new ShortAnswers(post, serving) : new LongAnswers(post, serving)
  port.on('message', (message: ToQuery) => {
    switch (message.kind) {
      case 'ask':
        answering.ask(message)
        return
      case 'read':
        answering.read(message.id)
        return
      case 'cancel':
        answering.cancel(message.id)
        return
      case 'short':
        answering.foundShort?.(message.question, message.connection)
        return
      case 'stop':
        answering.stop()
        port.close()
        onStop()
    }
  })
}

/**
 * Collects garbage explicitly: V8 keeps the buffers and strings of large rows long after their use. A collection costs little compared to
 * making them.
 */
function collecting(): (bytes: number) => void {
  let left = 0
  return (bytes) => {
    if (bytes < LARGE_BYTES) return
    left += bytes
    if (left < COLLECT_AFTER_BYTES) return
    left = 0
    collectGarbage()
  }
}

/** Lowers the priority of this thread, so that threads that senders and other clients wait for run first. */
function giveWay(): void {
  try {
    const thread = Number(basename(readlinkSync('/proc/thread-self')))
    setPriority(thread, NICENESS_OF_LONG)
  } catch {
    // Only Linux has this file. Elsewhere all threads have equal priority.
  }
}

if (parentPort !== null) void run(parentPort)
