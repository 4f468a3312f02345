import { sql, type Kysely } from 'kysely'

const MILLIS = `strftime('%Y-%m-%dT%H:%M:%S', a.at_ms / 1000, 'unixepoch') || printf('.%03dZ', a.at_ms % 1000)`

/** What could not be worked on, so that everything else could be. `item`: an arrival, a trace, or a decision. */
const SET_ASIDE = [
  `CREATE TABLE set_aside (
   id INTEGER PRIMARY KEY,
   at_ms INTEGER NOT NULL,
   stage TEXT NOT NULL,
   kind TEXT NOT NULL,
   item INTEGER NOT NULL,
   cpid TEXT,
   exporter TEXT NOT NULL,
   reason TEXT NOT NULL,
   UNIQUE (stage, kind, item, exporter)
   ) STRICT`,
  `CREATE VIEW audit_set_aside AS
   SELECT ${MILLIS} AS time, a.stage, a.kind, a.item, a.cpid, nullif(a.exporter, '') AS exporter, a.reason FROM set_aside a`,
]

/** What is kept of what went wrong. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of SET_ASIDE) await sql.raw(statement).execute(db)
}
