import { sql, type Kysely } from 'kysely'

/**
 * Who wrote what spans tell of that were made by looking at a cluster from outside, and why; who wrote in which trace, and
 * into which namespaces a cascade wrote. What was linked before is found by its namespaces too, which are read from what it
 * wrote; who wrote it nobody told.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  for (const [view, changed] of VIEWS) {
    const { rows } = await sql<{
      text: string
    }>`SELECT sql AS text FROM sqlite_schema WHERE name = ${view}`.execute(db)
    await sql.raw(`DROP VIEW ${view}`).execute(db)
    await sql.raw(changed(rows[0]?.text ?? '')).execute(db)
  }
  for (const view of NEW_VIEWS) await sql.raw(view).execute(db)
}

/** A flag of spans: they have a row in `seen_writes`, which goes with them, whoever removes them. */
const SEEN = 64

const firstPart = (object: string): string => `substr(${object}, 1, instr(${object} || '/', '/') - 1)`
const slashes = (object: string): string => `length(${object}) - length(replace(${object}, '/', ''))`
const afterFirst = (object: string): string => `substr(${object}, instr(${object}, '/') + 1)`

/** `<resource>/[<namespace>/]<name>` of an object: `v1` is a version of the core group, whose name is left out. */
const WITHIN = `CASE WHEN ${firstPart('object')} GLOB 'v[0-9]*' AND instr(${firstPart('object')}, '.') = 0
  THEN ${afterFirst('object')} ELSE ${afterFirst(afterFirst('object'))} END`

/** The namespace of an object; a namespace lies in itself. */
const NAMESPACE = `CASE WHEN ${slashes(`(${WITHIN})`)} = 2 OR (${slashes(`(${WITHIN})`)} = 1 AND object GLOB 'v1/namespaces/*')
  THEN ${firstPart(afterFirst(`(${WITHIN})`))} END`

const STATEMENTS = [
  `CREATE TABLE seen_writes (
    span INTEGER PRIMARY KEY,
    user_name TEXT,
    cause TEXT NOT NULL,
    gap INTEGER NOT NULL
  ) STRICT`,
  `CREATE TRIGGER spans_seen_write AFTER DELETE ON spans WHEN old.flags & ${SEEN} BEGIN
    DELETE FROM seen_writes WHERE span = old.id;
  END`,
  // began: theirs is the write with which the cascade begins.
  `CREATE TABLE trace_actors (
    trace INTEGER NOT NULL,
    actor TEXT NOT NULL,
    writes INTEGER NOT NULL,
    gaps INTEGER NOT NULL,
    began INTEGER NOT NULL,
    PRIMARY KEY (trace, actor)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX trace_actors_by_actor ON trace_actors (actor, trace)',
  // By the first trace of a cascade, as trace_writes.
  `CREATE TABLE trace_namespaces (
    trace INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (trace, namespace)
  ) STRICT, WITHOUT ROWID`,
  'CREATE INDEX trace_namespaces_by_name ON trace_namespaces (namespace, trace)',
  `ALTER TABLE objects ADD COLUMN namespace TEXT GENERATED ALWAYS AS (${NAMESPACE}) VIRTUAL`,
  `INSERT OR IGNORE INTO trace_namespaces (trace, namespace)
   SELECT DISTINCT trace_writes.trace, objects.namespace FROM trace_writes JOIN objects ON objects.id = trace_writes.object
   WHERE objects.namespace IS NOT NULL`,
  `INSERT OR IGNORE INTO trace_namespaces (trace, namespace)
   SELECT coalesce(traces.continues, traces.id), objects.namespace FROM traces
   JOIN mergelogs ON mergelogs.cpid = traces.root JOIN objects ON objects.id = mergelogs.object_id
   WHERE objects.namespace IS NOT NULL`,
]

const BEGAN = `(SELECT y.actor FROM traces u JOIN trace_actors y ON y.trace = u.id
       WHERE u.root = t.root AND y.began = 1 ORDER BY u.episode LIMIT 1)`
const GAPS = 'cast((SELECT total(y.gaps) FROM trace_actors y WHERE y.trace = t.id) AS INTEGER)'

const SEEN_COLUMNS = `coalesce(y.user_name, r.service) AS actor, y.cause, CASE y.gap WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS gap`
const SEEN_JOIN = 'LEFT JOIN seen_writes y ON y.span = s.id'

const withActor = (text: string): string =>
  text
    .replace(/ AS status FROM /, ` AS status, ${SEEN_COLUMNS} FROM `)
    .replace(/ WHERE /, ` ${SEEN_JOIN} WHERE `)

/** New columns come last. */
const VIEWS: readonly (readonly [string, (text: string) => string])[] = [
  [
    'audit_cascades',
    (text) =>
      text.replace(/\n\s+FROM traces t/, `,\n     coalesce(${BEGAN}, r.service) AS actor, ${GAPS} AS gaps$&`),
  ],
  [
    'audit_cascade_spans',
    (text) => `${text.replace(/ AS copy\n/, ` AS copy,\n     ${SEEN_COLUMNS}\n`)} ${SEEN_JOIN}`,
  ],
  ['audit_attributed_object_events', withActor],
  ['audit_unattributed_object_events', withActor],
]

/** Who wrote in each trace of a cascade, where a cluster was looked at from outside. */
const NEW_VIEWS: readonly string[] = [
  `CREATE VIEW audit_cascade_actors AS
   SELECT c.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, y.actor, y.writes, y.gaps,
     CASE y.began WHEN 1 THEN 'yes' ELSE 'no' END AS began
   FROM trace_actors y JOIN traces t ON t.id = y.trace JOIN cpids c ON c.id = t.root`,
]
