import type { Command } from './commands/command.ts'

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** What stands after it in the help. */
  readonly value?: string
  readonly meaning: string
}

/** Every option of the command line, in the order of the help. */
export const OPTIONS = {
  config: {
    type: 'string',
    multiple: true,
    value: '<uri>',
    meaning:
      'the configuration: a file, or env:NAME or yaml:TEXT; may be repeated, later ones are laid over earlier ones',
  },
  set: {
    type: 'string',
    multiple: true,
    value: '<a.b=c>',
    meaning: 'one setting laid over all of them; may be repeated',
  },
  format: { type: 'string', value: 'text|json', meaning: 'for people or for programs' },
  state: { type: 'string', value: 'open|settled', meaning: 'only cascades in this state' },
  object: {
    type: 'string',
    value: '<reference>',
    meaning: 'only cascades of this object, or of all below a prefix such as apps/v1/deployments/default',
  },
  service: { type: 'string', value: '<name>', meaning: 'only cascades in which the service takes part' },
  actor: {
    type: 'string',
    value: '<name>',
    meaning: 'only cascades in which this user wrote something, or this service takes part',
  },
  namespace: {
    type: 'string',
    value: '<name>',
    meaning: 'only cascades that wrote into the namespace, or began in it; of observe, only what is in it',
  },
  limit: { type: 'string', value: '<n>', meaning: 'at most so many' },
  all: {
    type: 'boolean',
    meaning: 'every span, however many and however deep, and each write of a status alone',
  },
  wide: { type: 'boolean', meaning: 'whole cells, however wide the terminal is' },
  timeout: {
    type: 'string',
    value: '<duration>',
    meaning: 'how long a query of the database may take (sql 10s, doctor 30s)',
  },
  'max-rows': { type: 'string', value: '<n>', meaning: 'how many rows to print at most (1000)' },
  cluster: {
    type: 'string',
    value: '<name>',
    meaning: 'whose recordings are imported: its k8s.cluster.name',
  },
  audit: { type: 'string', multiple: true, value: '<file>', meaning: 'an audit log; may be repeated' },
  watch: {
    type: 'string',
    multiple: true,
    value: '<file>',
    meaning: 'what a watch delivered; may be repeated',
  },
  follow: {
    type: 'boolean',
    meaning: 'go on as the recordings grow, until Ctrl-C; what is open then stays open',
  },
  kubeconfig: {
    type: 'string',
    value: '<path>',
    meaning: 'the kubeconfig; where kubectl looks for it unless given',
  },
  context: { type: 'string', value: '<name>', meaning: 'its context; the current one unless given' },
  database: { type: 'string', value: '<path>', meaning: 'where what is seen is kept; nowhere unless given' },
  reason: { type: 'string', value: '<text>', meaning: 'why something is changed' },
  endpoint: {
    type: 'string',
    value: '<url>',
    meaning: 'where Causeway takes OTLP over HTTP (http://127.0.0.1:4318, or OTEL_EXPORTER_OTLP_ENDPOINT)',
  },
  help: { type: 'boolean', short: 'h', meaning: 'print the help; after a command, that of the command' },
  version: { type: 'boolean', short: 'v', meaning: 'print the version' },
} as const satisfies Record<string, Option>

export type OptionName = keyof typeof OPTIONS

const OF_CONFIG: readonly OptionName[] = ['config', 'set']

/** The options that a command takes, with those about the configuration where it has one. */
export function optionsOf({ options, config }: Pick<Command, 'options' | 'config'>): OptionName[] {
  if (config === 'none') return [...options]
  return [...OF_CONFIG.filter((option) => config !== 'itself' || option === 'set'), ...options]
}

/** How an option is written, such as `--limit <n>`. */
export function writtenOption(name: OptionName): string {
  const { short, value }: Option = OPTIONS[name]
  return `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
}
