import { sql, type Kysely } from 'kysely'

/** Spans and log records about a write that inference has not decided about. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  `CREATE TABLE held_items (
  id INTEGER PRIMARY KEY,
  cpid BLOB NOT NULL, -- of the change that a program began for the write
  signal INTEGER NOT NULL, -- 0 traces, 1 logs
  request BLOB NOT NULL, -- an OTLP request with nothing but the item
  sender TEXT, -- what its connection proved, as JSON
  due_ms INTEGER NOT NULL -- up time from which on it waits no more for a version that nobody told of
  ) STRICT`,
  'CREATE INDEX held_items_by_cpid ON held_items (cpid)',
  'CREATE INDEX held_items_by_due ON held_items (due_ms)',
]
