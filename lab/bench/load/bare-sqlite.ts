import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { BareRows, type RequestRows } from '../fill/bare-rows.ts'
import { BareStore } from '../fill/bare-store.ts'
import type { CommitOrder, FromBare } from './messages.ts'
import { obeyOrders } from './obey-orders.ts'

/** About as much as waits for one commit of Causeway's under full load. */
const BYTES_PER_COMMIT = 2 ** 20
/** Rows are made so many requests at a time, so that what is ready beforehand fits into memory. */
const REQUESTS_AT_ONCE = 100

/**
 * A process that stores what Causeway would store of the same requests, in the same schema and with the same settings,
 * with nothing around it: rows are ready beforehand, and only the transactions are timed.
 */
async function commit({ path, requests }: CommitOrder): Promise<FromBare> {
  const db = openForWriting(path)
  await migrate(db)
  const rows = new BareRows()
  const store = new BareStore(db)
  let ms = 0
  let spans = 0
  for (let from = 0; from < requests; from += REQUESTS_AT_ONCE) {
    const count = Math.min(REQUESTS_AT_ONCE, requests - from)
    const ready = groups(Array.from({ length: count }, () => rows.next(Date.now())))
    const startedMs = performance.now()
    for (const group of ready) store.commit(group)
    ms += performance.now() - startedMs
    spans = rows.lastArrival
  }
  db.close()
  return { kind: 'committed', spans, seconds: ms / 1000 }
}

function groups(requests: readonly RequestRows[]): RequestRows[][] {
  const all: RequestRows[][] = [[]]
  let bytes = 0
  for (const request of requests) {
    if (bytes + request.body.length > BYTES_PER_COMMIT && bytes > 0) {
      all.push([])
      bytes = 0
    }
    all.at(-1)?.push(request)
    bytes += request.body.length
  }
  return all
}

obeyOrders(commit)
