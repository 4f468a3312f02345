import type { ConnectionsConfig, CorsConfig, Listener, ServerTls } from '../../config/causeway-config.ts'
import { componentType } from '../../config/component-type.ts'
import {
  field,
  invalid,
  InvalidValue,
  optionalField,
  type Rule,
  section,
  type ValueKind,
  withoutUndefined,
} from '../../config/schema.ts'
import {
  buildCors,
  buildServerTls,
  cors,
  perAddressRule,
  serverAuth,
  serverTls,
} from '../../config/tls-auth-cors.ts'
import {
  DURATION,
  FLAG,
  isAddressRange,
  LISTEN_ENDPOINT,
  TEXT_LIST,
  TRACE_URL,
  wholeNumber,
} from '../../config/value-kinds.ts'
import { openServerTls } from '../../platform/tls.ts'
import type { ExtensionType } from '../extension-type.ts'

export interface QuerySettings extends Listener, ConnectionsConfig {
  /** Where a trace can be seen; `{trace_id}` and `{span_id}` are filled in. */
  traceUrl?: string
  tls?: ServerTls
  auth?: string
  cors?: CorsConfig
  /** By which names it may be called besides its own, addresses and localhost. */
  allowedHosts: string[]
  /** How long an answer may wait for its reader to take more of it; 0 means for ever. */
  writeTimeoutMs: number
  /** Addresses and ranges of the proxies that say for whom they ask. */
  trustedProxies: string[]
  /** Whether their connections begin with a header of the PROXY protocol. */
  proxyProtocol: boolean
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

/** Whose headers would be read otherwise. */
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

const schema = section(
  'The HTTP API and the dashboard.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4319', 'Where to listen.'),
    trace_url: optionalField(
      TRACE_URL,
      'Where a trace can be seen, for the links of the dashboard: `http://localhost:16686/trace/{trace_id}`; ' +
        '`{span_id}` is filled in too.',
    ),
    tls: serverTls,
    auth: serverAuth,
    cors,
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
      DURATION,
      '30s',
      'How long an answer may wait for its reader to take more of it; 0s means for ever.',
    ),
  },
  [perAddressRule, proxyProtocolRule],
)

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
        traceUrl: settings.trace_url,
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
        cors: buildCors(settings.cors),
        maxConnectionsPerAddress: settings.max_connections_per_address,
      }),
    }),
  }),
  listeners: ({ host, port, maxConnections, maxConnectionsPerAddress, tls, auth }) => [
    {
      host,
      port,
      what: 'query API',
      exposes: 'shows all that is kept to',
      connections: { maxConnections, ...withoutUndefined({ maxConnectionsPerAddress }) },
      page: { path: '/api/v1/cascades?limit=1', status: auth === undefined ? 200 : 401 },
      ...withoutUndefined({ tls, auth }),
    },
  ],
  openFiles: (id, { tls }) => (tls === undefined ? undefined : openServerTls(`extension ${id}`, tls)),
  load: () => import('./start-query.ts'),
}
