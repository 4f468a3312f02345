import { componentType, httpBackend } from '../../config/component-type.ts'
import {
  field,
  invalid,
  optionalField,
  refusedKeys,
  requiredField,
  section,
  type SettingsOf,
  UNSUPPORTED_COLLECTOR_KEY,
  type ValueKind,
  withoutUndefined,
} from '../../config/schema.ts'
import { buildClientTls, clientTls } from '../../config/tls-auth-cors.ts'
import {
  choice,
  DURATION,
  FLAG,
  HTTP_URL,
  POSITIVE_WAIT,
  SECRET_TEXT,
  TEXT,
} from '../../config/value-kinds.ts'
import { openClientTls } from '../../platform/tls.ts'
import type { ExporterType } from '../exporter-type.ts'

const ENDPOINT: ValueKind<string> = {
  ...HTTP_URL,
  read: (node) =>
    typeof node === 'string' && /^(tcp|clickhouse):/i.test(node)
      ? invalid('is asked over HTTP; write http:// or https:// and that port, such as http://localhost:8123')
      : HTTP_URL.read(node),
}

function name(pattern: RegExp, wanted: string): ValueKind<string> {
  return {
    ...TEXT,
    read: (node) => {
      const text = TEXT.read(node)
      return typeof text !== 'string' || pattern.test(text) ? text : invalid(`must be ${wanted}, got ${text}`)
    },
  }
}

const NAME = name(/^\w+$/, 'of letters, digits and underscores')
export const OWN_TABLES = [
  ...[
    'cpids',
    'mergelogs',
    'edges',
    'edges_by_cpid',
    'cascades',
    'cascade_actors',
    'cascade_changes',
    'cascade_spans',
  ],
  ...[
    'spans',
    'object_events',
    'logs',
    'refused_mergelogs',
    'refused_items',
    'causeways',
    'schema_migrations',
  ],
]
const TABLE = name(
  new RegExp(String.raw`^(?!(${OWN_TABLES.join('|')})$)(\w+\.)?\w+$`),
  'a table that is none of the archive itself, with or without its database, such as otel_traces',
)
const CLUSTER = name(/^[\w.-]+$/, 'of letters, digits, dots, dashes and underscores')

const NEVER = 'an archive is never given up on: what is not written waits in the database; remove it'
const OUTBOX = 'the database is the queue, durable and unbounded; remove it'

const schema = section(
  'Copies everything that Causeway stores into ClickHouse, with the views that auditors query.',
  {
    endpoint: requiredField(
      ENDPOINT,
      'endpoint: http://localhost:8123',
      'The URL of the HTTP interface of ClickHouse.',
    ),
    causeway: requiredField(
      name(/^[\w.:/-]{1,100}$/, 'a name of letters, digits and . : / - _'),
      'causeway: prod-eu',
      'The name of this Causeway in the archive. Two Causeways with the same name cannot write at the same time.',
    ),
    username: field(TEXT, 'default', 'The ClickHouse user that writes the archive.'),
    password: optionalField(SECRET_TEXT, 'The password of that user. `print-config` never shows it.'),
    database: field(NAME, 'causeway', 'The name of the archive’s database. Causeway creates it.'),
    traces_table_name: field(
      TABLE,
      'otel_traces',
      "The table for linked spans, in the form that the Collector's ClickHouse exporter writes. `none` writes no such table.",
    ),
    cluster: optionalField(
      CLUSTER,
      'The name of a ClickHouse cluster in `remote_servers`, not of a Kubernetes cluster. The tables are replicated and distributed over its shards.',
    ),
    retention: field(
      DURATION,
      '0s',
      'How long a row is kept in the archive, in whole days. `0s` means no limit.',
    ),
    raw: field(
      FLAG,
      'false',
      'Whether the archive also keeps spans and log records byte for byte as they were received.',
    ),
    create_schema: field(
      FLAG,
      'true',
      'Whether Causeway creates and changes the tables. Write `false` if somebody else does, with the output of `causeway archive init --print`.',
    ),
    flush_interval: field(
      POSITIVE_WAIT,
      '1s',
      'How long the exporter waits before it looks for new data, after everything stored has been written.',
    ),
    compression: field(
      choice(['zstd', 'gzip', 'none']),
      'zstd',
      'How requests are compressed. `none` sends them uncompressed.',
    ),
    timeout: field(POSITIVE_WAIT, '60s', 'How long one request may take before it counts as failed.'),
    tls: clientTls,
    retry_on_failure: section('How a failed write is retried. It is retried until it succeeds.', {
      initial_interval: field(POSITIVE_WAIT, '1s', 'The pause before the first retry.'),
      max_interval: field(
        POSITIVE_WAIT,
        '30s',
        'The longest pause between two retries. Each pause is one and a half times the previous one.',
      ),
      ...refusedKeys(NEVER, 'enabled', 'max_elapsed_time'),
      ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'multiplier', 'randomization_factor'),
    }),
    ...refusedKeys('write retention', 'ttl'),
    ...refusedKeys('write cluster', 'cluster_name'),
    ...refusedKeys('write compression', 'compress'),
    ...refusedKeys('tables are ReplacingMergeTree, so that a fact is one row; remove it', 'table_engine'),
    ...refusedKeys('what is acknowledged has to be stored; remove it', 'async_insert'),
    ...refusedKeys('log records go into a table of the archive; remove it', 'logs_table_name'),
    ...refusedKeys('write endpoint, username, password and database', 'connection_params', 'dsn'),
    ...refusedKeys(OUTBOX, 'sending_queue'),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'metrics_tables',
      'metrics_table_name',
      'json',
      'map_body_to_attributes',
    ),
  },
)

const DAY_MS = 86_400_000

function build(written: SettingsOf<typeof schema>) {
  return {
    endpoint: written.endpoint,
    causeway: written.causeway,
    username: written.username,
    ...withoutUndefined({
      password: written.password,
      cluster: written.cluster,
      tracesTable: written.traces_table_name === 'none' ? undefined : written.traces_table_name,
    }),
    database: written.database,
    retentionDays: Math.ceil(written.retention / DAY_MS),
    raw: written.raw,
    createsSchema: written.create_schema,
    intervalMs: written.flush_interval,
    compression: written.compression,
    timeoutMs: written.timeout,
    tls: buildClientTls(written.tls, /^http:/i.test(written.endpoint) ? 'http' : 'https'),
    retry: {
      enabled: true,
      initialIntervalMs: written.retry_on_failure.initial_interval,
      randomizationFactor: 0.5,
      multiplier: 1.5,
      maxIntervalMs: written.retry_on_failure.max_interval,
      maxElapsedMs: 0,
    },
  }
}

export type ClickHouseSettings = ReturnType<typeof build>

export const clickHouseExporter: ExporterType<ClickHouseSettings> = {
  ...componentType({
    name: 'clickhouse',
    schema,
    build,
  }),
  signals: ['traces'],
  isArchive: true,
  destination: ({ endpoint }) => {
    const url = new URL(endpoint)
    return httpBackend(url, url.origin, "ClickHouse's HTTP interface")
  },
  sending: ({ retry }) => ({ batchMaxItems: 1, consumers: 1, retry }),
  openFiles: (_id, { tls }, onTrouble) => (tls.insecure ? undefined : openClientTls(tls, onTrouble)),
  load: () => import('./clickhouse-archive.ts'),
  archive: {
    load: () => import('./clickhouse-archive.ts'),
    intervalMs: ({ intervalMs }) => intervalMs,
  },
}
