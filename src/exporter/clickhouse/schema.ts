import { OTEL_COLUMNS, OTEL_INDEXES, OTEL_KEY, OTEL_PRIMARY_KEY } from './otel-traces.ts'
import { TABLES } from './tables.ts'
import { type View, VIEWS, WALKS } from './views.ts'

/** Options of the tables. */
export interface ArchiveLayout {
  readonly database: string
  /** The table of linked spans in the format of the Collector's exporter, as `table` or `database.table`; undefined for none. */
  readonly tracesTable: string | undefined
  /** A cluster of servers: every table is replicated, below a distributed one of the same name. */
  readonly cluster: string | undefined
  /** How many days a fact is kept; 0 for ever. */
  readonly retentionDays: number
}

interface Migration {
  readonly number: number
  readonly name: string
  /** May be run again, and by several Causeways at once. */
  readonly statements: (layout: ArchiveLayout) => string[]
}

/** Columns that tables of an archive of the first migration may lack. */
const ADDED_LATER = {
  cascades: ['failed', 'doubtful_times', 'reference', 'began_by', 'service_names', 'actors', 'namespaces'],
  object_events: ['start'],
}

/** Every migration in order. Released ones are never edited. */
export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'tables and views',
    statements: (layout) => [
      ...TABLES.flatMap(({ name, columns, key, indexes, granularity, shardedBy }) =>
        tableStatements(layout, {
          table: `${layout.database}.${name}`,
          columns,
          indexes,
          granularity,
          engine: 'ReplacingMergeTree(version, is_deleted)',
          partition: 'toYYYYMM(day)',
          order: quotedAll(key),
          day: 'day',
          shardedBy,
        }),
      ),
      ...tracesStatements(layout),
      ...[...VIEWS, ...WALKS].map((view) => viewStatement(layout, 'CREATE VIEW IF NOT EXISTS', view)),
    ],
  },
  {
    number: 2,
    name: 'what questions about cascades and objects need',
    statements: (layout) =>
      Object.entries(ADDED_LATER).flatMap(([table, names]) => {
        const { columns = [] } = TABLES.find(({ name }) => name === table) ?? {}
        const added = names.map((name) => columns.find((column) => column.name === name))
        const tables = layout.cluster === undefined ? [table] : [`${table}_local`, table]
        return tables.map(
          (name) =>
            `ALTER TABLE ${qualified(layout.database, name)}${onCluster(layout)} ` +
            added
              .map((column) => `ADD COLUMN IF NOT EXISTS ${quoted(column?.name ?? '')} ${column?.type}`)
              .join(', '),
        )
      }),
  },
  {
    number: 3,
    name: 'walks that read less',
    statements: (layout) => WALKS.map((view) => viewStatement(layout, 'CREATE OR REPLACE VIEW', view)),
  },
]

export const NEWEST = MIGRATIONS.at(-1)?.number ?? 0

function viewStatement(layout: ArchiveLayout, create: string, { name, sql }: View): string {
  const text = sql((table) => qualified(layout.database, table))
  return `${create} ${qualified(layout.database, name)}${onCluster(layout)} AS\n${text}`
}

/** The tables needed before migrations: migrations done, and Causeways that write. */
export function firstStatements(layout: ArchiveLayout): string[] {
  return [
    `CREATE DATABASE IF NOT EXISTS ${quoted(layout.database)}${onCluster(layout)}`,
    ...tableStatements(layout, {
      table: `${layout.database}.schema_migrations`,
      columns: [
        { name: 'number', type: 'UInt32' },
        { name: 'name', type: 'String' },
        { name: 'applied', type: "DateTime('UTC') DEFAULT now()" },
      ],
      engine: 'ReplacingMergeTree(applied)',
      order: 'number',
    }),
    ...tableStatements(layout, {
      table: `${layout.database}.causeways`,
      columns: [
        { name: 'causeway', type: 'String' },
        { name: 'instance', type: 'String' },
        { name: 'since', type: "DateTime64(6, 'UTC')" },
        { name: 'seen', type: "DateTime64(3, 'UTC')" },
      ],
      engine: 'ReplacingMergeTree(seen)',
      order: 'causeway, instance',
      shardedBy: 'causeway',
    }),
  ]
}

interface TableOf {
  table: string
  columns: readonly { name: string; type: string }[]
  indexes?: readonly string[]
  granularity?: number | undefined
  engine: string
  partition?: string
  primaryKey?: string
  order: string
  /** The SQL expression of the day that the retention counts from. */
  day?: string
  shardedBy?: string
}

function tableStatements(layout: ArchiveLayout, made: TableOf): string[] {
  const { cluster, retentionDays } = layout
  const [database = '', name = ''] = made.table.split('.')
  const local = cluster === undefined ? name : `${name}_local`
  const lines = [
    ...made.columns.map((column) => `${quoted(column.name)} ${column.type}`),
    ...(made.indexes ?? []),
  ]
  const ttl =
    retentionDays > 0 && made.day !== undefined ? `\nTTL ${made.day} + INTERVAL ${retentionDays} DAY` : ''
  const statement = `CREATE TABLE IF NOT EXISTS ${qualified(database, local)}${onCluster(layout)} (
  ${lines.join(',\n  ')}
) ENGINE = ${cluster === undefined ? made.engine : replicated(made.engine, database, local)}${
    made.partition === undefined ? '' : `\nPARTITION BY ${made.partition}`
  }${made.primaryKey === undefined ? '' : `\nPRIMARY KEY (${made.primaryKey})`}
ORDER BY (${made.order})${ttl}
SETTINGS index_granularity = ${made.granularity ?? 8192}${cluster === undefined ? ', non_replicated_deduplication_window = 1000' : ''}${
    ttl === '' ? '' : ', ttl_only_drop_parts = 1'
  }`
  if (cluster === undefined) return [statement]
  const spread = made.shardedBy === undefined ? 'rand()' : `cityHash64(${quoted(made.shardedBy)})`
  return [
    statement,
    `CREATE TABLE IF NOT EXISTS ${qualified(database, name)}${onCluster(layout)} AS ${qualified(database, local)}
ENGINE = Distributed(${text(cluster)}, ${text(database)}, ${text(local)}, ${spread})`,
  ]
}

/** The Collector's table, except that a repeated span replaces itself, and its table of the time of each trace. */
export function tracesStatements(layout: ArchiveLayout): string[] {
  const { tracesTable } = layout
  if (tracesTable === undefined) return []
  const table = nameOfTraces(layout)
  const [database = '', name = ''] = table.split('.')
  const suffix = layout.cluster === undefined ? '' : '_local'
  return [
    ...(database === layout.database
      ? []
      : [`CREATE DATABASE IF NOT EXISTS ${quoted(database)}${onCluster(layout)}`]),
    ...tableStatements(layout, {
      table,
      columns: OTEL_COLUMNS,
      indexes: OTEL_INDEXES,
      engine: 'ReplacingMergeTree',
      partition: 'toDate(Timestamp)',
      primaryKey: OTEL_PRIMARY_KEY,
      order: OTEL_KEY,
      day: 'toDateTime(Timestamp)',
      shardedBy: 'TraceId',
    }),
    ...tableStatements(layout, {
      table: `${table}_trace_id_ts`,
      columns: [
        { name: 'TraceId', type: 'String CODEC(ZSTD(1))' },
        { name: 'Start', type: 'SimpleAggregateFunction(min, DateTime) CODEC(ZSTD(1))' },
        { name: 'End', type: 'SimpleAggregateFunction(max, DateTime) CODEC(ZSTD(1))' },
      ],
      engine: 'AggregatingMergeTree',
      partition: 'toStartOfWeek(Start)',
      order: 'TraceId',
      day: 'toDateTime(Start)',
      shardedBy: 'TraceId',
    }),
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${qualified(database, `${name}_trace_id_ts_mv`)}${onCluster(layout)}
TO ${qualified(database, `${name}_trace_id_ts${suffix}`)} AS
SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS End
FROM ${qualified(database, `${name}${suffix}`)} WHERE TraceId != '' GROUP BY TraceId`,
  ]
}

/** With its database. */
export function nameOfTraces({ database, tracesTable = '' }: ArchiveLayout): string {
  return tracesTable.includes('.') ? tracesTable : `${database}.${tracesTable}`
}

function replicated(engine: string, database: string, table: string): string {
  const [name = '', settings = ''] = engine.replace(/\)$/, '').split('(')
  const path = `'/clickhouse/tables/{shard}/${database}/${table}', '{replica}'`
  return `Replicated${name}(${settings === '' ? path : `${path}, ${settings}`})`
}

const onCluster = ({ cluster }: ArchiveLayout): string =>
  cluster === undefined ? '' : ` ON CLUSTER ${quoted(cluster)}`

/** Names are checked when the configuration is read: letters, digits and underscores. */
const quoted = (name: string): string => `\`${name}\``
export const quotedAll = (names: readonly string[]): string => names.map(quoted).join(', ')
export const qualified = (database: string, name: string): string => `${quoted(database)}.${quoted(name)}`
const text = (value: string): string => `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`

/** The SQL for a read-only role: some clusters, with limits for each query. */
export function roleStatements(
  layout: ArchiveLayout,
  { role, clusters }: { role: string; clusters: readonly string[] },
): string[] {
  const on = onCluster(layout)
  const listed = clusters.map(text).join(', ')
  const local = layout.cluster === undefined ? '' : '_local'
  const name = quoted(`${role}_clusters`)
  const policy = (table: string, condition: string): string =>
    clusters.length === 0
      ? `DROP ROW POLICY IF EXISTS ${name} ON ${table}${on}`
      : `CREATE ROW POLICY OR REPLACE ${name}${on} ON ${table} USING ${condition} TO ${quoted(role)}`
  const tables = TABLES.map(({ name: table, columns }) => ({
    table: qualified(layout.database, `${table}${local}`),
    condition: columns.some((column) => column.name === 'cluster') ? `cluster IN (${listed})` : '0',
  }))
  const [tracesDatabase = '', traces = ''] = nameOfTraces(layout).split('.')
  const hasOwnDatabase = layout.tracesTable !== undefined && tracesDatabase !== layout.database
  return [
    `CREATE ROLE IF NOT EXISTS ${quoted(role)}${on}`,
    `GRANT${on} SELECT ON ${quoted(layout.database)}.* TO ${quoted(role)}`,
    ...(hasOwnDatabase
      ? [`GRANT${on} SELECT ON ${qualified(tracesDatabase, traces)} TO ${quoted(role)}`]
      : []),
    `CREATE SETTINGS PROFILE OR REPLACE ${quoted(role)}${on} SETTINGS readonly = 2, max_execution_time = 60 MAX 300,
  max_memory_usage = 4000000000 MAX 8000000000, max_recursive_cte_evaluation_depth = 100000 TO ${quoted(role)}`,
    `CREATE QUOTA OR REPLACE ${quoted(role)}${on} FOR INTERVAL 1 minute MAX queries = 120, execution_time = 300 TO ${quoted(role)}`,
    ...tables.map(({ table, condition }) => policy(table, condition)),
    ...(layout.tracesTable === undefined
      ? []
      : [
          policy(
            qualified(tracesDatabase, `${traces}${local}`),
            `ResourceAttributes['k8s.cluster.name'] IN (${listed})`,
          ),
        ]),
  ]
}
