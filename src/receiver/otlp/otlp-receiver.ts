import type { SettingsOf } from '../../config/schema/schema.ts'
import type { CorsConfig, DeclaredListener, Listener, ServerTls } from '../../config/causeway-config.ts'
import { componentType } from '../../config/component-type.ts'
import { DURATION } from '../../config/schema/duration.ts'
import { LISTEN_ENDPOINT } from '../../config/schema/endpoint.ts'
import { field, UNSUPPORTED_COLLECTOR_KEY, refusedKeys } from '../../config/schema/field.ts'
import { choice, wholeNumber } from '../../config/schema/scalar-kinds.ts'
import { section, switchedSection } from '../../config/schema/section.ts'
import { size } from '../../config/schema/size.ts'
import { serverAuth } from '../../config/parts/auth.ts'
import { buildCors, cors } from '../../config/parts/cors.ts'
import { openServerTls } from '../../trust/server-tls.ts'
import type { ReceiverType } from '../receiver-type.ts'
import { buildKeepalive, keepalive, type GrpcKeepaliveConfig } from './grpc/keepalive.ts'
import { present } from '../../config/parts/present.ts'
import { buildServerTls, serverTls } from '../../config/parts/tls/server-tls.ts'
import { URL_PATH } from '../../config/parts/url-kinds.ts'
import { MIB } from '../../model/sizes.ts'

// gRPC counts message bytes in a signed 32-bit number.
const MAX_GRPC_MIB = 2047
// HTTP/2 numbers settings with 32 bits.
const MAX_STREAMS = 2 ** 32 - 1

const grpc = switchedSection('OTLP over gRPC. Off unless named.', {
  endpoint: field(LISTEN_ENDPOINT, 'localhost:4317', 'Where to listen.'),
  transport: field(choice(['tcp']), 'tcp', 'Always TCP.'),
  tls: serverTls,
  auth: serverAuth,
  max_recv_msg_size_mib: field(
    wholeNumber(1, MAX_GRPC_MIB),
    '64',
    'Largest request in MiB, before and after decompression.',
  ),
  max_concurrent_streams: field(
    wholeNumber(1, MAX_STREAMS),
    '100',
    'Most requests at a time on one connection; a sender holds further ones back.',
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

const http = switchedSection(
  'OTLP over HTTP, protobuf and JSON. Off unless named.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4318', 'Where to listen.'),
    tls: serverTls,
    auth: serverAuth,
    max_request_body_size: field(size(1), '64MiB', 'Largest request, before and after decompression.'),
    read_header_timeout: field(
      DURATION,
      '10s',
      'How long the headers may take to arrive; 0s means as long as the whole request.',
    ),
    read_timeout: field(
      DURATION,
      '60s',
      'How long a whole request may take to arrive, or it is refused for now; 0s means for ever.',
    ),
    idle_timeout: field(
      DURATION,
      '75s',
      'How long a connection may rest between requests; 0s means for ever.',
    ),
    write_timeout: field(
      DURATION,
      '30s',
      'How long an answer may wait for its reader to take more of it; 0s means for ever.',
    ),
    cors,
    traces_url_path: field(URL_PATH, '/v1/traces', 'Path that takes traces.'),
    logs_url_path: field(URL_PATH, '/v1/logs', 'Path that takes logs.'),
    ...refusedKeys('Causeway takes traces and logs; remove it', 'metrics_url_path', 'profiles_url_path'),
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
    ({ traces_url_path, logs_url_path }) =>
      traces_url_path === logs_url_path
        ? {
            key: 'logs_url_path',
            message: `is the same as traces_url_path, ${logs_url_path}; write another path`,
          }
        : undefined,
    ({ read_header_timeout, read_timeout }) =>
      read_timeout > 0 && read_header_timeout > read_timeout
        ? {
            key: 'read_header_timeout',
            message: 'is longer than read_timeout, which the headers are part of; write a shorter one',
          }
        : undefined,
  ],
)

const protocols = section('Which protocols to serve; at least one.', { grpc, http }, [
  (settings) =>
    settings.grpc === undefined && settings.http === undefined
      ? {
          key: 'grpc',
          message: 'must specify at least one protocol when using the OTLP receiver; write grpc: or http:',
        }
      : undefined,
])

export interface OtlpReceiverSettings {
  grpc?: GrpcServerConfig
  http?: HttpServerConfig
}

interface ServerConfig extends Listener {
  tls?: ServerTls
  /** The id of an authenticator. */
  auth?: string
}

export interface GrpcServerConfig extends ServerConfig {
  maxRecvMsgSizeBytes: number
  /** On one connection. */
  maxConcurrentStreams: number
  keepalive: GrpcKeepaliveConfig
}

export interface HttpServerConfig extends ServerConfig {
  maxRequestBodyBytes: number
  /** For each of these times 0 means for ever. */
  headersTimeoutMs: number
  requestTimeoutMs: number
  idleTimeoutMs: number
  /** How long an answer may wait for its reader to take more of it. */
  writeTimeoutMs: number
  cors?: CorsConfig
  tracesUrlPath: string
  logsUrlPath: string
}

export const otlpReceiver: ReceiverType<OtlpReceiverSettings> = {
  ...componentType({
    name: 'otlp',
    schema: section('Takes traces, logs and mergelogs from controllers.', { protocols }),
    build: (settings): OtlpReceiverSettings =>
      present({ grpc: buildGrpc(settings.protocols.grpc), http: buildHttp(settings.protocols.http) }),
  }),
  signals: ['traces', 'logs'],
  listeners: ({ grpc, http }) => [
    ...(grpc === undefined ? [] : [listenerOf(grpc, 'protocols::grpc', 'OTLP/gRPC')]),
    ...(http === undefined ? [] : [listenerOf(http, 'protocols::http', 'OTLP/HTTP')]),
  ],
  openFiles(id, { grpc, http }) {
    using opened = new DisposableStack()
    for (const tls of [grpc?.tls, http?.tls])
      if (tls !== undefined) opened.use(openServerTls(`receiver ${id}`, tls))
    return opened.move()
  },
  load: () => import('./start-otlp-receiver.ts'),
}

function listenerOf(server: ServerConfig, at: string, what: string): DeclaredListener {
  const { host, port, tls, auth } = server
  return { host, port, at, what, exposes: 'takes spans and mergelogs from', ...present({ tls, auth }) }
}

function buildGrpc(settings: SettingsOf<typeof grpc>): GrpcServerConfig | undefined {
  return (
    settings && {
      ...settings.endpoint,
      maxRecvMsgSizeBytes: settings.max_recv_msg_size_mib * MIB,
      maxConcurrentStreams: settings.max_concurrent_streams,
      keepalive: buildKeepalive(settings.keepalive),
      ...present({
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
      ...present({
        tls: buildServerTls(settings.tls),
        auth: settings.auth?.authenticator,
        cors: buildCors(settings.cors),
      }),
    }
  )
}
