import type { RelationSettings } from '../model/kubernetes-objects.ts'
import type { LinkSettings } from '../model/linker-settings-and-metrics.ts'
import type { SenderPolicy, SentSignal, Signal } from '../model/otlp-requests.ts'

/** What an operator configured, checked and with every default filled in: times in milliseconds, sizes in bytes. */
export interface CausewayConfig {
  /** Those that some incoming pipeline uses. */
  receivers: ReceiverConfig[]
  cpid: CpidConfig
  /** Those that some outgoing pipeline uses. */
  exporters: ExporterConfig[]
  /** Those that are on, and those that are at work without being named. */
  extensions: ExtensionConfig[]
  telemetry: TelemetryConfig
  pipelines: OutPipelines
}

/** One component of the configuration. */
export interface ComponentConfig {
  id: string
  /** The name of its type, not an older one. */
  type: string
  /** As its type reads them. */
  settings: unknown
}

export interface ReceiverConfig extends ComponentConfig {
  listeners: ConfiguredListener[]
  /** The signals of the pipelines that use it. */
  signals: Signal[]
}

export interface ExtensionConfig extends ComponentConfig {
  listeners: ConfiguredListener[]
}

export interface ExporterConfig extends ComponentConfig {
  /** The id of an authenticator. */
  auth?: string
  /** Where it sends the signals that pipelines send to it. */
  destinations: Partial<Record<SentSignal, Destination>>
  sending: SendingConfig
  isArchive?: true
}

/** An address that a component takes, as far as others have to know. */
export interface DeclaredListener extends Listener {
  /** Where its keys stand below the component, such as `protocols::grpc`; nothing where they are its own. */
  at?: string
  /** What listens there, in two words. */
  what: string
  tls?: ServerTls
  /** The id of an authenticator. */
  auth?: string
  /** What somebody who may connect can do, as in `shows all that is kept to`; left out where that harms nobody. */
  exposes?: string
  /** The most connections; those to a receiver are limited by the connector, others to a few unless given. */
  connections?: ConnectionsConfig
  /** A page that tells whether it is well, and with which status it answers then. */
  page?: { path: string; status: number }
}

export interface ConfiguredListener extends Omit<DeclaredListener, 'at'> {
  /** Where its keys stand, such as `receivers::otlp::protocols::grpc`. */
  path: string
}

export interface ConnectionsConfig {
  maxConnections: number
  /** Of these, from one address; a quarter unless given. */
  maxConnectionsPerAddress?: number
}

/**
 * Where an exporter sends a signal.
 * - here: nowhere outside this process; `does` says what becomes of it.
 * - backend: to a server, in what it speaks; `where` is how the address is written, `isPlain` says that there is no TLS.
 */
export type Destination =
  | { kind: 'here'; does: string }
  | { kind: 'backend'; host: string; port: number; where: string; speaks: string; isPlain: boolean }

/** How the outbox is sent to an exporter. */
export interface SendingConfig {
  /** Spans or log records in a request at most. */
  batchMaxItems: number
  /** Requests on their way at once. */
  consumers: number
  /** Without it nothing is tried again. */
  retry?: RetryConfig
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

/** Which exporters, by id, the linked traces, the logs and the cascade metrics go to; empty where nothing is sent. */
export interface OutPipelines {
  outTraces: string[]
  outLogs: string[]
  outMetrics: string[]
}

/** The exporters, by id, that have the outbox of a signal drained for them, and those that are archives. */
export function sentTo({ exporters, pipelines: { outTraces, outLogs } }: CausewayConfig): {
  exporters: Record<Signal, string[]>
  archives: string[]
} {
  const archives = exporters.flatMap(({ id, isArchive }) => (isArchive === true ? [id] : []))
  const drained = (ids: readonly string[]): string[] => ids.filter((id) => !archives.includes(id))
  return { exporters: { traces: drained(outTraces), logs: drained(outLogs) }, archives }
}

/** IPv6 hosts have no brackets; port 0 means any free port. */
export interface Listener {
  host: string
  port: number
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

export interface CorsConfig {
  allowedOrigins: string[]
  allowedHeaders: string[]
  exposedHeaders: string[]
  /** 0 leaves it to the browser. */
  maxAgeSeconds: number
}

export interface CpidConfig extends ConnectorSettings {
  id: string
}

/** What the connector says of the merge graph and of everything that leads through it. */
export interface ConnectorSettings {
  storage: { path: string }
  linking: LinkSettings
  retention: RetentionConfig
  maxSources: number
  /** Spans of API servers' filters are kept. */
  keepsFilters: boolean
  admission: AdmissionConfig
  metrics: CascadeMetricsConfig
  inference: InferenceConfig
  /** Who may send what; without it everybody may send everything. */
  senders?: SenderPolicy
}

/** How is worked out what caused the writes of observed clusters. */
export interface InferenceConfig {
  whoWaitMs: number
  windowMs: number
  operators: readonly string[]
  controllers: readonly string[]
  /** What writes of custom resources follow from. */
  relations: readonly RelationSettings[]
}

/** How much is taken in at a time. */
export interface AdmissionConfig extends ConnectionsConfig {
  maxInFlightBytes: number
  maxFlowRequests: number
  maxFlowBytes: number
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

/** For each of these 0 means off. */
export interface RetentionConfig {
  maxCpids: number
  maxAgeMs: number
  maxBytes: number
  intervalMs: number
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
