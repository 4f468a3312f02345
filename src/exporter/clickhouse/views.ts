import { NIL_CPID } from '../../model/merge-graph.ts'

const NONE = `toUUID('${NIL_CPID}')`

const hexOf = (uuid: string): string => `replaceAll(toString(${uuid}), '-', '')`
const spanId = (id: string): string => `if(${id} = 0, NULL, lpad(lower(hex(${id})), 16, '0'))`
const ms = (from: string, to: string): string =>
  `(toUnixTimestamp64Nano(${to}) - toUnixTimestamp64Nano(${from})) / 1e6`
const cpidOrNull = `if(s.cpid = ${NONE}, NULL, s.cpid) AS cpid`
const isAttributed = `s.cpid != ${NONE}`
const isNot = `s.cpid = ${NONE}`

/** The newest version of each fact. */
export interface View {
  readonly name: string
  readonly sql: (table: (name: string) => string) => string
}

const SPAN = `${hexOf('s.trace_id')} AS trace_id, ${spanId('s.span_id')} AS span_id,
  ${spanId('s.parent_span_id')} AS parent_span_id, s.name AS name, s.service AS service, s.cluster AS cluster, s.start AS start,
  s.end AS end, ${ms('s.start', 's.end')} AS duration_ms, s.kind AS kind, s.status AS status, s.causeway AS causeway`

const EVENT = `s.object AS object, s.cluster AS cluster, s.action AS action,
  if(s.object_version < 0, NULL, s.object_version) AS object_version, s.object_uid AS object_uid, s.time AS time,
  s.service AS service, s.span AS span, ${spanId('s.span_id')} AS span_id, ${hexOf('s.trace_id')} AS trace_id,
  s.status AS status, s.actor AS actor, s.cause AS cause, s.gap AS gap, s.causeway AS causeway`

const LOG = `s.time AS time, s.event_name AS event_name, s.severity AS severity, s.service AS service, s.cluster AS cluster,
  ifNull(${hexOf('s.trace_id')}, '') AS trace_id, ${spanId('s.span_id')} AS span_id, s.causeway AS causeway`

/** Three views: all rows, those with a CPID, and those without. Only the second finds a CPID by the key. */
const inTwoParts = (name: string, columns: string): View[] => {
  const part = (of: string, cpid: string, condition: string): View => ({
    name: of,
    sql: (table) =>
      `SELECT s.arrival AS arrival, ${cpid}, ${columns} FROM ${table(name)} AS s FINAL${condition}`,
  })
  return [
    part(`audit_${name}`, cpidOrNull, ''),
    part(`audit_attributed_${name}`, 's.cpid AS cpid', ` WHERE ${isAttributed}`),
    part(`audit_unattributed_${name}`, 'CAST(NULL AS Nullable(UUID)) AS cpid', ` WHERE ${isNot}`),
  ]
}

const IN_TRACE = `s.root AS root, s.episode AS episode, ${hexOf('s.trace_id')} AS trace_id`

/** The views of docs/audit.md, with the column `causeway`. */
export const VIEWS: readonly View[] = [
  {
    name: 'audit_cpids',
    sql: (
      table,
    ) => `SELECT cpid, state, m.1 AS kind, explained, first_seen, m.2 AS merged_at, m.3 AS service, m.4 AS cluster,
  m.5 AS object, m.6 AS object_uid, m.7 AS object_version, m.8 AS reason, m.9 AS causeway
FROM (SELECT s.cpid AS cpid, argMax(s.state, s.version) AS state, argMax(s.explained, s.version) AS explained,
    min(s.first_seen) AS first_seen,
    argMax(tuple(s.kind, s.merged_at, s.service, s.cluster, s.object, s.object_uid, s.object_version, s.reason, s.causeway),
      tuple(s.kind != 'unknown', s.version)) AS m
  FROM ${table('cpids')} AS s GROUP BY s.cpid)`,
  },
  {
    name: 'audit_mergelogs',
    sql: (
      table,
    ) => `SELECT s.cpid AS cpid, s.time AS time, s.arrived AS arrived, length(s.sources) AS source_count, s.service AS service,
  s.cluster AS cluster, s.object AS object, s.object_uid AS object_uid, s.object_version AS object_version, s.reason AS reason,
  s.causeway AS causeway FROM ${table('mergelogs')} AS s FINAL`,
  },
  ...['edges', 'edges_by_cpid'].map((name) => ({
    name: `audit_${name}`,
    sql: (table: (name: string) => string) =>
      `SELECT s.source AS source, s.cpid AS cpid, s.causeway AS causeway FROM ${table(name)} AS s FINAL`,
  })),
  {
    name: 'audit_cascades',
    sql: (table) => `SELECT ${IN_TRACE}, s.state AS state, s.start AS start, s.last_activity AS last_activity,
  ${ms('s.start', 's.last_activity')} AS duration_ms, s.spans AS spans, s.services AS services, s.merges AS merges,
  s.missing AS missing, s.object AS object, s.service AS service, s.cluster AS cluster, s.reason AS reason,
  s.truncated AS truncated, ${hexOf('s.continues')} AS continues, s.clock_skew AS clock_skew, s.actor AS actor,
  s.gaps AS gaps, s.missed_versions AS missed_versions, s.causeway AS causeway FROM ${table('cascades')} AS s FINAL`,
  },
  {
    name: 'audit_cascade_spans',
    sql: (table) => `SELECT ${IN_TRACE}, ${cpidOrNull}, ${spanId('s.span_id')} AS span_id,
  ${spanId('s.parent_span_id')} AS parent_span_id, s.name AS name, s.service AS service, s.cluster AS cluster, s.start AS start,
  s.end AS end, ${ms('s.start', 's.end')} AS duration_ms, s.waited_ms AS waited_ms, s.kind AS kind, s.status AS status,
  s.copy AS copy, s.actor AS actor, s.cause AS cause, s.gap AS gap, s.activity AS activity, s.causeway AS causeway
FROM ${table('cascade_spans')} AS s FINAL`,
  },
  {
    name: 'audit_cascade_changes',
    sql: (table) =>
      `SELECT ${IN_TRACE}, s.cpid AS cpid, s.drives AS drives, s.causeway AS causeway FROM ${table('cascade_changes')} AS s FINAL`,
  },
  {
    name: 'audit_cascade_actors',
    sql: (
      table,
    ) => `SELECT ${IN_TRACE}, s.actor AS actor, s.writes AS writes, s.gaps AS gaps, s.began AS began,
  s.causeway AS causeway FROM ${table('cascade_actors')} AS s FINAL`,
  },
  ...inTwoParts('spans', SPAN),
  ...inTwoParts('object_events', EVENT),
  ...inTwoParts('logs', LOG),
  {
    name: 'audit_rejected_mergelogs',
    sql: (
      table,
    ) => `SELECT s.arrived AS arrived, s.cpid AS cpid, s.sources AS sources, s.reason AS reason, s.service AS service,
  s.cluster AS cluster, s.sender AS sender, s.causeway AS causeway FROM ${table('refused_mergelogs')} AS s FINAL`,
  },
  {
    name: 'audit_contested_mergelogs',
    sql: (
      table,
    ) => `SELECT s.arrived AS arrived, s.cpid AS cpid, s.reason AS reason, s.service AS service, s.cluster AS cluster,
  s.sources AS sources, s.sender AS sender, k.arrived AS kept_arrived, k.service AS kept_service, k.cluster AS kept_cluster,
  toJSONString(arrayMap(source -> toString(source), k.sources)) AS kept_sources, s.causeway AS causeway
FROM ${table('refused_mergelogs')} AS s FINAL
GLOBAL INNER JOIN (SELECT toString(cpid) AS cpid, arrived, service, cluster, sources FROM ${table('mergelogs')} FINAL
  WHERE cpid GLOBAL IN (SELECT toUUIDOrZero(cpid) FROM ${table('refused_mergelogs')})) AS k ON k.cpid = s.cpid
WHERE s.reason IN ('contested', 'different_sources')`,
  },
  {
    name: 'audit_rejected_items',
    sql: (table) =>
      `SELECT s.arrived AS arrived, s.items AS items, s.message AS message, s.causeway AS causeway FROM ${table('refused_items')} AS s FINAL`,
  },
]

const below = (table: (name: string) => string): string => `below AS (
  SELECT {cpid:UUID} AS cpid
  UNION ALL
  SELECT DISTINCT s.cpid FROM ${table('edges')} AS s FINAL PREWHERE s.source GLOBAL IN (SELECT cpid FROM below)
)`
const above = (table: (name: string) => string): string => `above AS (
  SELECT {cpid:UUID} AS cpid
  UNION ALL
  SELECT DISTINCT s.source FROM ${table('edges_by_cpid')} AS s FINAL PREWHERE s.cpid GLOBAL IN (SELECT cpid FROM above)
)`

/**
 * Parameterized views, as `related(cpid = '…')`. A join with the edges would be several times slower. With FINAL ClickHouse does not move
 * a condition into PREWHERE by itself; one on the first column of the key keeps or drops all versions of a row together.
 */
export const WALKS: readonly View[] = [
  {
    name: 'related',
    sql: (table) => `WITH RECURSIVE ${below(table)} SELECT DISTINCT cpid FROM below`,
  },
  {
    name: 'ancestors',
    sql: (table) =>
      `WITH RECURSIVE ${above(table)} SELECT DISTINCT cpid FROM above WHERE cpid != {cpid:UUID}`,
  },
  {
    name: 'roots',
    sql: (table) => `WITH RECURSIVE ${above(table)}
SELECT DISTINCT cpid, if(cpid GLOBAL IN (SELECT c.root FROM ${table('cascade_changes')} AS c FINAL
  WHERE c.cpid = {cpid:UUID} AND c.drives = 'yes'), 'yes', 'no') AS drives
FROM above WHERE cpid GLOBAL NOT IN (SELECT s.cpid FROM ${table('edges_by_cpid')} AS s FINAL
  PREWHERE s.cpid GLOBAL IN (SELECT cpid FROM above))`,
  },
]
