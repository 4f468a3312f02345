/** What the linker decided, what it still waits for, and how far each exporter has come. */
export const LINKING = [
  // Times in *_ms here count Causeway's own up time (progress.active_ms): its down time settles nothing.
  `CREATE TABLE traces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    trace_id BLOB NOT NULL UNIQUE,
    root INTEGER NOT NULL,
    episode INTEGER NOT NULL,
    root_span INTEGER NOT NULL,
    state INTEGER NOT NULL,
    opened_ms INTEGER NOT NULL,
    last_arrival_ms INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL,
    sent_spans INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    controller_spans INTEGER NOT NULL,
    services INTEGER NOT NULL,
    merges INTEGER NOT NULL,
    missing INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    root_sent INTEGER NOT NULL,
    provisional INTEGER NOT NULL,
    last_decision INTEGER NOT NULL,
    last_wall_ms INTEGER NOT NULL,
    UNIQUE (root, episode)
  ) STRICT`,
  `CREATE INDEX traces_due ON traces (due_ms) WHERE state = 0`,
  `CREATE TABLE trace_services (
    trace INTEGER NOT NULL,
    service TEXT NOT NULL,
    PRIMARY KEY (trace, service)
  ) STRICT, WITHOUT ROWID`,
  // The change span a CPID has in a trace.
  `CREATE TABLE change_spans (
    cpid INTEGER NOT NULL,
    trace INTEGER NOT NULL,
    span_id INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    PRIMARY KEY (cpid, trace)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX change_spans_by_trace ON change_spans (trace, cpid)`,

  // One row a span sent into a trace. trace 0 is the span's original trace. span is null for a synthetic span,
  // whose bytes are in extra. Rows stay as the record of what was sent where until their spans are pruned.
  `CREATE TABLE outbox (
    decision INTEGER PRIMARY KEY,
    trace INTEGER NOT NULL,
    span INTEGER,
    parent_id INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    scope INTEGER,
    extra BLOB,
    cause INTEGER
  ) STRICT`,
  `CREATE INDEX outbox_by_trace ON outbox (trace, span)`,

  // A parent span that has not arrived. trace: one that its child went to; 0: a child that waits for a CPID or
  // was forwarded without one.
  `CREATE TABLE awaited_parents (
    origin INTEGER NOT NULL,
    span_id INTEGER NOT NULL,
    trace INTEGER NOT NULL,
    cpid INTEGER,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (origin, span_id, trace)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX awaited_parents_by_trace ON awaited_parents (trace)`,
  // kind: 0 a span waits for its CPID, 1 a CPID's own change span waits, 2 a span waits for its parent,
  // 3 a span waits for the writers of what it observed.
  `CREATE TABLE waiting (
    arrival INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    cpid INTEGER,
    origin INTEGER,
    parent_id INTEGER,
    due_ms INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX waiting_by_cpid ON waiting (cpid, arrival) WHERE cpid IS NOT NULL`,
  `CREATE INDEX waiting_by_parent ON waiting (origin, parent_id, arrival) WHERE origin IS NOT NULL`,
  `CREATE INDEX waiting_due ON waiting (due_ms, arrival)`,

  // Which spans of a trace wrote which object: where causal parents are looked for.
  `CREATE TABLE trace_writes (
    trace INTEGER NOT NULL,
    object INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    span INTEGER NOT NULL,
    version INTEGER NOT NULL,
    uid TEXT,
    PRIMARY KEY (trace, object, end_ns, span, version)
  ) STRICT, WITHOUT ROWID`,
  // Versions of objects that were observed before their writer arrived, and who waits for it.
  `CREATE TABLE awaited_versions (
    object INTEGER NOT NULL,
    version INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (object, version)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE awaited_writers (
    object INTEGER NOT NULL,
    version INTEGER NOT NULL,
    span INTEGER NOT NULL,
    PRIMARY KEY (object, version, span)
  ) STRICT, WITHOUT ROWID`,

  `CREATE TABLE exporters (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID`,
]
