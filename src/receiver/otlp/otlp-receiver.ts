import type { CorsSettings, ServerTlsSettings } from '../../model/connection-settings.ts'
import type { DeclaredListener } from '../../config/causeway-config.ts'
import { componentType } from '../../config/component-type.ts'
import {
  field,
  refusedKeys,
  section,
  type SettingsOf,
  switchedSection,
  UNSUPPORTED_COLLECTOR_KEY,
  withoutUndefined,
} from '../../config/schema.ts'
import { buildCors, buildServerTls, cors, serverAuth, serverTls } from '../../config/tls-auth-cors.ts'
import {
  choice,
  type Endpoint,
  LISTEN_ENDPOINT,
  size,
  URL_PATH,
  WAIT,
  wholeNumber,
} from '../../config/value-kinds.ts'
import { MIB } from '../../model/time-and-size.ts'
import { openServerTls } from '../../platform/tls.ts'
import type { ReceiverType } from '../receiver-type.ts'

/** When connections are closed, in milliseconds; 0 means never, except for `timeoutMs`. */
export interface GrpcKeepalive {
  /** After this long without a request. */
  maxConnectionIdleMs: number
  maxConnectionAgeMs: number
  maxConnectionAgeGraceMs: number
  /** How often a connection is pinged, and how long it has for the answer. */
  timeMs: number
  timeoutMs: number
}

const parameters = section('When connections are pinged and closed.', {
  max_connection_idle: field(
    WAIT,
    '15m',
    'A connection is closed when it has had no request for this long. `0s` means never.',
  ),
  max_connection_age: field(
    WAIT,
    '0s',
    'A connection is closed at this age, varied by up to a tenth, after its requests in progress have been answered. `0s` means never.',
  ),
  max_connection_age_grace: field(
    WAIT,
    '0s',
    'How long these last requests may take before the connection is closed anyway. `0s` means no limit.',
  ),
  time: field(WAIT, '2m', 'How often the receiver pings a connection. `0s` means never.'),
  timeout: field(WAIT, '20s', 'A connection is closed when a ping has not been answered within this time.'),
})

/** The keys are the Collector's, whose defaults are infinite except for the pings. */
const keepalive = section('How long connections are kept open.', {
  server_parameters: parameters,
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'enforcement_policy'),
})

function buildKeepalive({ server_parameters }: SettingsOf<typeof keepalive>): GrpcKeepalive {
  return {
    maxConnectionIdleMs: server_parameters.max_connection_idle,
    maxConnectionAgeMs: server_parameters.max_connection_age,
    maxConnectionAgeGraceMs: server_parameters.max_connection_age_grace,
    timeMs: server_parameters.time,
    timeoutMs: server_parameters.timeout,
  }
}

// gRPC counts message bytes in a signed 32-bit number.
const MAX_GRPC_MIB = 2047
// HTTP/2 numbers settings with 32 bits.
const MAX_STREAMS = 2 ** 32 - 1

const grpc = switchedSection('Serves OTLP over gRPC. It is off unless this key is written.', {
  endpoint: field(LISTEN_ENDPOINT, 'localhost:4317', 'The address and port to listen on.'),
  transport: field(choice(['tcp']), 'tcp', 'The transport protocol. Only `tcp` is supported.'),
  tls: serverTls,
  auth: serverAuth,
  max_recv_msg_size_mib: field(
    wholeNumber(1, MAX_GRPC_MIB),
    '64',
    'The largest request that is accepted, in MiB. The limit holds both before and after decompression.',
  ),
  max_concurrent_streams: field(
    wholeNumber(1, MAX_STREAMS),
    '100',
    'The number of requests that one connection may have in progress at a time. A sender waits with further requests.',
  ),
  keepalive,
  ...refusedKeys(
    UNSUPPORTED_COLLECTOR_KEY,
    'read_buffer_size',
    'write_buffer_size',
    'include_metadata',
    'middlewares',
  ),
})

type PathKey = 'traces_url_path' | 'logs_url_path' | 'metrics_url_path'

function samePaths(paths: Readonly<Record<PathKey, string>>, one: PathKey, other: PathKey) {
  if (paths[one] !== paths[other]) return undefined
  return { key: other, message: `is the same as ${one}, ${paths[other]}; write another path` }
}

const http = switchedSection(
  'Serves OTLP over HTTP, as protobuf and as JSON. It is off unless this key is written.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4318', 'The address and port to listen on.'),
    tls: serverTls,
    auth: serverAuth,
    max_request_body_size: field(
      size(1),
      '64MiB',
      'The largest request that is accepted. The limit holds both before and after decompression.',
    ),
    read_header_timeout: field(
      WAIT,
      '10s',
      'How long the headers of a request may take to arrive. `0s` means that only `read_timeout` limits them.',
    ),
    read_timeout: field(
      WAIT,
      '60s',
      'How long a whole request may take to arrive. A slower request is refused, and the sender may retry it. `0s` means no limit.',
    ),
    idle_timeout: field(
      WAIT,
      '75s',
      'How long a connection may be idle between two requests. `0s` means no limit.',
    ),
    write_timeout: field(
      WAIT,
      '30s',
      'How long an answer may wait while its client reads nothing of it. `0s` means no limit.',
    ),
    cors,
    traces_url_path: field(URL_PATH, '/v1/traces', 'The URL path at which traces are received.'),
    logs_url_path: field(URL_PATH, '/v1/logs', 'The URL path at which logs are received.'),
    metrics_url_path: field(URL_PATH, '/v1/metrics', 'The URL path at which metrics are received.'),
    ...refusedKeys('Causeway takes no profiles; remove it', 'profiles_url_path'),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'transport',
      'include_metadata',
      'response_headers',
      'compression_algorithms',
    ),
    ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'keep_alives_enabled', 'middlewares'),
  },
  [
    (settings) =>
      samePaths(settings, 'traces_url_path', 'logs_url_path') ??
      samePaths(settings, 'traces_url_path', 'metrics_url_path') ??
      samePaths(settings, 'logs_url_path', 'metrics_url_path'),
    ({ read_header_timeout, read_timeout }) =>
      read_timeout > 0 && read_header_timeout > read_timeout
        ? {
            key: 'read_header_timeout',
            message: 'is longer than read_timeout, which the headers are part of; write a shorter one',
          }
        : undefined,
  ],
)

const protocols = section(
  'The protocols that the receiver serves. At least one is required.',
  { grpc, http },
  [
    (settings) =>
      settings.grpc === undefined && settings.http === undefined
        ? {
            key: 'grpc',
            message: 'must specify at least one protocol when using the OTLP receiver; write grpc: or http:',
          }
        : undefined,
  ],
)

export interface OtlpReceiverSettings {
  grpc?: GrpcServerConfig
  http?: HttpServerConfig
}

interface ServerConfig extends Endpoint {
  tls?: ServerTlsSettings
  /** The id of an authenticator. */
  auth?: string
}

interface GrpcServerConfig extends ServerConfig {
  maxRecvMsgSizeBytes: number
  /** On one connection. */
  maxConcurrentStreams: number
  keepalive: GrpcKeepalive
}

interface HttpServerConfig extends ServerConfig {
  maxRequestBodyBytes: number
  /** For each of these times 0 means for ever. */
  headersTimeoutMs: number
  requestTimeoutMs: number
  idleTimeoutMs: number
  /** How long an answer may wait for its reader to take more of it. */
  writeTimeoutMs: number
  cors?: CorsSettings
  tracesUrlPath: string
  logsUrlPath: string
  metricsUrlPath: string
}

export const otlpReceiver: ReceiverType<OtlpReceiverSettings> = {
  ...componentType({
    name: 'otlp',
    schema: section('Receives traces, logs and mergelogs from controllers, and metrics of Pods.', {
      protocols,
    }),
    build: (settings): OtlpReceiverSettings =>
      withoutUndefined({
        grpc: buildGrpc(settings.protocols.grpc),
        http: buildHttp(settings.protocols.http),
      }),
  }),
  signals: ['traces', 'logs', 'metrics'],
  listeners: ({ grpc, http }) => [
    ...(grpc === undefined ? [] : [listenerOf(grpc, 'protocols::grpc', 'OTLP/gRPC')]),
    ...(http === undefined ? [] : [listenerOf(http, 'protocols::http', 'OTLP/HTTP')]),
  ],
  openFiles(id, { grpc, http }, onTrouble) {
    using opened = new DisposableStack()
    for (const tls of [grpc?.tls, http?.tls])
      if (tls !== undefined) opened.use(openServerTls(`receiver ${id}`, tls, onTrouble))
    return opened.move()
  },
  load: () => import('./start-otlp-receiver.ts'),
}

function listenerOf(server: ServerConfig, at: string, what: string): DeclaredListener {
  const { host, port, tls, auth } = server
  return {
    host,
    port,
    at,
    what,
    exposes: 'accepts spans and mergelogs from',
    ...withoutUndefined({ tls, auth }),
  }
}

function buildGrpc(settings: SettingsOf<typeof grpc>): GrpcServerConfig | undefined {
  return (
    settings && {
      ...settings.endpoint,
      maxRecvMsgSizeBytes: settings.max_recv_msg_size_mib * MIB,
      maxConcurrentStreams: settings.max_concurrent_streams,
      keepalive: buildKeepalive(settings.keepalive),
      ...withoutUndefined({
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
      }),
    }
  )
}

function buildHttp(settings: SettingsOf<typeof http>): HttpServerConfig | undefined {
  return (
    settings && {
      ...settings.endpoint,
      maxRequestBodyBytes: settings.max_request_body_size,
      headersTimeoutMs: settings.read_header_timeout,
      requestTimeoutMs: settings.read_timeout,
      idleTimeoutMs: settings.idle_timeout,
      writeTimeoutMs: settings.write_timeout,
      tracesUrlPath: settings.traces_url_path,
      logsUrlPath: settings.logs_url_path,
      metricsUrlPath: settings.metrics_url_path,
      ...withoutUndefined({
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
        cors: buildCors(settings.cors),
      }),
    }
  )
}
