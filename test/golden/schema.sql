CREATE TRIGGER archive_beginner AFTER UPDATE OF began ON trace_actors WHEN new.began > old.began AND EXISTS (SELECT 1 FROM archives) BEGIN
  INSERT OR REPLACE INTO archive_changes (kind, item, other)
  SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root WHERE t.id = new.trace; END;

CREATE TRIGGER archive_change_span AFTER UPDATE OF driven ON change_spans WHEN old.driven <> new.driven AND EXISTS (SELECT 1 FROM archives)
  BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (3, new.trace, new.cpid); END;

CREATE TABLE archive_changes (
  change INTEGER PRIMARY KEY AUTOINCREMENT,
  kind INTEGER NOT NULL, -- 1 CPID, 2 trace, 3 CPID (other) in a trace, 4 CPID of a span, 5 mergelog of a CPID replaced
  item INTEGER NOT NULL,
  other INTEGER NOT NULL,
  sources BLOB, -- of the mergelog that was replaced
  UNIQUE (kind, item, other)
  ) STRICT;

CREATE TRIGGER archive_cpid AFTER UPDATE OF state, has_mergelog, explained, unexplained_sources ON cpids
  WHEN (old.state <> new.state OR old.has_mergelog <> new.has_mergelog OR (old.explained = 1 AND (old.state = 1 OR old.has_mergelog = 1 AND old.unexplained_sources = 0)) <> (new.explained = 1 AND (new.state = 1 OR new.has_mergelog = 1 AND new.unexplained_sources = 0))) AND EXISTS (SELECT 1 FROM archives)
  BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (1, new.id, 0); END;

CREATE TRIGGER archive_mergelog_of_cpid AFTER UPDATE OF has_mergelog, explained ON cpids
  WHEN (old.has_mergelog <> new.has_mergelog OR old.explained <> new.explained) AND EXISTS (SELECT 1 FROM archives) BEGIN
  INSERT OR REPLACE INTO archive_changes (kind, item, other) SELECT 2, id, 0 FROM traces WHERE root = new.id
  UNION SELECT 2, u.id, 0 FROM change_spans h CROSS JOIN traces t ON t.id = h.trace CROSS JOIN traces u ON u.root = t.root
  WHERE h.cpid = new.id AND u.state = 0 AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id);
  END;

CREATE TRIGGER archive_mergelog_of_root AFTER UPDATE OF has_mergelog ON cpids
  WHEN old.has_mergelog = 0 AND new.has_mergelog = 1 AND EXISTS (SELECT 1 FROM archives) BEGIN
  INSERT OR REPLACE INTO archive_changes (kind, item, other)
  SELECT 3, h.trace, h.cpid FROM traces t CROSS JOIN change_spans h ON h.trace = t.id WHERE t.root = new.id;
  END;

CREATE TRIGGER archive_new_beginner AFTER INSERT ON trace_actors WHEN new.began = 1 AND EXISTS (SELECT 1 FROM archives) BEGIN
  INSERT OR REPLACE INTO archive_changes (kind, item, other)
  SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root WHERE t.id = new.trace; END;

CREATE TRIGGER archive_new_change_span AFTER INSERT ON change_spans WHEN EXISTS (SELECT 1 FROM archives) BEGIN
  INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (3, new.trace, new.cpid);
  INSERT OR REPLACE INTO archive_changes (kind, item, other) SELECT 2, u.id, 0 FROM traces t CROSS JOIN traces u ON u.root = t.root
  WHERE t.id = new.trace AND u.state = 0 AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id); END;

CREATE TRIGGER archive_new_cpid AFTER INSERT ON cpids WHEN EXISTS (SELECT 1 FROM archives) BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (1, new.id, 0); END;

CREATE TRIGGER archive_new_trace AFTER INSERT ON traces WHEN EXISTS (SELECT 1 FROM archives) BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (2, new.id, 0); END;

CREATE TRIGGER archive_no_cpid AFTER DELETE ON cpids WHEN EXISTS (SELECT 1 FROM archives) BEGIN
  DELETE FROM archive_changes WHERE kind IN (1, 5) AND item = old.id; END;

CREATE TRIGGER archive_no_span AFTER DELETE ON spans WHEN EXISTS (SELECT 1 FROM archives) BEGIN
  DELETE FROM archive_changes WHERE kind = 4 AND item = old.id; END;

CREATE TRIGGER archive_no_trace AFTER DELETE ON traces WHEN EXISTS (SELECT 1 FROM archives) BEGIN
  DELETE FROM archive_changes WHERE kind IN (2, 3) AND item = old.id; END;

CREATE TRIGGER archive_span_cpid AFTER UPDATE OF cpid ON spans
  WHEN old.cpid IS NOT new.cpid AND new.id <= (SELECT linked_arrival FROM progress) AND EXISTS (SELECT 1 FROM archives)
  BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (4, new.id, 0); END;

CREATE TRIGGER archive_trace AFTER UPDATE OF state, first_ns, last_ns, controller_spans, services, merges, missing, truncated,
  clock_skew ON traces WHEN EXISTS (SELECT 1 FROM archives) BEGIN INSERT OR REPLACE INTO archive_changes (kind, item, other) VALUES (2, new.id, 0); END;

CREATE TABLE archives (
  name TEXT PRIMARY KEY,
  arrival INTEGER NOT NULL DEFAULT 0,
  decision INTEGER NOT NULL DEFAULT 0,
  change INTEGER NOT NULL DEFAULT 0,
  refused_mergelog INTEGER NOT NULL DEFAULT 0,
  refused_item INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

CREATE TABLE arrival_marks (
  wall_ms INTEGER PRIMARY KEY,
  arrival INTEGER NOT NULL
  ) STRICT;

CREATE VIEW audit_attributed_logs AS SELECT l.id AS arrival, c.text AS cpid, strftime('%Y-%m-%dT%H:%M:%S', l.time_ns / 1000000000, 'unixepoch') || printf('.%09dZ', l.time_ns % 1000000000) AS time, l.event_name, CASE WHEN l.severity > 20 THEN 'fatal' WHEN l.severity > 16 THEN 'error' WHEN l.severity > 12 THEN 'warn'
  WHEN l.severity > 8 THEN 'info' WHEN l.severity > 4 THEN 'debug' WHEN l.severity > 0 THEN 'trace' ELSE 'unset' END AS severity,
  r.service, r.cluster, lower(hex(l.trace_id)) AS trace_id, CASE WHEN l.span_id <> 0 THEN printf('%016x', l.span_id) END AS span_id FROM cpids c JOIN logs l ON l.cpid = c.id LEFT JOIN scopes p ON p.id = l.scope LEFT JOIN resources r ON r.id = p.resource WHERE (l.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR l.digest IS NULL OR NOT EXISTS
  (SELECT 1 FROM logs f WHERE f.time_ns = l.time_ns AND f.digest = l.digest AND f.id < l.id AND f.scope = l.scope
  AND f.raw = l.raw));

CREATE VIEW audit_attributed_object_events AS SELECT s.id AS arrival, c.text AS cpid, b.object, b.cluster, CASE x.role WHEN 1 THEN 'wrote' ELSE 'observed' END AS action,
  CASE WHEN x.version >= 0 THEN x.version END AS object_version, x.uid AS object_uid,
  strftime('%Y-%m-%dT%H:%M:%S', s.end_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.end_ns % 1000000000) AS time, r.service, s.name AS span, CASE WHEN s.span_id <> 0 THEN printf('%016x', s.span_id) END AS span_id,
  lower(hex(o.trace_id)) AS trace_id, CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status, coalesce(y.user_name, r.service) AS actor, y.cause, CASE y.gap WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS gap FROM cpids c JOIN cpid_origins i ON i.cpid = c.id JOIN spans s ON s.origin = i.origin AND +s.cpid = c.id JOIN span_objects x ON x.span = s.id JOIN objects b ON b.id = x.object
  JOIN origin_traces o ON o.id = s.origin LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource LEFT JOIN seen_writes y ON y.span = s.id WHERE (s.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR NOT EXISTS
  (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id AND f.scope = s.scope AND f.raw = s.raw));

CREATE VIEW audit_attributed_spans AS SELECT s.id AS arrival, c.text AS cpid, lower(hex(o.trace_id)) AS trace_id, CASE WHEN s.span_id <> 0 THEN printf('%016x', s.span_id) END AS span_id,
  CASE WHEN s.parent_id <> 0 THEN printf('%016x', s.parent_id) END AS parent_span_id, s.name, r.service, r.cluster,
  strftime('%Y-%m-%dT%H:%M:%S', s.start_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.start_ns % 1000000000) AS start, strftime('%Y-%m-%dT%H:%M:%S', s.end_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.end_ns % 1000000000) AS "end", (s.end_ns - s.start_ns) / 1e6 AS duration_ms,
  CASE s.kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
  WHEN 5 THEN 'consumer' ELSE 'unspecified' END AS kind, CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status FROM cpids c JOIN cpid_origins i ON i.cpid = c.id JOIN spans s ON s.origin = i.origin AND +s.cpid = c.id JOIN origin_traces o ON o.id = s.origin LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource WHERE (s.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR NOT EXISTS
  (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id AND f.scope = s.scope AND f.raw = s.raw));

CREATE VIEW audit_cascade_actors AS
  SELECT c.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, y.actor, y.writes, y.gaps,
  CASE y.began WHEN 1 THEN 'yes' ELSE 'no' END AS began
  FROM trace_actors y JOIN traces t ON t.id = y.trace JOIN cpids c ON c.id = t.root;

CREATE VIEW audit_cascade_changes AS
  SELECT a.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, b.text AS cpid,
  CASE c.driven WHEN 0 THEN 'no' ELSE 'yes' END AS drives
  FROM change_spans c JOIN traces t ON t.id = c.trace JOIN cpids a ON a.id = t.root JOIN cpids b ON b.id = c.cpid;

CREATE VIEW audit_cascade_spans AS
  SELECT a.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, c.text AS cpid,
  CASE WHEN s.span_id <> 0 THEN printf('%016x', s.span_id) END AS span_id, CASE WHEN d.parent_id <> 0 THEN printf('%016x', d.parent_id) END AS parent_span_id, s.name, r.service, r.cluster,
  strftime('%Y-%m-%dT%H:%M:%S', s.start_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.start_ns % 1000000000) AS start, strftime('%Y-%m-%dT%H:%M:%S', s.end_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.end_ns % 1000000000) AS "end", (s.end_ns - s.start_ns) / 1e6 AS duration_ms,
  max(0, (s.start_ns - w.end_ns) / 1e6) AS waited_ms,
  CASE s.kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
  WHEN 5 THEN 'consumer' ELSE 'unspecified' END AS kind,
  CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status,
  CASE WHEN d.flags & 1 THEN 'yes' ELSE 'no' END AS copy,
  coalesce(y.user_name, r.service) AS actor, y.cause, CASE y.gap WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS gap,
  CASE WHEN d.flags & 32 THEN 'no' ELSE 'yes' END AS activity
  FROM cpids a JOIN traces t ON t.root = a.id JOIN outbox d ON d.trace = t.id JOIN spans s ON s.id = d.span
  LEFT JOIN cpids c ON c.id = s.cpid LEFT JOIN spans w ON w.id = d.cause AND w.origin <> s.origin LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource LEFT JOIN seen_writes y ON y.span = s.id;

CREATE VIEW audit_cascades AS
  SELECT c.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id,
  CASE t.state WHEN 0 THEN 'open' ELSE 'settled' END AS state, strftime('%Y-%m-%dT%H:%M:%S', t.first_ns / 1000000000, 'unixepoch') || printf('.%09dZ', t.first_ns % 1000000000) AS start,
  strftime('%Y-%m-%dT%H:%M:%S', t.last_ns / 1000000000, 'unixepoch') || printf('.%09dZ', t.last_ns % 1000000000) AS last_activity, (t.last_ns - t.first_ns) / 1e6 AS duration_ms,
  t.controller_spans AS spans, t.services, t.merges,
  CASE t.state WHEN 1 THEN t.missing ELSE (SELECT count(DISTINCT k.id) FROM traces u
  JOIN change_spans h ON h.trace = u.id JOIN cpids k ON k.id = h.cpid WHERE u.root = t.root
  AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id) AND k.has_mergelog = 0 AND k.explained = 0)
  END AS missing,
  m.object_name AS object, r.service, r.cluster, m.reason,
  CASE t.truncated WHEN 1 THEN 'yes' ELSE 'no' END AS truncated, CASE WHEN f.id IS NOT NULL THEN lower(hex(f.trace_id)) END AS continues,
  CASE t.clock_skew WHEN 1 THEN 'yes' ELSE 'no' END AS clock_skew,
  coalesce((SELECT y.actor FROM traces u JOIN trace_actors y ON y.trace = u.id
  WHERE u.root = t.root AND y.began = 1 ORDER BY u.episode LIMIT 1), r.service) AS actor, cast((SELECT total(y.gaps) FROM trace_actors y WHERE y.trace = t.id) AS INTEGER) AS gaps, cast((SELECT total(y.missed) FROM trace_actors y WHERE y.trace = t.id) AS INTEGER) AS missed_versions
  FROM traces t JOIN cpids c ON c.id = t.root LEFT JOIN mergelogs m ON m.cpid = c.id LEFT JOIN scopes p ON p.id = m.scope LEFT JOIN resources r ON r.id = p.resource
  LEFT JOIN traces f ON f.id = t.continues
  WHERE NOT (t.provisional = 1 AND coalesce(length(m.sources), 0) > 0);

CREATE VIEW audit_contested_mergelogs AS
  SELECT x.arrived, x.cpid, x.reason, x.service, x.cluster, x.sources, x.sender, m.arrived AS kept_arrived,
  m.service AS kept_service, m.cluster AS kept_cluster,
  (SELECT json_group_array(e.source) FROM audit_edges e WHERE e.cpid = m.cpid) AS kept_sources
  FROM audit_rejected_mergelogs x JOIN audit_mergelogs m ON m.cpid = x.cpid
  WHERE x.reason IN ('contested', 'different_sources');

CREATE VIEW audit_cpids AS
  SELECT c.text AS cpid, CASE c.state WHEN 0 THEN 'live' ELSE 'pruned' END AS state,
  CASE WHEN m.cpid IS NULL THEN 'unknown' WHEN length(m.sources) = 0 THEN 'root' ELSE 'merge' END AS kind,
  CASE WHEN c.explained = 1 AND (c.state = 1 OR c.has_mergelog = 1 AND c.unexplained_sources = 0) THEN 'yes' ELSE 'no' END AS explained, strftime('%Y-%m-%dT%H:%M:%S', c.first_seen_ms / 1000, 'unixepoch') || printf('.%03dZ', c.first_seen_ms % 1000) AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%S', m.time_ns / 1000000000, 'unixepoch') || printf('.%09dZ', m.time_ns % 1000000000) AS merged_at, r.service, r.cluster, m.object_name AS object,
  CASE WHEN instr(m.object, 'uid=') > 0 THEN substr(substr(m.object, instr(m.object, 'uid=') + 4), 1, instr(substr(m.object, instr(m.object, 'uid=') + 4) || '&', '&') - 1) END AS object_uid, CASE WHEN instr(m.object, 'rv=') > 0 THEN substr(substr(m.object, instr(m.object, 'rv=') + 3), 1, instr(substr(m.object, instr(m.object, 'rv=') + 3) || '&', '&') - 1) END AS object_version, m.reason
  FROM cpids c LEFT JOIN mergelogs m ON m.cpid = c.id LEFT JOIN scopes p ON p.id = m.scope LEFT JOIN resources r ON r.id = p.resource;

CREATE VIEW audit_edges AS
  SELECT a.text AS source, b.text AS cpid
  FROM edges e JOIN cpids a ON a.id = e.source JOIN cpids b ON b.id = e.target;

CREATE VIEW audit_exporters AS
  SELECT e.name, e.position, p.last_decision - e.position AS waiting, e.refused FROM exporters e, progress p
  UNION ALL SELECT a.name, a.decision, p.last_decision - a.decision, a.refused FROM archives a, progress p;

CREATE VIEW audit_logs AS SELECT * FROM audit_attributed_logs UNION ALL SELECT * FROM audit_unattributed_logs;

CREATE VIEW audit_mergelogs AS
  SELECT c.text AS cpid, strftime('%Y-%m-%dT%H:%M:%S', m.time_ns / 1000000000, 'unixepoch') || printf('.%09dZ', m.time_ns % 1000000000) AS time, strftime('%Y-%m-%dT%H:%M:%S', m.arrived_ms / 1000, 'unixepoch') || printf('.%03dZ', m.arrived_ms % 1000) AS arrived,
  length(m.sources) / 16 AS source_count, r.service, r.cluster, m.object_name AS object,
  CASE WHEN instr(m.object, 'uid=') > 0 THEN substr(substr(m.object, instr(m.object, 'uid=') + 4), 1, instr(substr(m.object, instr(m.object, 'uid=') + 4) || '&', '&') - 1) END AS object_uid, CASE WHEN instr(m.object, 'rv=') > 0 THEN substr(substr(m.object, instr(m.object, 'rv=') + 3), 1, instr(substr(m.object, instr(m.object, 'rv=') + 3) || '&', '&') - 1) END AS object_version, m.reason
  FROM mergelogs m JOIN cpids c ON c.id = m.cpid LEFT JOIN scopes p ON p.id = m.scope LEFT JOIN resources r ON r.id = p.resource;

CREATE VIEW audit_object_events AS SELECT * FROM audit_attributed_object_events UNION ALL SELECT * FROM audit_unattributed_object_events;

CREATE VIEW audit_rejected_items AS
  SELECT strftime('%Y-%m-%dT%H:%M:%S', q.arrived_ms / 1000, 'unixepoch') || printf('.%03dZ', q.arrived_ms % 1000) AS arrived, q.items, q.message
  FROM rejected_items q;

CREATE VIEW audit_rejected_mergelogs AS
  SELECT strftime('%Y-%m-%dT%H:%M:%S', x.arrived_ms / 1000, 'unixepoch') || printf('.%03dZ', x.arrived_ms % 1000) AS arrived, x.cpid, x.sources, x.reason, r.service, r.cluster, x.sender
  FROM rejected_mergelogs x
  LEFT JOIN scopes p ON p.id = x.scope LEFT JOIN resources r ON r.id = p.resource;

CREATE VIEW audit_set_aside AS
  SELECT strftime('%Y-%m-%dT%H:%M:%S', a.at_ms / 1000, 'unixepoch') || printf('.%03dZ', a.at_ms % 1000) AS time, a.stage, a.kind, a.item, a.cpid, nullif(a.exporter, '') AS exporter, a.reason FROM set_aside a;

CREATE VIEW audit_spans AS SELECT * FROM audit_attributed_spans UNION ALL SELECT * FROM audit_unattributed_spans;

CREATE VIEW audit_unattributed_logs AS SELECT l.id AS arrival, NULL AS cpid, strftime('%Y-%m-%dT%H:%M:%S', l.time_ns / 1000000000, 'unixepoch') || printf('.%09dZ', l.time_ns % 1000000000) AS time, l.event_name, CASE WHEN l.severity > 20 THEN 'fatal' WHEN l.severity > 16 THEN 'error' WHEN l.severity > 12 THEN 'warn'
  WHEN l.severity > 8 THEN 'info' WHEN l.severity > 4 THEN 'debug' WHEN l.severity > 0 THEN 'trace' ELSE 'unset' END AS severity,
  r.service, r.cluster, lower(hex(l.trace_id)) AS trace_id, CASE WHEN l.span_id <> 0 THEN printf('%016x', l.span_id) END AS span_id FROM logs l LEFT JOIN scopes p ON p.id = l.scope LEFT JOIN resources r ON r.id = p.resource WHERE l.cpid IS NULL AND (l.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR l.digest IS NULL OR NOT EXISTS
  (SELECT 1 FROM logs f WHERE f.time_ns = l.time_ns AND f.digest = l.digest AND f.id < l.id AND f.scope = l.scope
  AND f.raw = l.raw));

CREATE VIEW audit_unattributed_object_events AS SELECT s.id AS arrival, NULL AS cpid, b.object, b.cluster, CASE x.role WHEN 1 THEN 'wrote' ELSE 'observed' END AS action,
  CASE WHEN x.version >= 0 THEN x.version END AS object_version, x.uid AS object_uid,
  strftime('%Y-%m-%dT%H:%M:%S', s.end_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.end_ns % 1000000000) AS time, r.service, s.name AS span, CASE WHEN s.span_id <> 0 THEN printf('%016x', s.span_id) END AS span_id,
  lower(hex(o.trace_id)) AS trace_id, CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status, coalesce(y.user_name, r.service) AS actor, y.cause, CASE y.gap WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS gap FROM objects b JOIN span_objects x ON x.object = b.id JOIN spans s ON s.id = x.span
  JOIN origin_traces o ON o.id = s.origin LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource LEFT JOIN seen_writes y ON y.span = s.id WHERE s.cpid IS NULL AND (s.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR NOT EXISTS
  (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id AND f.scope = s.scope AND f.raw = s.raw));

CREATE VIEW audit_unattributed_spans AS SELECT s.id AS arrival, NULL AS cpid, lower(hex(o.trace_id)) AS trace_id, CASE WHEN s.span_id <> 0 THEN printf('%016x', s.span_id) END AS span_id,
  CASE WHEN s.parent_id <> 0 THEN printf('%016x', s.parent_id) END AS parent_span_id, s.name, r.service, r.cluster,
  strftime('%Y-%m-%dT%H:%M:%S', s.start_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.start_ns % 1000000000) AS start, strftime('%Y-%m-%dT%H:%M:%S', s.end_ns / 1000000000, 'unixepoch') || printf('.%09dZ', s.end_ns % 1000000000) AS "end", (s.end_ns - s.start_ns) / 1e6 AS duration_ms,
  CASE s.kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
  WHEN 5 THEN 'consumer' ELSE 'unspecified' END AS kind, CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status FROM spans s JOIN origin_traces o ON o.id = s.origin LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource WHERE s.cpid IS NULL AND (s.id <= (SELECT linked_arrival FROM progress WHERE only = 1) OR NOT EXISTS
  (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id AND f.scope = s.scope AND f.raw = s.raw));

CREATE TABLE awaited_joins (
  key TEXT NOT NULL,
  span INTEGER NOT NULL,
  PRIMARY KEY (key, span)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX awaited_joins_by_span ON awaited_joins (span);

CREATE TABLE awaited_parents (
  origin INTEGER NOT NULL,
  span_id INTEGER NOT NULL,
  trace INTEGER NOT NULL,
  cpid INTEGER,
  since_ms INTEGER NOT NULL, driven INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (origin, span_id, trace)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX awaited_parents_by_trace ON awaited_parents (trace);

CREATE TABLE awaited_versions (
  object INTEGER NOT NULL,
  version INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  PRIMARY KEY (object, version)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE awaited_writers (
  object INTEGER NOT NULL,
  version INTEGER NOT NULL,
  span INTEGER NOT NULL,
  PRIMARY KEY (object, version, span)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE cascade_pods (
  uid TEXT NOT NULL,
  trace INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  object TEXT NOT NULL,
  first_ns INTEGER NOT NULL, -- when it was written in the cascade
  last_ns INTEGER NOT NULL,
  PRIMARY KEY (uid, trace)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX cascade_pods_by_trace ON cascade_pods (trace);

CREATE TABLE change_spans (
  cpid INTEGER NOT NULL,
  trace INTEGER NOT NULL,
  span_id INTEGER NOT NULL,
  depth INTEGER NOT NULL, driven INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (cpid, trace)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX change_spans_by_trace ON change_spans (trace, cpid);

CREATE TABLE cpid_origins (
  cpid INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  PRIMARY KEY (cpid, origin)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE cpids (
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
  , text TEXT GENERATED ALWAYS AS (lower(substr(hex(uuid), 1, 8) || '-' || substr(hex(uuid), 9, 4) || '-' || substr(hex(uuid), 13, 4)
  || '-' || substr(hex(uuid), 17, 4) || '-' || substr(hex(uuid), 21, 12))) VIRTUAL, rank REAL, claim BLOB) STRICT;

CREATE UNIQUE INDEX cpids_by_text ON cpids (text);

CREATE INDEX cpids_prunable ON cpids (prune_ns) WHERE state = 0 AND in_degree = 0;

CREATE INDEX cpids_pruned ON cpids (id) WHERE state = 1;

CREATE TABLE edges (
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  PRIMARY KEY (source, target)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX edges_by_target ON edges (target, source);

CREATE TABLE explain_later (cpid INTEGER PRIMARY KEY, after INTEGER NOT NULL) STRICT;

CREATE TABLE exporters (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

CREATE TABLE graph_events (
  arrival INTEGER PRIMARY KEY,
  cpid INTEGER NOT NULL,
  kind INTEGER NOT NULL
  ) STRICT;

CREATE TABLE held_items (
  id INTEGER PRIMARY KEY,
  cpid BLOB NOT NULL, -- of the change that a program began for the write
  signal INTEGER NOT NULL, -- 0 traces, 1 logs
  request BLOB NOT NULL, -- an OTLP request with nothing but the item
  sender TEXT, -- what its connection proved, as JSON
  due_ms INTEGER NOT NULL -- up time from which on it waits no more for a version that nobody told of
  ) STRICT;

CREATE INDEX held_items_by_cpid ON held_items (cpid);

CREATE INDEX held_items_by_due ON held_items (due_ms);

CREATE TABLE joined_spans (
  span INTEGER PRIMARY KEY,
  target INTEGER NOT NULL
  ) STRICT;

CREATE TABLE k8s_acted (
  id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, uid TEXT NOT NULL, actor TEXT NOT NULL, version INTEGER NOT NULL,
  UNIQUE (cluster, uid, actor)
  ) STRICT;

CREATE TABLE k8s_clusters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, told_ms INTEGER NOT NULL) STRICT;

CREATE TABLE k8s_objects (
  id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, uid TEXT NOT NULL, api_version TEXT NOT NULL, resource TEXT NOT NULL,
  namespace TEXT NOT NULL, name TEXT NOT NULL,
  version INTEGER NOT NULL, -- the newest
  forgotten INTEGER NOT NULL, -- versions up to this one are no longer kept
  gone_ms INTEGER -- when it went, in milliseconds of up time
  ) STRICT;

CREATE INDEX k8s_objects_by_change ON k8s_objects (cluster, resource, namespace, version);

CREATE INDEX k8s_objects_by_name ON k8s_objects (cluster, resource, namespace, name) WHERE gone_ms IS NULL;

CREATE UNIQUE INDEX k8s_objects_by_uid ON k8s_objects (cluster, uid);

CREATE INDEX k8s_objects_gone ON k8s_objects (gone_ms) WHERE gone_ms IS NOT NULL;

CREATE INDEX k8s_objects_gone_by_name ON k8s_objects (cluster, resource, namespace, name, version)
  WHERE gone_ms IS NOT NULL;

CREATE INDEX k8s_objects_there ON k8s_objects (cluster, resource, api_version, uid) WHERE gone_ms IS NULL;

CREATE TABLE k8s_owners (
  cluster INTEGER NOT NULL, owner TEXT NOT NULL, resource TEXT NOT NULL, version INTEGER NOT NULL, object INTEGER NOT NULL,
  PRIMARY KEY (cluster, owner, resource, version, object)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE k8s_primaries (
  cluster INTEGER NOT NULL, actor TEXT NOT NULL, resource TEXT NOT NULL, PRIMARY KEY (cluster, actor, resource)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE k8s_references (
  cluster INTEGER NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, field TEXT NOT NULL,
  by_resource TEXT NOT NULL, object INTEGER NOT NULL,
  PRIMARY KEY (cluster, resource, namespace, name, field, by_resource, object)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE k8s_streams (
  cluster INTEGER NOT NULL, stream TEXT NOT NULL, position TEXT NOT NULL, PRIMARY KEY (cluster, stream)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE k8s_tellings (id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, body BLOB NOT NULL) STRICT;

CREATE TABLE k8s_told_requests (
  id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, request BLOB NOT NULL, told_ms INTEGER NOT NULL,
  UNIQUE (cluster, request)
  ) STRICT;

CREATE TABLE k8s_versions (
  object INTEGER NOT NULL, version INTEGER NOT NULL, cpid BLOB, gone INTEGER NOT NULL, facts TEXT NOT NULL,
  includes BLOB NOT NULL, readable_ns INTEGER, content_version INTEGER, begun INTEGER NOT NULL DEFAULT 0, certain INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (object, version)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);

CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);

CREATE TABLE log_exporters (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

CREATE TABLE log_outbox (
  decision INTEGER PRIMARY KEY,
  log INTEGER NOT NULL,
  trace_id BLOB,
  flags INTEGER NOT NULL,
  cpid INTEGER
  ) STRICT;

CREATE INDEX log_outbox_by_cpid ON log_outbox (cpid) WHERE cpid IS NOT NULL;

CREATE INDEX log_outbox_by_log ON log_outbox (log);

CREATE TABLE logs (
  id INTEGER PRIMARY KEY,
  cpid INTEGER,
  time_ns INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  severity INTEGER NOT NULL,
  event_name TEXT NOT NULL,
  trace_id BLOB,
  span_id INTEGER NOT NULL,
  raw BLOB NOT NULL
  , digest INTEGER) STRICT;

CREATE INDEX logs_by_cpid ON logs (cpid) WHERE cpid IS NOT NULL;

CREATE INDEX logs_by_digest ON logs (time_ns, digest) WHERE digest IS NOT NULL;

CREATE TRIGGER logs_scope AFTER DELETE ON logs WHEN old.scope IS NOT NULL BEGIN
  UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END;

CREATE INDEX logs_unattributed ON logs (id) WHERE cpid IS NULL;

CREATE TABLE long_traces (
  after INTEGER PRIMARY KEY, -- the spans of a block have the numbers after this one
  up_to INTEGER NOT NULL, -- and up to this one
  facts BLOB NOT NULL, -- serialized by v8
  checksum INTEGER NOT NULL -- of facts
  ) STRICT;

CREATE TABLE mergelogs (
  arrival INTEGER PRIMARY KEY,
  cpid INTEGER NOT NULL UNIQUE,
  time_ns INTEGER NOT NULL,
  arrived_ms INTEGER NOT NULL,
  sources BLOB NOT NULL,
  scope INTEGER NOT NULL,
  object TEXT,
  object_id INTEGER,
  reason TEXT
  , object_name TEXT GENERATED ALWAYS AS (substr(object, 1, instr(object || '?', '?') - 1)) VIRTUAL, told_trace BLOB, told_span INTEGER, told_ms INTEGER, replaces INTEGER NOT NULL DEFAULT 0, worked_out INTEGER NOT NULL DEFAULT 0, writer TEXT) STRICT;

CREATE INDEX mergelogs_by_object ON mergelogs (object_id, arrival) WHERE object_id IS NOT NULL;

CREATE INDEX mergelogs_by_object_name ON mergelogs (object_name);

CREATE INDEX mergelogs_by_time ON mergelogs (time_ns);

CREATE INDEX mergelogs_by_writer ON mergelogs (writer) WHERE writer IS NOT NULL;

CREATE TRIGGER mergelogs_scope AFTER DELETE ON mergelogs WHEN old.scope IS NOT NULL BEGIN
  UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END;

CREATE TABLE metric_exporters (
  name TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

CREATE TABLE metric_outbox (
  decision INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL,
  points INTEGER NOT NULL,
  upto_bytes INTEGER NOT NULL, -- the length of this request and of all before it
  request BLOB NOT NULL
  ) STRICT;

CREATE TABLE objects (
  id INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  object TEXT NOT NULL, namespace TEXT GENERATED ALWAYS AS (CASE WHEN length((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END)) - length(replace((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), '/', '')) = 2 OR (length((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END)) - length(replace((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), '/', '')) = 1 AND object GLOB 'v1/namespaces/*')
  THEN substr(substr((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), instr((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), '/') + 1), 1, instr(substr((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), instr((CASE WHEN substr(object, 1, instr(object || '/', '/') - 1) GLOB 'v[0-9]*' AND instr(substr(object, 1, instr(object || '/', '/') - 1), '.') = 0
  THEN substr(object, instr(object, '/') + 1) ELSE substr(substr(object, instr(object, '/') + 1), instr(substr(object, instr(object, '/') + 1), '/') + 1) END), '/') + 1) || '/', '/') - 1) END) VIRTUAL,
  UNIQUE (object, cluster)
  ) STRICT;

CREATE TABLE origin_trace_index (
  trace_id BLOB NOT NULL PRIMARY KEY,
  origin INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE origin_traces (
  id INTEGER PRIMARY KEY,
  trace_id BLOB NOT NULL
  , first_ns INTEGER) STRICT;

CREATE TABLE outbox (
  decision INTEGER PRIMARY KEY,
  trace INTEGER NOT NULL,
  span INTEGER,
  parent_id INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  scope INTEGER,
  extra BLOB,
  cause INTEGER
  , cause_trace INTEGER) STRICT;

CREATE INDEX outbox_by_trace ON outbox (trace, span);

CREATE INDEX outbox_for_children ON outbox (span, trace) WHERE flags & 16;

CREATE TRIGGER outbox_scope AFTER DELETE ON outbox WHEN old.scope IS NOT NULL BEGIN
  UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END;

CREATE TABLE own_span_blocks (
  after INTEGER PRIMARY KEY, -- the spans of a block have the numbers after this one
  up_to INTEGER NOT NULL, -- and up to this one
  facts BLOB NOT NULL, -- serialized by v8
  checksum INTEGER NOT NULL -- of facts
  ) STRICT;

CREATE TABLE pod_series (
  trace INTEGER NOT NULL,
  uid TEXT NOT NULL,
  metric INTEGER NOT NULL,
  container TEXT NOT NULL,
  points BLOB NOT NULL, -- seconds in four bytes, and a double, in the order of time
  PRIMARY KEY (trace, uid, metric, container)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE progress (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  last_arrival INTEGER NOT NULL,
  linked_arrival INTEGER NOT NULL,
  last_decision INTEGER NOT NULL,
  active_ms INTEGER NOT NULL,
  indexed_origins INTEGER NOT NULL,
  indexing_origins INTEGER NOT NULL,
  indexing_prefix INTEGER NOT NULL
  , last_log_decision INTEGER NOT NULL DEFAULT 0, live_cpids INTEGER NOT NULL DEFAULT 0, tombstones INTEGER NOT NULL DEFAULT 0, unranked_cpids INTEGER NOT NULL DEFAULT 0, forgotten_ms INTEGER NOT NULL DEFAULT 0, forgotten_episode INTEGER NOT NULL DEFAULT 0, instance BLOB, last_refused INTEGER NOT NULL DEFAULT 0, last_metric_decision INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE rejected_items (
  id INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL,
  items INTEGER NOT NULL,
  message TEXT NOT NULL
  ) STRICT;

CREATE TABLE rejected_mergelogs (
  id INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL,
  cpid TEXT NOT NULL,
  sources TEXT NOT NULL,
  reason TEXT NOT NULL,
  scope INTEGER NOT NULL
  , sender TEXT) STRICT;

CREATE TRIGGER rejected_mergelogs_scope AFTER DELETE ON rejected_mergelogs WHEN old.scope IS NOT NULL BEGIN
  UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END;

CREATE TABLE requests (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  arrived_ms INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  message TEXT NOT NULL
  ) STRICT;

CREATE TABLE resources (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  service TEXT NOT NULL,
  cluster TEXT,
  envelope BLOB NOT NULL
  ) STRICT;

CREATE TABLE scopes (
  id INTEGER PRIMARY KEY,
  resource INTEGER NOT NULL,
  hash BLOB NOT NULL,
  envelope BLOB NOT NULL, uses INTEGER NOT NULL DEFAULT 0,
  UNIQUE (resource, hash)
  ) STRICT;

CREATE INDEX scopes_unused ON scopes (id) WHERE uses = 0;

CREATE TABLE seen_writes (
  span INTEGER PRIMARY KEY,
  user_name TEXT,
  cause TEXT NOT NULL,
  gap INTEGER NOT NULL
  , audit_id TEXT, admitted_trace BLOB, missed INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX seen_writes_by_audit_id ON seen_writes (audit_id) WHERE audit_id IS NOT NULL;

CREATE INDEX seen_writes_by_trace ON seen_writes (admitted_trace) WHERE admitted_trace IS NOT NULL;

CREATE TABLE set_aside (
  id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  stage TEXT NOT NULL,
  kind TEXT NOT NULL,
  item INTEGER NOT NULL,
  cpid TEXT,
  exporter TEXT NOT NULL,
  reason TEXT NOT NULL,
  UNIQUE (stage, kind, item, exporter)
  ) STRICT;

CREATE TABLE span_blocks (
  after INTEGER PRIMARY KEY, -- the spans of a block have the numbers after this one
  up_to INTEGER NOT NULL, -- and up to this one
  facts BLOB NOT NULL, -- serialized by v8
  checksum INTEGER NOT NULL -- of facts
  ) STRICT;

CREATE TABLE span_objects (
  span INTEGER NOT NULL,
  role INTEGER NOT NULL,
  object INTEGER NOT NULL,
  version INTEGER NOT NULL,
  uid TEXT,
  PRIMARY KEY (span, role, object, version)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX span_objects_by_version ON span_objects (object, role, version, span);

CREATE TABLE spans (
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
  ) STRICT;

CREATE INDEX spans_by_origin ON spans (origin, span_id);

CREATE TRIGGER spans_joined AFTER DELETE ON spans WHEN old.flags & 512 BEGIN
  DELETE FROM joined_spans WHERE span = old.id;
  END;

CREATE TRIGGER spans_scope AFTER DELETE ON spans WHEN old.scope IS NOT NULL BEGIN
  UPDATE scopes SET uses = uses - 1 WHERE id = old.scope;
  END;

CREATE TRIGGER spans_seen_write AFTER DELETE ON spans WHEN old.flags & 64 BEGIN
  DELETE FROM seen_writes WHERE span = old.id;
  END;

CREATE INDEX spans_unattributed ON spans (id) WHERE cpid IS NULL;

CREATE TABLE trace_actors (
  trace INTEGER NOT NULL,
  actor TEXT NOT NULL,
  writes INTEGER NOT NULL,
  gaps INTEGER NOT NULL,
  began INTEGER NOT NULL, missed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (trace, actor)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX trace_actors_by_actor ON trace_actors (actor, trace);

CREATE TABLE trace_namespaces (
  trace INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  PRIMARY KEY (trace, namespace)
  ) STRICT, WITHOUT ROWID;

CREATE INDEX trace_namespaces_by_name ON trace_namespaces (namespace, trace);

CREATE TABLE trace_services (
  trace INTEGER NOT NULL,
  service TEXT NOT NULL,
  PRIMARY KEY (trace, service)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE trace_writes (
  trace INTEGER NOT NULL,
  object INTEGER NOT NULL,
  version INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  span INTEGER NOT NULL,
  uid TEXT,
  PRIMARY KEY (trace, object, version, end_ns, span)
  ) STRICT, WITHOUT ROWID;

CREATE TABLE traces (
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
  last_wall_ms INTEGER NOT NULL, continues_root INTEGER NOT NULL DEFAULT 0, clock_skew INTEGER NOT NULL DEFAULT 0, doubtful_times INTEGER NOT NULL DEFAULT 0, continues INTEGER, guest_spans INTEGER NOT NULL DEFAULT 0, guest_bytes INTEGER NOT NULL DEFAULT 0, failed_spans INTEGER NOT NULL DEFAULT 0, sent_from_ns INTEGER NOT NULL DEFAULT 0, sent_to_ns INTEGER NOT NULL DEFAULT 0,
  UNIQUE (root, episode)
  ) STRICT;

CREATE INDEX traces_by_cascade ON traces (continues) WHERE continues IS NOT NULL;

CREATE INDEX traces_due ON traces (due_ms) WHERE state = 0;

CREATE TABLE unfinished_steps (
  id INTEGER PRIMARY KEY, -- the linker takes them in this order, before the next arrival
  kind INTEGER NOT NULL, -- 0 waited, 1 observer, 2 child, 3 given up, 4 waited log
  arrival INTEGER NOT NULL, -- of what waits: a span, a change or a log record
  cpid INTEGER, -- that a child takes from its parent
  joined INTEGER NOT NULL -- 1 when its parent had joined what it named
  ) STRICT;

CREATE TABLE waiting (
  arrival INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  cpid INTEGER,
  origin INTEGER,
  parent_id INTEGER,
  due_ms INTEGER NOT NULL
  , behind_until_ms INTEGER) STRICT;

CREATE INDEX waiting_by_cpid ON waiting (cpid, arrival) WHERE cpid IS NOT NULL;

CREATE INDEX waiting_by_parent ON waiting (origin, parent_id, arrival) WHERE origin IS NOT NULL;

CREATE INDEX waiting_changes ON waiting (cpid) WHERE kind = 1;

CREATE INDEX waiting_due ON waiting (due_ms, arrival);

CREATE TABLE waiting_logs (
  arrival INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  cpid INTEGER,
  trace_id BLOB,
  span_id INTEGER NOT NULL,
  due_ms INTEGER NOT NULL
  ) STRICT;

CREATE INDEX waiting_logs_by_cpid ON waiting_logs (cpid, arrival) WHERE cpid IS NOT NULL;

CREATE INDEX waiting_logs_by_span ON waiting_logs (span_id, trace_id, arrival) WHERE kind = 1;

CREATE INDEX waiting_logs_due ON waiting_logs (due_ms, arrival);

CREATE TABLE waiting_pod_points (
  id INTEGER PRIMARY KEY,
  arrived_ms INTEGER NOT NULL, -- up time
  cluster TEXT NOT NULL,
  upto_bytes INTEGER NOT NULL, -- the length of this text and of all before it
  points TEXT NOT NULL -- by Pod, as JSON
  ) STRICT;

CREATE TRIGGER waiting_to_join AFTER DELETE ON waiting WHEN old.kind = 5 BEGIN
  DELETE FROM awaited_joins WHERE span = old.arrival;
  END;
