import { sql, type Kysely } from 'kysely'

/**
 * The merge graph is kept in order (docs/adr/020-merge-graph-in-order.md). A CPID's rank is its number, unless it is written;
 * those that are there already are not read: they have one and the same rank, that of the last of them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE cpids ADD COLUMN rank REAL',
  'ALTER TABLE progress ADD COLUMN unranked_cpids INTEGER NOT NULL DEFAULT 0',
  'UPDATE progress SET unranked_cpids = (SELECT coalesce(max(id), 0) FROM cpids)',
]
