import { objectOf, uuidOf } from './expressions.ts'

/**
 * What arrives, and the merge graph it forms. No foreign keys: a CPID, a parent or a mergelog may arrive before
 * what it refers to (docs/adr/003-no-foreign-keys-between-arrivals.md).
 */
export const ARRIVALS_AND_GRAPH = [
  // One row: counters that outlive rows, how long Causeway has been up in all, and how many CPIDs are live and tombstones.
  `CREATE TABLE progress (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last_arrival INTEGER NOT NULL,
    linked_arrival INTEGER NOT NULL,
    last_decision INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    indexed_origins INTEGER NOT NULL,
    indexing_origins INTEGER NOT NULL,
    indexing_prefix INTEGER NOT NULL
  , last_log_decision INTEGER NOT NULL DEFAULT 0, live_cpids INTEGER NOT NULL DEFAULT 0, tombstones INTEGER NOT NULL DEFAULT 0) STRICT`,
  `INSERT INTO progress VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,

  `CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    arrived_ms INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT`,

  `CREATE TABLE resources (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    service TEXT NOT NULL,
    cluster TEXT,
    envelope BLOB NOT NULL
  ) STRICT`,
  `CREATE TABLE scopes (
    id INTEGER PRIMARY KEY,
    resource INTEGER NOT NULL,
    hash BLOB NOT NULL,
    envelope BLOB NOT NULL,
    UNIQUE (resource, hash)
  ) STRICT`,
  // Trace ids come in no order, so they are put into the index many at a time, in its order: all up to progress.indexed_origins
  // are there, and of those up to indexing_origins the ones whose first four bytes are less than indexing_prefix
  // (docs/adr/017-trace-ids-are-indexed-in-batches.md).
  `CREATE TABLE origin_traces (
    id INTEGER PRIMARY KEY,
    trace_id BLOB NOT NULL
  ) STRICT`,
  `CREATE TABLE origin_trace_index (
    trace_id BLOB NOT NULL PRIMARY KEY,
    origin INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,

  // merged_ns: the time of its mergelog, so that walks need not look there.
  // text: what the views show, computed. CPIDs come in no order, so each index of them costs a page to write for every new one:
  // the text's is the only one, and Causeway looks there itself.
  // state: 0 live, 1 pruned (a tombstone). explained: its own mergelog and those of all its ancestors arrived.
  `CREATE TABLE cpids (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid BLOB NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    first_seen_ms INTEGER NOT NULL,
    missing_since_ms INTEGER NOT NULL,
    has_mergelog INTEGER NOT NULL DEFAULT 0,
    explained INTEGER NOT NULL DEFAULT 0,
    unexplained_sources INTEGER NOT NULL DEFAULT 0,
    in_degree INTEGER NOT NULL DEFAULT 0,
    roots TEXT,
    prune_ns INTEGER NOT NULL,
    merged_ns INTEGER,
    next_episode INTEGER NOT NULL DEFAULT 0
  , text TEXT GENERATED ALWAYS AS (${uuidOf('uuid')}) VIRTUAL) STRICT`,
  `CREATE UNIQUE INDEX cpids_by_text ON cpids (text)`,
  `CREATE INDEX cpids_prunable ON cpids (prune_ns) WHERE state = 0 AND in_degree = 0`,
  `CREATE INDEX cpids_pruned ON cpids (id) WHERE state = 1`,

  `CREATE TABLE mergelogs (
    arrival INTEGER PRIMARY KEY,
    cpid INTEGER NOT NULL UNIQUE,
    time_ns INTEGER NOT NULL,
    arrived_ms INTEGER NOT NULL,
    sources BLOB NOT NULL,
    scope INTEGER NOT NULL,
    object TEXT,
    object_id INTEGER,
    reason TEXT
  , object_name TEXT GENERATED ALWAYS AS (${objectOf('object')}) VIRTUAL) STRICT`,
  `CREATE INDEX mergelogs_by_object_name ON mergelogs (object_name)`,
  `CREATE INDEX mergelogs_by_object ON mergelogs (object_id, arrival) WHERE object_id IS NOT NULL`,
  `CREATE INDEX mergelogs_by_time ON mergelogs (time_ns)`,
  `CREATE TABLE edges (
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    PRIMARY KEY (source, target)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX edges_by_target ON edges (target, source)`,
  // sender: who the connection proved it to be, where it did.
  `CREATE TABLE rejected_mergelogs (
    id INTEGER PRIMARY KEY,
    arrived_ms INTEGER NOT NULL,
    cpid TEXT NOT NULL,
    sources TEXT NOT NULL,
    reason TEXT NOT NULL,
    scope INTEGER NOT NULL
  , sender TEXT) STRICT`,
  // What the linker has still to hear of: a mergelog of this CPID arrived, or the CPID became explained.
  `CREATE TABLE graph_events (
    arrival INTEGER PRIMARY KEY,
    cpid INTEGER NOT NULL,
    kind INTEGER NOT NULL
  ) STRICT`,

  // Span ids are the 8 bytes read as a signed big-endian integer: printf('%016x', span_id) is the text.
  `CREATE TABLE spans (
    id INTEGER PRIMARY KEY,
    cpid INTEGER,
    origin INTEGER NOT NULL,
    span_id INTEGER NOT NULL,
    parent_id INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    name TEXT NOT NULL,
    raw BLOB NOT NULL
  ) STRICT`,
  `CREATE INDEX spans_by_origin ON spans (origin, span_id)`,
  `CREATE INDEX spans_unattributed ON spans (id) WHERE cpid IS NULL`,
  // Which original traces hold spans of a CPID: fewer rows than an index on every span.
  `CREATE TABLE cpid_origins (
    cpid INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    PRIMARY KEY (cpid, origin)
  ) STRICT, WITHOUT ROWID`,

  // What spans read (role 0) and wrote (role 1), and at which resourceVersion; mergelogs name objects too.
  `CREATE TABLE objects (
    id INTEGER PRIMARY KEY,
    cluster TEXT NOT NULL,
    object TEXT NOT NULL,
    UNIQUE (object, cluster)
  ) STRICT`,
  `CREATE TABLE span_objects (
    span INTEGER NOT NULL,
    role INTEGER NOT NULL,
    object INTEGER NOT NULL,
    version INTEGER NOT NULL,
    uid TEXT,
    PRIMARY KEY (span, role, object, version)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX span_objects_by_version ON span_objects (object, role, version, span)`,

  `CREATE TABLE logs (
    id INTEGER PRIMARY KEY,
    cpid INTEGER,
    time_ns INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    severity INTEGER NOT NULL,
    event_name TEXT NOT NULL,
    trace_id BLOB,
    span_id INTEGER NOT NULL,
    raw BLOB NOT NULL
  ) STRICT`,
  `CREATE INDEX logs_by_cpid ON logs (cpid) WHERE cpid IS NOT NULL`,
  `CREATE INDEX logs_unattributed ON logs (id) WHERE cpid IS NULL`,
  // Which arrival was the last at a time: how old an arrival is, without a time on each.
  `CREATE TABLE arrival_marks (
    wall_ms INTEGER PRIMARY KEY,
    arrival INTEGER NOT NULL
  ) STRICT`,
]
