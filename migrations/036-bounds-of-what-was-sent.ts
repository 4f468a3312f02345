import { sql, type Kysely } from 'kysely'

/**
 * Between which times all spans of a trace lie, so that a search by time finds copies too. Of traces from before this it is not known;
 * an hour more at both ends holds all that a trace took until it settled. Archives get the cluster of a root whose mergelog came late.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const HOUR_NS = 3_600_000_000_000

const STATEMENTS = [
  'ALTER TABLE traces ADD COLUMN sent_from_ns INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE traces ADD COLUMN sent_to_ns INTEGER NOT NULL DEFAULT 0',
  `UPDATE traces SET sent_from_ns = first_ns - ${HOUR_NS}, sent_to_ns = last_ns + ${HOUR_NS}`,
  'ALTER TABLE mergelogs ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0',
  `CREATE TRIGGER archive_mergelog_of_root AFTER UPDATE OF has_mergelog ON cpids
    WHEN old.has_mergelog = 0 AND new.has_mergelog = 1 AND EXISTS (SELECT 1 FROM archives) BEGIN
    INSERT OR REPLACE INTO archive_changes (kind, item, other)
      SELECT 3, h.trace, h.cpid FROM traces t CROSS JOIN change_spans h ON h.trace = t.id WHERE t.root = new.id;
    END`,
  `INSERT OR REPLACE INTO archive_changes (kind, item, other) SELECT 3, trace, cpid FROM change_spans
    WHERE EXISTS (SELECT 1 FROM archives)`,
]
