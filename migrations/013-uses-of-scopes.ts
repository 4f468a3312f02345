import { sql, type Kysely } from 'kysely'

/**
 * How many rows name each scope, so that one that nothing names can go, and its resource with the last of them. Rows that come
 * are counted by the code that adds them, scope by scope; those that go by triggers, whoever removes them. Counts what is
 * there, for which it reads the rows of spans and logs once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const NAMING = ['spans', 'logs', 'mergelogs', 'rejected_mergelogs', 'outbox']

const STATEMENTS = [
  'ALTER TABLE scopes ADD COLUMN uses INTEGER NOT NULL DEFAULT 0',
  ...NAMING.map(
    (table) => `UPDATE scopes SET uses = uses + c.n
      FROM (SELECT scope, count(*) AS n FROM ${table} GROUP BY scope) c WHERE c.scope = scopes.id`,
  ),
  'CREATE INDEX scopes_unused ON scopes (id) WHERE uses = 0',
  ...NAMING.map(
    (table) => `CREATE TRIGGER ${table}_scope AFTER DELETE ON ${table} WHEN old.scope IS NOT NULL BEGIN
    UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END`,
  ),
]
