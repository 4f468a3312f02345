import { sql, type Kysely } from 'kysely'

/**
 * By what spans of API servers and kubelets find the writes that they belong to, which spans wait for what, and what each
 * belongs to that has joined something.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

/** A flag of spans: they have joined something, or hang under what has. */
const JOINED = 512
/** What waits for something that it may join, in `waiting`. */
const WAITS_TO_JOIN = 5

const STATEMENTS = [
  // The number that the API server gave the request, and the trace in which it called admission.
  'ALTER TABLE seen_writes ADD COLUMN audit_id TEXT',
  'ALTER TABLE seen_writes ADD COLUMN admitted_trace BLOB',
  'CREATE INDEX seen_writes_by_audit_id ON seen_writes (audit_id) WHERE audit_id IS NOT NULL',
  'CREATE INDEX seen_writes_by_trace ON seen_writes (admitted_trace) WHERE admitted_trace IS NOT NULL',
  // target: the span that it hangs under.
  `CREATE TABLE joined_spans (
    span INTEGER PRIMARY KEY,
    target INTEGER NOT NULL
  ) STRICT`,
  `CREATE TRIGGER spans_joined AFTER DELETE ON spans WHEN old.flags & ${JOINED} BEGIN
    DELETE FROM joined_spans WHERE span = old.id;
  END`,
  `CREATE TABLE awaited_joins (
    key TEXT NOT NULL,
    span INTEGER NOT NULL,
    PRIMARY KEY (key, span)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX awaited_joins_by_span ON awaited_joins (span)',
  `CREATE TRIGGER waiting_to_join AFTER DELETE ON waiting WHEN old.kind = ${WAITS_TO_JOIN} BEGIN
    DELETE FROM awaited_joins WHERE span = old.arrival;
  END`,
]
