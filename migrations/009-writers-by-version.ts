import { sql, type Kysely } from 'kysely'

/**
 * Which spans of a trace wrote which object, in the order in which causal parents are looked for: by version. Which
 * episodes go on from a full trace of a root that is still open. Of which traces a sender's clock was wrong. Which spans went
 * into a trace for a child of theirs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE trace_writes RENAME TO trace_writes_by_end',
  `CREATE TABLE trace_writes (
    trace INTEGER NOT NULL,
    object INTEGER NOT NULL,
    version INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    span INTEGER NOT NULL,
    uid TEXT,
    PRIMARY KEY (trace, object, version, end_ns, span)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO trace_writes (trace, object, version, end_ns, span, uid)
   SELECT trace, object, version, end_ns, span, uid FROM trace_writes_by_end`,
  'DROP TABLE trace_writes_by_end',

  'ALTER TABLE traces ADD COLUMN continues_root INTEGER NOT NULL DEFAULT 0',
  // Such an episode was opened, for max_open, when the main trace was.
  `UPDATE traces SET continues_root = 1 WHERE state = 0 AND episode > 0
     AND opened_ms = (SELECT m.opened_ms FROM traces m WHERE m.root = traces.root AND m.episode = 0)`,

  'ALTER TABLE traces ADD COLUMN clock_skew INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE traces ADD COLUMN doubtful_times INTEGER NOT NULL DEFAULT 0',
  `CREATE INDEX outbox_for_children ON outbox (span, trace) WHERE flags & 16`,
]
