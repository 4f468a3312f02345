import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { errorText } from '../../model/error-text.ts'
import { dataVersion, openForReading } from '../../sqlite/open-database.ts'
import { SqliteQueries } from '../../sqlite/readers/sqlite-queries.ts'
import { storageFault } from '../../sqlite/storage-fault.ts'
import type { FromQuery, QueryThreadData } from '../../threads/query-messages.ts'
import { systemClock } from '../system-clock.ts'
import { systemTimers } from '../system-timers.ts'
import { serveQueries } from './serve-queries.ts'

/** Room for the pages of a walk over a few thousand CPIDs whose rows lie far apart. */
const PAGE_CACHE_KIB = 8 * 1024

/** The thread that answers questions through a connection of its own that only reads. */
function run(port: MessagePort): void {
  const { path, salt } = workerData as QueryThreadData
  try {
    const db = openForReading(path, PAGE_CACHE_KIB)
    serveQueries(port, {
      queries: new SqliteQueries(db),
      salt,
      dataVersion: () => dataVersion(db),
      onStop: () => db.close(),
      clock: systemClock,
      timers: systemTimers,
      reasonOf: (error) => {
        const fault = storageFault(error)
        if (fault?.kind === 'damaged') port.postMessage({ kind: 'storage', fault } satisfies FromQuery)
        return fault?.reason ?? errorText(error)
      },
    })
    port.postMessage({ kind: 'ready' } satisfies FromQuery)
  } catch (error) {
    port.postMessage({ kind: 'fatal', reason: errorText(error) } satisfies FromQuery)
    port.close()
  }
}

if (parentPort !== null) run(parentPort)
