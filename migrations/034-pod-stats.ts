import { sql, type Kysely } from 'kysely'

/** Metrics that wait for exporters, and what they say of the Pods of cascades. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE progress ADD COLUMN last_metric_decision INTEGER NOT NULL DEFAULT 0',
  `CREATE TABLE metric_exporters (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE metric_outbox (
  decision INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL,
  points INTEGER NOT NULL,
  upto_bytes INTEGER NOT NULL, -- the length of this request and of all before it
  request BLOB NOT NULL
  ) STRICT`,
  `CREATE TABLE waiting_pod_points (
  id INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL, -- up time
  cluster TEXT NOT NULL,
  upto_bytes INTEGER NOT NULL, -- the length of this text and of all before it
  points TEXT NOT NULL -- by Pod, as JSON
  ) STRICT`,
  // By the first trace of a cascade, as trace_writes.
  `CREATE TABLE cascade_pods (
  uid TEXT NOT NULL,
  trace INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  object TEXT NOT NULL,
  first_ns INTEGER NOT NULL, -- when it was written in the cascade
  last_ns INTEGER NOT NULL,
  PRIMARY KEY (uid, trace)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX cascade_pods_by_trace ON cascade_pods (trace)',
  `CREATE TABLE pod_series (
  trace INTEGER NOT NULL,
  uid TEXT NOT NULL,
  metric INTEGER NOT NULL,
  container TEXT NOT NULL,
  points BLOB NOT NULL, -- seconds in four bytes, and a double, in the order of time
  PRIMARY KEY (trace, uid, metric, container)
  ) STRICT, WITHOUT ROWID`,
]
