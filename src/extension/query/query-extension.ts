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
  'An archive that the `clickhouse` exporter of this and other Causeways writes, to answer from it too: questions about cascades, related ' +
    'CPIDs, ancestors, roots, objects and facets.',
  {
    endpoint: requiredField(HTTP_URL, 'endpoint: http://localhost:8123', 'The HTTP interface of ClickHouse.'),
    username: field(TEXT, 'default', 'The user to ask as; to read is enough.'),
    password: optionalField(SECRET_TEXT, 'Its password; never shown by `print-config`.'),
    database: field(NAME, 'causeway', 'The database of the archive.'),
    timeout: field(
      POSITIVE_WAIT,
      '10s',
      'How long it may take over one question; then what this Causeway holds is answered alone, and says so.',
    ),
    tls: clientTls,
  },
)

const schema = section(
  'The HTTP API, the dashboard, and gRPC for Jaeger and Grafana.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4319', 'Where to listen.'),
    grpc: optionalSection(
      '`endpoint` answers gRPC beside HTTP. Written, gRPC is answered at a port of its own too, under what stands here about TLS, ' +
        'credentials and connections.',
      {
        endpoint: field(
          LISTEN_ENDPOINT,
          'localhost:17271',
          'Where to listen for gRPC alone; the default is the port of Jaeger for its remote storage.',
        ),
      },
    ),
    trace_url: optionalField(
      TRACE_URL,
      'Where a trace can be seen, for the links of the dashboard: `http://localhost:16686/trace/{trace_id}`; ' +
        '`{span_id}` is filled in too.',
    ),
    tls: serverTls,
    auth: serverAuth,
    cors,
    archive,
    allowed_hosts: field(
      TEXT_LIST,
      '[]',
      'Names by which it may be called besides its own, addresses and localhost; `*` stands for anything. Empty lets any ' +
        'name through where `endpoint` is not on this machine alone.',
    ),
    max_connections: field(
      wholeNumber(1),
      '256',
      'Most connections with a request under way; further requests are answered 503.',
    ),
    max_connections_per_address: optionalField(
      wholeNumber(1),
      'Most of them from one address, for IPv6 from one /64; left out, a quarter of `max_connections`. Raise it where people ' +
        'come through one NAT; for a proxy write `trusted_proxies`.',
    ),
    trusted_proxies: field(
      ADDRESS_RANGES,
      '[]',
      'Addresses of proxies, such as `10.0.0.0/8`, whose `X-Forwarded-For` says who asks: limits for one address, and for wrong ' +
        'passwords, then hold for whoever that is. Nobody else is believed.',
    ),
    proxy_protocol: field(
      FLAG,
      'false',
      'Whether connections of `trusted_proxies` begin with a header of the PROXY protocol, version 1 or 2, which then says who ' +
        'connects. Those of others begin without one.',
    ),
    write_timeout: field(
      WAIT,
      '30s',
      'How long an answer may wait for its reader to take more of it; 0s means for ever.',
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
      exposes: 'shows all that is kept to',
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
