import type { Signal } from '../model/ingest.ts'
import type { SenderPolicy } from '../model/sender-policy.ts'

/** What an operator configured, checked and with every default filled in: times in milliseconds, sizes in bytes. */
export interface CausewayConfig {
  /** Those that some incoming pipeline uses. */
  receivers: OtlpReceiverConfig[]
  cpid: CpidConfig
  /** Those that some outgoing pipeline uses. */
  exporters: ExporterConfig[]
  healthCheck?: HealthCheckConfig
  query?: QueryConfig
  memoryLimiter: MemoryLimiterConfig
  /** Those that are on; listeners and exporters name them by id. */
  authenticators: AuthenticatorConfig[]
  telemetry: TelemetryConfig
  pipelines: OutPipelines
}

/** Which exporters, by id, the linked traces, the logs and the cascade metrics go to; empty where nothing is sent. */
export interface OutPipelines {
  outTraces: string[]
  outLogs: string[]
  outMetrics: string[]
}

/** IPv6 hosts have no brackets; port 0 means any free port. */
export interface Listener {
  host: string
  port: number
}

export interface QueryConfig extends Listener {
  /** Where a trace can be seen; `{trace_id}` and `{span_id}` are filled in. */
  traceUrl?: string
}

/** How much memory the process may have: fixed, or a share of what there is. */
export interface MemoryLimiterConfig {
  checkIntervalMs: number
  /** Goes before the share. */
  limitMib?: number
  spikeLimitMib?: number
  limitPercentage: number
  spikeLimitPercentage?: number
}

export interface HealthCheckConfig extends Listener {
  path: string
}

export interface QueryConfig extends Listener {
  tls?: ServerTls
  auth?: string
  cors?: CorsConfig
  /** By which names it may be called besides its own, addresses and localhost. */
  allowedHosts: string[]
  maxConnections: number
  /** Of these, from one address; a quarter unless given. */
  maxConnectionsPerAddress?: number
  /** How long an answer may wait for its reader to take more of it; 0 means for ever. */
  writeTimeoutMs: number
}

/** Who is let in, or what is shown to backends. */
export type AuthenticatorConfig = BearerTokenConfig | BasicAuthConfig

export interface BearerTokenConfig {
  kind: 'bearertokenauth'
  id: string
  header: string
  /** Stands before the token; may be empty. */
  scheme: string
  tokens: string[]
  /** One token in a line, used instead of `tokens`. */
  filename?: string
}

/** One of both. */
export interface BasicAuthConfig {
  kind: 'basicauth'
  id: string
  htpasswd?: { file?: string; inline?: string }
  clientAuth?: { username?: string; usernameFile?: string; password?: string; passwordFile?: string }
}

/** How TLS is spoken; suites and curves by OpenSSL's names. */
export interface TlsProtocol {
  minVersion: 'TLSv1.2' | 'TLSv1.3'
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  cipherSuites: string[]
  curves: string[]
  /** How often the files are looked at; 0 is never. */
  reloadIntervalMs: number
}

/** One certificate and one key, each as a file or as PEM text. */
export interface ServerTls extends TlsProtocol {
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  /** Clients must show a certificate that this authority signed. */
  clientCaFile?: string
}

export interface ClientTls extends TlsProtocol {
  /** No TLS at all; already decided from the scheme of the endpoint. */
  insecure: boolean
  /** TLS without checking who answers. */
  insecureSkipVerify: boolean
  caFile?: string
  caPem?: string
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  serverNameOverride?: string
}

export interface GrpcServerConfig extends Listener {
  tls?: ServerTls
  /** The id of an authenticator. */
  auth?: string
  maxRecvMsgSizeBytes: number
  /** On one connection. */
  maxConcurrentStreams: number
  keepalive: GrpcKeepaliveConfig
}

/** For each of these but `timeoutMs` 0 means never. */
export interface GrpcKeepaliveConfig {
  maxConnectionIdleMs: number
  maxConnectionAgeMs: number
  maxConnectionAgeGraceMs: number
  timeMs: number
  timeoutMs: number
}

export interface HttpServerConfig extends Listener {
  tls?: ServerTls
  /** The id of an authenticator. */
  auth?: string
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

export interface CorsConfig {
  allowedOrigins: string[]
  allowedHeaders: string[]
  exposedHeaders: string[]
  /** 0 leaves it to the browser. */
  maxAgeSeconds: number
}

export interface OtlpReceiverConfig {
  id: string
  grpc?: GrpcServerConfig
  http?: HttpServerConfig
  /** The signals of the pipelines that use this receiver. */
  signals: Signal[]
}

export interface CpidConfig {
  id: string
  storage: { path: string }
  linking: LinkingConfig
  retention: RetentionConfig
  maxSources: number
  admission: AdmissionConfig
  metrics: CascadeMetricsConfig
  /** Who may send what; without it everybody may send everything. */
  senders?: SenderPolicy
}

/** How much is taken in at a time. */
export interface AdmissionConfig {
  maxInFlightBytes: number
  maxFlowRequests: number
  maxFlowBytes: number
  /** To each port. */
  maxConnections: number
  /** Of these, from one address; a quarter unless given. */
  maxConnectionsPerAddress?: number
  /** Over gRPC; 0 means for ever. */
  requestTimeoutMs: number
}

/** What the connector measures. */
export interface CascadeMetricsConfig {
  /** How often a metrics pipeline sends. */
  intervalMs: number
  /** Services and object kinds told apart at most. */
  maxSeries: number
}

export type LinkingMode = 'cascade' | 'links' | 'passthrough'

export interface LinkingConfig {
  mode: LinkingMode
  waitMs: number
  settleAfterMs: number
  maxOpenMs: number
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
}

/** For each of these 0 means off. */
export interface RetentionConfig {
  maxCpids: number
  maxAgeMs: number
  maxBytes: number
  intervalMs: number
}

export type ExporterConfig = OtlpGrpcExporterConfig | OtlpHttpExporterConfig | DebugExporterConfig

/** What both OTLP exporters have. */
export interface OtlpSending {
  tls: ClientTls
  /** The id of an authenticator. */
  auth?: string
  headers: Record<string, string>
  compression: 'gzip' | 'none'
  timeoutMs: number
  retry: RetryConfig
  queue: QueueConfig
}

export interface RetryConfig {
  enabled: boolean
  initialIntervalMs: number
  randomizationFactor: number
  multiplier: number
  maxIntervalMs: number
  /** 0 never gives up. */
  maxElapsedMs: number
}

export interface QueueConfig {
  consumers: number
  batchMaxSpans: number
}

export interface OtlpGrpcExporterConfig extends OtlpSending, Listener {
  id: string
  kind: 'otlp_grpc'
}

export interface OtlpHttpExporterConfig extends OtlpSending {
  id: string
  kind: 'otlp_http'
  /** There whenever a pipeline sends traces here. */
  tracesUrl?: string
  /** There whenever a pipeline sends logs here. */
  logsUrl?: string
  /** There whenever a pipeline sends metrics here. */
  metricsUrl?: string
  encoding: 'proto' | 'json'
}

export interface DebugExporterConfig {
  id: string
  kind: 'debug'
  verbosity: 'basic' | 'normal' | 'detailed'
}

export interface TelemetryConfig {
  logLevel: 'debug' | 'info' | 'warn' | 'error'
  logEncoding: 'console' | 'json'
  /** Undefined when the level is none or no reader is listed. */
  metrics: TelemetryMetricsConfig | undefined
}

export interface TelemetryMetricsConfig extends Listener {
  level: 'basic' | 'normal' | 'detailed'
}
