import type {
  AuthenticatorConfig,
  HealthCheckConfig,
  MemoryLimiterConfig,
  QueryConfig,
} from '../causeway-config.ts'
import { DURATION } from '../schema/duration.ts'
import { LISTEN_ENDPOINT } from '../schema/endpoint.ts'
import { field, NOT_HERE, optionalField, refusedKeys } from '../schema/field.ts'
import { section } from '../schema/section.ts'
import { TEXT_LIST, wholeNumber } from '../schema/scalar-kinds.ts'
import { serverAuth } from './auth.ts'
import { componentType, type ComponentType } from './component-type.ts'
import { buildCors, cors } from './cors.ts'
import { perAddressRule } from './per-address-rule.ts'
import { present } from './present.ts'
import { buildServerTls, serverTls } from './tls/server-tls.ts'
import { TRACE_URL, URL_PATH } from './url-kinds.ts'

export type ExtensionConfig =
  | { kind: 'health_check'; settings: HealthCheckConfig }
  | { kind: 'cpid_query'; settings: QueryConfig }
  | { kind: 'memory_limiter'; settings: MemoryLimiterConfig }
  | { kind: 'authenticator'; settings: AuthenticatorConfig }

export const healthCheck = componentType(
  section('Answers 200 once all listeners are bound and the database is ready, and 503 before.', {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:13133', 'Where to listen.'),
    path: field(URL_PATH, '/', 'The path that answers.'),
    ...refusedKeys(NOT_HERE, 'tls', 'auth', 'cors', 'response_body', 'response_headers'),
    ...refusedKeys(NOT_HERE, 'check_collector_pipeline', 'use_v2', 'http', 'grpc', 'component_health'),
  }),
  (_id, settings): ExtensionConfig => ({
    kind: 'health_check',
    settings: { ...settings.endpoint, path: settings.path },
  }),
)

export const cpidQuery = componentType(
  section(
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
      max_connections: field(wholeNumber(1), '256', 'Most connections; further ones are closed at once.'),
      max_connections_per_address: optionalField(
        wholeNumber(1),
        'Most of them from one address, for IPv6 from one /64; left out, a quarter of `max_connections`. Raise it where people ' +
          'come through one proxy.',
      ),
      write_timeout: field(
        DURATION,
        '30s',
        'How long an answer may wait for its reader to take more of it; 0s means for ever.',
      ),
    },
    [perAddressRule],
  ),
  (_id, settings): ExtensionConfig => ({
    kind: 'cpid_query',
    settings: {
      ...settings.endpoint,
      allowedHosts: settings.allowed_hosts,
      maxConnections: settings.max_connections,
      writeTimeoutMs: settings.write_timeout,
      ...present({
        traceUrl: settings.trace_url,
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
        cors: buildCors(settings.cors),
        maxConnectionsPerAddress: settings.max_connections_per_address,
      }),
    },
  }),
)

/** Settings of an authenticator, as an extension among the others. */
export const asExtension = (type: ComponentType<AuthenticatorConfig>): ComponentType<ExtensionConfig> => ({
  schema: type.schema,
  read: (...given) => {
    const settings = type.read(...given)
    return settings && { kind: 'authenticator', settings }
  },
})
