import { sql, type Kysely } from 'kysely'

/** Which original traces last long, by blocks of received spans: a search by time also looks at their spans of other times. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  // When the span started that came first. In traces from before this migration NULL until a block of their spans is read: then of any span.
  'ALTER TABLE origin_traces ADD COLUMN first_ns INTEGER',
  `CREATE TABLE long_traces (
  after INTEGER PRIMARY KEY, -- the spans of a block have the numbers after this one
  up_to INTEGER NOT NULL, -- and up to this one
  facts BLOB NOT NULL, -- serialized by v8
  checksum INTEGER NOT NULL -- of facts
  ) STRICT`,
]
