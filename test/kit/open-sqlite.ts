import type { Stores, WriterDatabase } from '../../src/model/store-ports.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { sqliteStores } from '../../src/store/sqlite/writer-stores.ts'
import { emptyDatabase } from '../support/empty-database.ts'
import { TestClock } from '../support/test-clock.ts'
import type { Inside, Opened } from './opened.ts'

const KEEP_ALL = { maxCpids: 0, maxAgeMs: 0, maxBytes: 0 }

/** The ports on a database in memory, up to date and empty. */
export async function openSqlite(): Promise<Opened> {
  return openedOn(await emptyDatabase(), new TestClock())
}

function openedOn(db: Sqlite, clock: TestClock): Opened {
  const stores: WriterDatabase = sqliteStores(db, { retention: KEEP_ALL }, clock)
  const { transactor } = stores.transactor.with((inside) => ({
    inside: insideOf(inside),
    outside: undefined,
  }))
  return {
    clock,
    transactor,
    reader: stores.reader,
    reopened: () => openedOn(db, clock),
    [Symbol.dispose]: () => db.close(),
  }
}

function insideOf({ links, linkRound, attempt, arrivals, graph, pruning, positions }: Stores): Inside {
  const { mergelogs, waiting, unfinished, changes, traces } = links
  const ports = { arrivals, graph, pruning, positions, mergelogs, waiting, unfinished, changes, traces }
  return { ...ports, linkRound, attempt: (part) => attempt('pruning', part) }
}
