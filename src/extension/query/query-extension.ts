import type { CorsSettings, ServerTlsSettings } from '../../model/connection-settings.ts'
import type { ArchiveAddress } from '../../query/archive/archive-client.ts'
import type { ConnectionsConfig } from '../../config/causeway-config.ts'
import { componentType } from '../../config/component-type.ts'
import {
  field,
  invalid,
  InvalidValue,
  optionalField,
  optionalSection,
  requiredField,
  type Rule,
  section,
  type SettingsOf,
  type ValueKind,
  withoutUndefined,
} from '../../config/schema.ts'
import {
  buildClientTls,
  buildCors,
  buildServerTls,
  clientTls,
  cors,
  perAddressRule,
  serverAuth,
  serverTls,
} from '../../config/tls-auth-cors.ts'
import {
  type Endpoint,
  FLAG,
  HTTP_URL,
  isAddressRange,
  LISTEN_ENDPOINT,
  POSITIVE_WAIT,
  SECRET_TEXT,
  TEXT,
  TEXT_LIST,
  TRACE_URL,
  WAIT,
  wholeNumber,
} from '../../config/value-kinds.ts'
import { openClientTls, openServerTls } from '../../platform/tls.ts'
import type { ExtensionType } from '../extension-type.ts'

export interface QuerySettings extends Endpoint, ConnectionsConfig {
  /** The URL template of a trace in a backend, with `{trace_id}` and `{span_id}`. */
  traceUrl?: string
  tls?: ServerTlsSettings
  auth?: string
  cors?: CorsSettings
  /** Host names that requests may use besides the server's own name, IP addresses and localhost. */
  allowedHosts: string[]
  /** How long an answer may wait for a slow client, in milliseconds; 0 is forever. */
  writeTimeoutMs: number
  /** Addresses and ranges of proxies whose X-Forwarded-For is trusted. */
  trustedProxies: string[]
  /** Whether connections of trusted proxies begin with a PROXY protocol header. */
  proxyProtocol: boolean
  /** A separate listener for gRPC. */
  grpc?: Endpoint
  /** The archive to query as well, for data of other Causeways and data that was pruned here. */
  archive?: ArchiveAddress
}

const ADDRESS_RANGES: ValueKind<string[]> = {
  type: 'list of text',
  read: (node) => {
    const texts = TEXT_LIST.read(node)
    if (texts instanceof InvalidValue) return texts
    const wrong = texts.find((text) => !isAddressRange(text))
    return wrong === undefined
      ? texts
      : invalid(`must be a list of addresses or ranges such as 10.0.0.0/8, got "${wrong}" in it`)
  },
}

/** Without trusted proxies, every client could send PROXY protocol headers. */
const proxyProtocolRule: Rule<{ proxy_protocol: boolean; trusted_proxies: string[] }> = ({
  proxy_protocol,
  trusted_proxies,
}) =>
  proxy_protocol && trusted_proxies.length === 0
    ? {
        key: 'proxy_protocol',
        message: 'needs the addresses of the proxies: write them under trusted_proxies',
      }
    : undefined

const NAME: ValueKind<string> = {
  ...TEXT,
  read: (node) => {
    const text = TEXT.read(node)
    return typeof text !== 'string' || /^\w+$/.test(text)
      ? text
      : invalid(`must be of letters, digits and underscores, got ${text}`)
  },
}

const archive = optionalSection(
  'The archive in ClickHouse that the `clickhouse` exporters of this and other Causeways write. Questions about cascades, related CPIDs, ancestors, roots, objects and facets are then answered from it too.',
  {
    endpoint: requiredField(
      HTTP_URL,
      'endpoint: http://localhost:8123',
      'The URL of the HTTP interface of ClickHouse.',
    ),
    username: field(
      TEXT,
      'default',
      'The ClickHouse user that reads the archive. It needs the right to read alone.',
    ),
    password: optionalField(SECRET_TEXT, 'The password of that user. `print-config` never shows it.'),
    database: field(NAME, 'causeway', 'The name of the archive’s database.'),
    timeout: field(
      POSITIVE_WAIT,
      '10s',
      'How long the archive may take to answer one question. After that, the answer has only what this Causeway stores, and says so.',
    ),
    tls: clientTls,
  },
)

const schema = section(
  'Serves the HTTP API, the dashboard, and gRPC for Jaeger and Grafana.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4319', 'The address and port to listen on.'),
    grpc: optionalSection(
      '`endpoint` serves gRPC beside HTTP. This section serves gRPC at a port of its own too, with the same settings for TLS, credentials and connections.',
      {
        endpoint: field(
          LISTEN_ENDPOINT,
          'localhost:17271',
          "The address and port to listen on for gRPC alone. The default port is that of Jaeger's remote storage.",
        ),
      },
    ),
    trace_url: optionalField(
      TRACE_URL,
      'The URL of a trace in your backend, which the dashboard links to, such as `http://localhost:16686/trace/{trace_id}`. `{trace_id}` and `{span_id}` are replaced.',
    ),
    tls: serverTls,
    auth: serverAuth,
    cors,
    archive,
    allowed_hosts: field(
      TEXT_LIST,
      '[]',
      'Host names that requests may use, besides `localhost`, IP addresses and the name in `endpoint`. `*` matches any text. If the list is empty and `endpoint` can be reached from other machines, every name is accepted.',
    ),
    max_connections: field(
      wholeNumber(1),
      '256',
      'The number of connections that may have a request in progress. Further requests are answered 503.',
    ),
    max_connections_per_address: optionalField(
      wholeNumber(1),
      'The same for connections from one address, or from one /64 with IPv6. The default is a quarter of `max_connections`. Raise it if many people come through one NAT. If they come through a proxy, use `trusted_proxies`.',
    ),
    trusted_proxies: field(
      ADDRESS_RANGES,
      '[]',
      'The addresses of proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8`. The limits for one address and for wrong passwords then hold for each client behind the proxy. That header of other senders is ignored.',
    ),
    proxy_protocol: field(
      FLAG,
      'false',
      'Whether connections from `trusted_proxies` begin with a header of the PROXY protocol, version 1 or 2, which names the client. Connections from other addresses begin without one.',
    ),
    write_timeout: field(
      WAIT,
      '30s',
      'How long an answer may wait while its client reads nothing of it. `0s` means no limit.',
    ),
  },
  [perAddressRule, proxyProtocolRule],
)

function buildArchive(written: NonNullable<SettingsOf<typeof archive>>): ArchiveAddress {
  const { endpoint, username, password, database, timeout, tls } = written
  return {
    ...{ endpoint, username, database, timeoutMs: timeout },
    ...withoutUndefined({ password }),
    tls: buildClientTls(tls, /^http:/i.test(endpoint) ? 'http' : 'https'),
  }
}

export const queryExtension: ExtensionType<QuerySettings> = {
  ...componentType({
    name: 'cpid_query',
    schema,
    build: (settings): QuerySettings => ({
      ...settings.endpoint,
      allowedHosts: settings.allowed_hosts,
      maxConnections: settings.max_connections,
      writeTimeoutMs: settings.write_timeout,
      trustedProxies: settings.trusted_proxies,
      proxyProtocol: settings.proxy_protocol,
      ...withoutUndefined({
        grpc: settings.grpc?.endpoint,
        traceUrl: settings.trace_url,
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
        cors: buildCors(settings.cors),
        archive: settings.archive && buildArchive(settings.archive),
        maxConnectionsPerAddress: settings.max_connections_per_address,
      }),
    }),
  }),
  listeners: ({ host, port, grpc, maxConnections, maxConnectionsPerAddress, tls, auth }) => {
    const both = {
      exposes: 'shows everything that is stored to',
      connections: { maxConnections, ...withoutUndefined({ maxConnectionsPerAddress }) },
      ...withoutUndefined({ tls, auth }),
    }
    const page = { path: '/api/v1/cascades?limit=1', status: auth === undefined ? 200 : 401 }
    return [
      { host, port, what: 'query API', page, ...both },
      ...(grpc === undefined ? [] : [{ ...grpc, at: 'grpc', what: 'query gRPC', ...both }]),
    ]
  },
  openFiles: (id, { tls, archive: asked }, onTrouble) => {
    using open = new DisposableStack()
    if (tls !== undefined) open.use(openServerTls(`extension ${id}`, tls, onTrouble))
    if (asked !== undefined && !asked.tls.insecure) open.use(openClientTls(asked.tls, onTrouble))
    return open.move()
  },
  load: () => import('./start-query.ts'),
}
