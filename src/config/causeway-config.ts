import type { ServerTlsSettings } from '../model/connection-settings.ts'
import type { FieldValues, RelationSettings } from '../model/kubernetes-objects.ts'
import type { LinkSettings } from '../model/linker-settings-and-metrics.ts'
import type { SenderPolicy, Signal } from '../model/otlp-requests.ts'
import type { Endpoint } from './value-kinds.ts'

/** The validated configuration with all defaults. Times are in milliseconds, sizes in bytes. */
export interface CausewayConfig {
  /** The receivers of `in` pipelines. */
  receivers: ReceiverConfig[]
  cpid: CpidConfig
  /** The exporters of `out` pipelines. */
  exporters: ExporterConfig[]
  /** The active extensions, including those that are on by default. */
  extensions: ExtensionConfig[]
  telemetry: TelemetryConfig
  pipelines: OutPipelines
}

export interface ComponentConfig {
  id: string
  /** The current name of the component type. */
  type: string
  /** The settings, in the form that its type defines. */
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
  /** Where each signal goes that a pipeline sends to it. */
  destinations: Partial<Record<Signal, Destination>>
  sending: SendingConfig
  isArchive?: true
}

export interface DeclaredListener extends Endpoint {
  /** The path of its keys within the component, such as `protocols::grpc`; '' for the component itself. */
  at?: string
  /** What listens, in two words. */
  what: string
  tls?: ServerTlsSettings
  /** The id of an authenticator. */
  auth?: string
  /** What a client can do that connects, such as `shows everything that is stored to`; absent if that is harmless. */
  exposes?: string
  /** The limit of connections; absent for receivers (the connector limits those) and where a small default applies. */
  connections?: ConnectionsConfig
  /** The path of its health page, and the status code when healthy. */
  page?: { path: string; status: number }
}

export interface ConfiguredListener extends Omit<DeclaredListener, 'at'> {
  /** The path of its keys, such as `receivers::otlp::protocols::grpc`. */
  path: string
}

export interface ConnectionsConfig {
  maxConnections: number
  /** The most connections from one address; a quarter of all by default. */
  maxConnectionsPerAddress?: number
}

/**
 * Where an exporter sends a signal.
 * - here: within this process; `does` says what happens to it.
 * - backend: to a server. `where` is the configured address, `speaks` the protocol, `isPlain`: without TLS.
 */
export type Destination =
  | { kind: 'here'; does: string }
  | { kind: 'backend'; host: string; port: number; where: string; speaks: string; isPlain: boolean }

/** How the outbox is sent to an exporter. */
export interface SendingConfig {
  /** The most spans or log records in a request. */
  batchMaxItems: number
  /** How many requests may be in flight. */
  consumers: number
  /** Absent: failed requests are not retried. */
  retry?: RetryConfig
}

/** The `retry_on_failure` settings of an exporter, with times in milliseconds. */
export interface RetryConfig {
  enabled: boolean
  initialIntervalMs: number
  /** The jitter: each delay is multiplied by a random number from 1 - factor to 1 + factor. */
  randomizationFactor: number
  multiplier: number
  maxIntervalMs: number
  /** When to give up a batch, counted from its first attempt; 0 is never. */
  maxElapsedMs: number
}

/** The ids of the exporters for linked traces, logs, cascade metrics, and forwarded metrics; empty if nothing is sent. */
interface OutPipelines {
  outTraces: string[]
  outLogs: string[]
  outMetrics: string[]
  forwardedMetrics: string[]
}

/** The ids of the exporters that read the outbox of each signal, and of those that are archives. */
export function exporterIdsOf({ exporters, pipelines }: CausewayConfig): {
  exporters: Record<Signal, string[]>
  archives: string[]
} {
  const archives = exporters.flatMap(({ id, isArchive }) => (isArchive === true ? [id] : []))
  const drained = (ids: readonly string[]): string[] => ids.filter((id) => !archives.includes(id))
  const { outTraces, outLogs, forwardedMetrics } = pipelines
  const sent = { traces: drained(outTraces), logs: drained(outLogs), metrics: drained(forwardedMetrics) }
  return { exporters: sent, archives }
}

export interface CpidConfig extends ConnectorSettings {
  id: string
}

/** The settings of the `cpid` connector. */
export interface ConnectorSettings {
  storage: { path: string }
  linking: LinkSettings
  retention: RetentionConfig
  maxSources: number
  /** Whether spans of API servers' filters are kept. */
  keepsFilters: boolean
  admission: AdmissionConfig
  metrics: CascadeMetricsConfig
  inference: InferenceConfig
  /** The permissions of senders; absent, every sender may send everything. */
  senders?: SenderPolicy
}

export interface InferenceConfig {
  whoWaitMs: number
  tellingWaitMs: number
  windowMs: number
  operators: readonly string[]
  controllers: readonly string[]
  /** Which field values are stored, so that answers can show what a write changed. */
  fieldValues: FieldValues
  /** Which objects the writes of custom resources follow from. */
  relations: readonly RelationSettings[]
}

/** The limits on what receivers accept at the same time. */
export interface AdmissionConfig extends ConnectionsConfig {
  maxInFlightBytes: number
  maxFlowRequests: number
  maxFlowBytes: number
  /** The time limit of a gRPC request; 0 is none. */
  requestTimeoutMs: number
}

interface CascadeMetricsConfig {
  /** The interval at which metrics are sent. */
  intervalMs: number
  /** The most services and object kinds with series of their own. */
  maxSeries: number
}

/** Retention limits; 0 turns one off. */
export interface RetentionConfig {
  maxCpids: number
  maxAgeMs: number
  maxBytes: number
  intervalMs: number
}

export interface TelemetryConfig {
  logLevel: 'debug' | 'info' | 'warn' | 'error'
  logEncoding: 'console' | 'json'
  /** Undefined if the level is `none` or there is no reader. */
  metrics: TelemetryMetricsConfig | undefined
}

interface TelemetryMetricsConfig extends Endpoint {
  level: 'basic' | 'normal' | 'detailed'
}
