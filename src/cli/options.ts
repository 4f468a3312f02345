export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** The placeholder for its value in the help. */
  readonly value?: string
  readonly meaning: string
}

/** All options, in the order of the help. */
export const OPTIONS = {
  config: {
    type: 'string',
    multiple: true,
    value: '<uri>',
    meaning:
      'the configuration: a file, env:NAME or yaml:TEXT. May be repeated: later ones override earlier ones',
  },
  set: {
    type: 'string',
    multiple: true,
    value: '<a.b=c>',
    meaning: 'a setting that overrides the configuration. May be repeated',
  },
  format: {
    type: 'string',
    value: 'text|json',
    meaning: 'the format of the output: text for people, or json for programs',
  },
  state: { type: 'string', value: 'open|settled', meaning: 'list only cascades in this state' },
  cause: {
    type: 'string',
    value: 'operator|self',
    meaning: 'list only cascades that somebody began (operator), or that a controller began by itself (self)',
  },
  object: {
    type: 'string',
    value: '<reference>',
    meaning:
      'list only cascades that began at this object, or at an object below a prefix such as apps/v1/deployments/default',
  },
  service: {
    type: 'string',
    value: '<name>',
    meaning: 'list only cascades that have spans of this service, or that it began',
  },
  actor: {
    type: 'string',
    value: '<name>',
    meaning:
      'list only cascades in which this user wrote, this git revision appeared, or this service takes part',
  },
  namespace: {
    type: 'string',
    value: '<name>',
    meaning:
      'list only cascades that wrote into this namespace or began in it; with observe, watch only this namespace',
  },
  since: {
    type: 'string',
    value: '<time>',
    meaning:
      'list only cascades that were active at or after this time: an RFC 3339 time, or a duration before now such as 2h',
  },
  until: {
    type: 'string',
    value: '<time>',
    meaning: 'list only cascades that were active at or before this time, written as for --since',
  },
  limit: { type: 'string', value: '<n>', meaning: 'the largest number of items to list' },
  all: {
    type: 'boolean',
    meaning: 'show every span at any depth, and each write of a status on a line of its own',
  },
  wide: { type: 'boolean', meaning: 'print whole cells, even if the table becomes wider than the terminal' },
  timeout: {
    type: 'string',
    value: '<duration>',
    meaning:
      'how long the archive may take to answer; with sql and doctor, the database (default: sql 10s, others 30s)',
  },
  'max-rows': {
    type: 'string',
    value: '<n>',
    meaning: 'the largest number of rows to print (default: 1000)',
  },
  cluster: {
    type: 'string',
    value: '<name>',
    meaning: 'the name of the cluster (k8s.cluster.name)',
  },
  audit: {
    type: 'string',
    multiple: true,
    value: '<file>',
    meaning: 'a file with a recorded audit log. May be repeated',
  },
  watch: {
    type: 'string',
    multiple: true,
    value: '<file>',
    meaning: 'a file with a recorded watch. May be repeated',
  },
  follow: {
    type: 'boolean',
    meaning: 'wait for more lines until Ctrl-C. Cascades that are open then stay open',
  },
  kubeconfig: {
    type: 'string',
    value: '<path>',
    meaning: 'the path of the kubeconfig (default: the one that kubectl uses)',
  },
  context: {
    type: 'string',
    value: '<name>',
    meaning: 'the context in the kubeconfig (default: the current context)',
  },
  database: {
    type: 'string',
    value: '<path>',
    meaning: 'the file in which to keep what is observed (default: a temporary file)',
  },
  archive: {
    type: 'string',
    value: '<url>',
    meaning:
      'also ask this archive in ClickHouse, such as https://auditor@clickhouse.example:8443/causeway. CLICKHOUSE_PASSWORD has the password',
  },
  print: { type: 'boolean', meaning: 'print the statements instead of running them' },
  role: {
    type: 'string',
    value: '<name>',
    meaning: 'the role that may read the archive (default: causeway_auditor)',
  },
  reason: {
    type: 'string',
    value: '<text>',
    meaning: 'why you make the change. Causeway stores it with the change',
  },
  endpoint: {
    type: 'string',
    value: '<url>',
    meaning:
      'where Causeway receives OTLP over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT, or http://127.0.0.1:4318)',
  },
  help: { type: 'boolean', short: 'h', meaning: 'print this help, or the help of a command' },
  version: {
    type: 'boolean',
    short: 'v',
    meaning: 'print the version, the commit and the database schema',
  },
} as const satisfies Record<string, Option>

export type OptionName = keyof typeof OPTIONS
