import { sql, type Kysely } from 'kysely'

/** Steps of the linker that one event led to, and for which a transaction had no time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  `CREATE TABLE unfinished_steps (
  id INTEGER PRIMARY KEY, -- the linker takes them in this order, before the next arrival
  kind INTEGER NOT NULL, -- 0 waited, 1 observer, 2 child, 3 given up, 4 waited log
  arrival INTEGER NOT NULL, -- of what waits: a span, a change or a log record
  cpid INTEGER, -- that a child takes from its parent
  joined INTEGER NOT NULL -- 1 when its parent had joined what it named
  ) STRICT`,
]
