import { parseArgs } from 'node:util'

export interface Options {
  /** Leave Causeway running until Ctrl-C. */
  keep: boolean
  /** The OTLP/gRPC receiver of a Causeway or Collector that is already running. */
  endpoint: string | undefined
  /** Where the query API is, or is to be. */
  query: string | undefined
  settleAfter: string
  json: boolean
  exporterEndpoint: string | undefined
  /** Settings for the Causeway that the demo starts, as its own --set takes them. */
  sets: string[]
}

export const USAGE = `Usage: npm run demo -- [options]

Starts Causeway and a small Kubernetes control plane, makes two changes in it, and prints the cascade.

  --keep                         leave Causeway running until Ctrl-C
  --json                         print only {alpha, beta, gamma, traceId}
  --settle-after <duration>      how long nothing must arrive until a cascade settles (default: 2s)
  --exporter-endpoint <host:port>  also send the linked traces to this backend, by OTLP/gRPC without TLS
  --set <key=value>              a setting of the Causeway that is started. May be repeated
  --endpoint <host:port>         start no Causeway, and send to this Causeway or Collector, by OTLP/gRPC without TLS
  --query <host:port>            where the query API listens; with --endpoint, where the running one listens
  --help                         print this help
`

const DEFAULT_SETTLE_AFTER = '2s'
const HOST_PORT = /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+):[1-9]\d{0,4}$/i

/** Reads the command line; undefined when it asks for help. Throws an Error that says what to write instead. */
export function readOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      keep: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      endpoint: { type: 'string' },
      query: { type: 'string' },
      'settle-after': { type: 'string' },
      'exporter-endpoint': { type: 'string' },
      set: { type: 'string', multiple: true },
    },
  })
  if (values.help) return undefined
  for (const name of ['endpoint', 'query', 'exporter-endpoint'] as const) {
    const value = values[name]
    if (value !== undefined && !HOST_PORT.test(value)) {
      throw new Error(`--${name} must be host:port such as localhost:4317, got "${value}"`)
    }
  }
  if (values.endpoint !== undefined) {
    const ours = (['keep', 'settle-after', 'exporter-endpoint', 'set'] as const).find((name) => values[name])
    if (ours !== undefined) {
      throw new Error(`--${ours} is for a Causeway that the demo starts; leave out --${ours} or --endpoint`)
    }
  }
  return {
    keep: values.keep,
    json: values.json,
    endpoint: values.endpoint,
    query: values.query,
    settleAfter: values['settle-after'] ?? DEFAULT_SETTLE_AFTER,
    exporterEndpoint: values['exporter-endpoint'],
    sets: values.set ?? [],
  }
}
