/** Where log records go: what was decided and not sent yet, which still wait, and how far each exporter of logs is. */
export const LOG_FORWARDING = [
  // One row a log record to send; gone once every exporter of logs is past it. trace_id: null as it came.
  // flags: 1 without its span id. cpid: the one it took from its span.
  `CREATE TABLE log_outbox (
    decision INTEGER PRIMARY KEY,
    log INTEGER NOT NULL,
    trace_id BLOB,
    flags INTEGER NOT NULL,
    cpid INTEGER
  ) STRICT`,
  'CREATE INDEX log_outbox_by_log ON log_outbox (log)',

  // A log record that waits for its CPID to be explained (kind 0) or for its span to leave (kind 1).
  `CREATE TABLE waiting_logs (
    arrival INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    cpid INTEGER,
    trace_id BLOB,
    span_id INTEGER NOT NULL,
    due_ms INTEGER NOT NULL
  ) STRICT`,
  'CREATE INDEX waiting_logs_by_cpid ON waiting_logs (cpid, arrival) WHERE cpid IS NOT NULL',
  'CREATE INDEX waiting_logs_by_span ON waiting_logs (span_id, trace_id, arrival) WHERE kind = 1',
  'CREATE INDEX waiting_logs_due ON waiting_logs (due_ms, arrival)',

  `CREATE TABLE log_exporters (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID`,
]
