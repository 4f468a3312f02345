import { sql, type Kysely } from 'kysely'

/**
 * How far archives have come, and what changed since of what they may have got before: each thing once, at its newest change. Where there
 * is no archive nothing is noted.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const IS_ARCHIVED = 'EXISTS (SELECT 1 FROM archives)'

const EXPLAINED = (row: string): string =>
  `(${row}.explained = 1 AND (${row}.state = 1 OR ${row}.has_mergelog = 1 AND ${row}.unexplained_sources = 0))`

const note = (values: string): string =>
  `INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (${values});`

const STATEMENTS = [
  'DROP VIEW audit_exporters',
  // By which archives tell this database from another one that is called the same.
  'ALTER TABLE progress ADD COLUMN instance BLOB',
  // Archives go by the numbers of refused mergelogs, which do not begin again when all of these have gone.
  'ALTER TABLE progress ADD COLUMN last_refused INTEGER NOT NULL DEFAULT 0',
  'UPDATE progress SET last_refused = coalesce((SELECT max(id) FROM rejected_mergelogs), 0)',
  `CREATE TABLE archives (
    name TEXT PRIMARY KEY,
    arrival INTEGER NOT NULL DEFAULT 0,
    decision INTEGER NOT NULL DEFAULT 0,
    change INTEGER NOT NULL DEFAULT 0,
    refused_mergelog INTEGER NOT NULL DEFAULT 0,
    refused_item INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID`,
  `CREATE VIEW audit_exporters AS
   SELECT e.name, e.position, p.last_decision - e.position AS waiting, e.refused FROM exporters e, progress p
   UNION ALL SELECT a.name, a.decision, p.last_decision - a.decision, a.refused FROM archives a, progress p`,
  `CREATE TABLE archive_changes (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    kind INTEGER NOT NULL, -- 1 CPID, 2 trace, 3 CPID (other) in a trace, 4 CPID of a span, 5 mergelog of a CPID replaced
    item INTEGER NOT NULL,
    other INTEGER NOT NULL,
    sources BLOB, -- of the mergelog that was replaced
    UNIQUE (kind, item, other)
  ) STRICT`,
  `CREATE TRIGGER archive_new_cpid AFTER INSERT ON cpids WHEN ${IS_ARCHIVED} BEGIN ${note('1, new.id, 0')} END`,
  `CREATE TRIGGER archive_cpid AFTER UPDATE OF state, has_mergelog, explained, unexplained_sources ON cpids
    WHEN (old.state <> new.state OR old.has_mergelog <> new.has_mergelog OR ${EXPLAINED('old')} <> ${EXPLAINED('new')}) AND ${IS_ARCHIVED}
    BEGIN ${note('1, new.id, 0')} END`,
  `CREATE TRIGGER archive_mergelog_of_cpid AFTER UPDATE OF has_mergelog, explained ON cpids
    WHEN (old.has_mergelog <> new.has_mergelog OR old.explained <> new.explained) AND ${IS_ARCHIVED} BEGIN
    INSERT OR REPLACE INTO archive_changes (kind, item, other) SELECT 2, id, 0 FROM traces WHERE root = new.id
      UNION SELECT 2, u.id, 0 FROM change_spans h CROSS JOIN traces t ON t.id = h.trace CROSS JOIN traces u ON u.root = t.root
      WHERE h.cpid = new.id AND u.state = 0 AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id);
    END`,
  `CREATE TRIGGER archive_new_trace AFTER INSERT ON traces WHEN ${IS_ARCHIVED} BEGIN ${note('2, new.id, 0')} END`,
  `CREATE TRIGGER archive_trace AFTER UPDATE OF state, first_ns, last_ns, controller_spans, services, merges, missing, truncated,
    clock_skew ON traces WHEN ${IS_ARCHIVED} BEGIN ${note('2, new.id, 0')} END`,
  `CREATE TRIGGER archive_new_beginner AFTER INSERT ON trace_actors WHEN new.began = 1 AND ${IS_ARCHIVED} BEGIN
    INSERT OR REPLACE INTO archive_changes (kind, item, other)
      SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root WHERE t.id = new.trace; END`,
  `CREATE TRIGGER archive_beginner AFTER UPDATE OF began ON trace_actors WHEN new.began > old.began AND ${IS_ARCHIVED} BEGIN
    INSERT OR REPLACE INTO archive_changes (kind, item, other)
      SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root WHERE t.id = new.trace; END`,
  `CREATE TRIGGER archive_new_change_span AFTER INSERT ON change_spans WHEN ${IS_ARCHIVED} BEGIN
    ${note('3, new.trace, new.cpid')}
    INSERT OR REPLACE INTO archive_changes (kind, item, other) SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root
      WHERE t.id = new.trace AND u.state = 0 AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id); END`,
  `CREATE TRIGGER archive_change_span AFTER UPDATE OF driven ON change_spans WHEN old.driven <> new.driven AND ${IS_ARCHIVED}
    BEGIN ${note('3, new.trace, new.cpid')} END`,
  `CREATE TRIGGER archive_span_cpid AFTER UPDATE OF cpid ON spans
    WHEN old.cpid IS NOT new.cpid AND new.id <= (SELECT linked_arrival FROM progress) AND ${IS_ARCHIVED}
    BEGIN ${note('4, new.id, 0')} END`,
  // What is gone can be told of no more.
  `CREATE TRIGGER archive_no_cpid AFTER DELETE ON cpids WHEN ${IS_ARCHIVED} BEGIN
    DELETE FROM archive_changes WHERE kind IN (1, 5) AND item = old.id; END`,
  `CREATE TRIGGER archive_no_trace AFTER DELETE ON traces WHEN ${IS_ARCHIVED} BEGIN
    DELETE FROM archive_changes WHERE kind IN (2, 3) AND item = old.id; END`,
  `CREATE TRIGGER archive_no_span AFTER DELETE ON spans WHEN ${IS_ARCHIVED} BEGIN
    DELETE FROM archive_changes WHERE kind = 4 AND item = old.id; END`,
]
