import type { ServerTlsSettings } from '../model/connection-settings.ts'
import type { FieldValues, RelationSettings } from '../model/kubernetes-objects.ts'
import type { LinkSettings } from '../model/linker-settings-and-metrics.ts'
import type { SenderPolicy, Signal } from '../model/otlp-requests.ts'
import type { Endpoint } from './value-kinds.ts'

/** The checked configuration with all defaults: times in milliseconds, sizes in bytes. */
export interface CausewayConfig {
  /** Receivers of incoming pipelines. */
  receivers: ReceiverConfig[]
  cpid: CpidConfig
  /** Exporters of outgoing pipelines. */
  exporters: ExporterConfig[]
  /** Extensions that are on, those that are on by default included. */
  extensions: ExtensionConfig[]
  telemetry: TelemetryConfig
  pipelines: OutPipelines
}

export interface ComponentConfig {
  id: string
  /** The current name of its type. */
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
  destinations: Partial<Record<Signal, Destination>>
  sending: SendingConfig
  isArchive?: true
}

export interface DeclaredListener extends Endpoint {
  /** The path of its keys below the component, such as `protocols::grpc`; empty for the component itself. */
  at?: string
  /** What listens there, in two words. */
  what: string
  tls?: ServerTlsSettings
  /** The id of an authenticator. */
  auth?: string
  /** What a client that connects can do, as in `shows all that is kept to`; absent if that is harmless. */
  exposes?: string
  /** The most connections; the connector limits those of receivers, others have a small default. */
  connections?: ConnectionsConfig
  /** The page of its health, and its status when well. */
  page?: { path: string; status: number }
}

export interface ConfiguredListener extends Omit<DeclaredListener, 'at'> {
  /** Where its keys stand, such as `receivers::otlp::protocols::grpc`. */
  path: string
}

export interface ConnectionsConfig {
  maxConnections: number
  /** The most from one address; a quarter by default. */
  maxConnectionsPerAddress?: number
}

/**
 * Where an exporter sends a signal.
 * - here: it stays in this process; `does` says what happens to it.
 * - backend: to a server and its protocol; `where` is the configured address, `isPlain` says that there is no TLS.
 */
export type Destination =
  | { kind: 'here'; does: string }
  | { kind: 'backend'; host: string; port: number; where: string; speaks: string; isPlain: boolean }

/** How the outbox is sent to an exporter. */
export interface SendingConfig {
  /** Spans or log records in a request at most. */
  batchMaxItems: number
  /** Requests in flight at once. */
  consumers: number
  /** Absent: no retries. */
  retry?: RetryConfig
}

/** The `retry_on_failure` settings of an exporter, all times in milliseconds. */
export interface RetryConfig {
  enabled: boolean
  initialIntervalMs: number
  /** Spreads each delay over [1 - factor, 1 + factor] times the interval. */
  randomizationFactor: number
  multiplier: number
  maxIntervalMs: number
  /** When to give a batch up, counted from its first attempt; 0 means never. */
  maxElapsedMs: number
}

/** Which exporters, by id, linked traces, logs, cascade metrics, and metrics that came in go to; empty where nothing is sent. */
interface OutPipelines {
  outTraces: string[]
  outLogs: string[]
  outMetrics: string[]
  forwardedMetrics: string[]
}

/** The exporters, by id, that have the outbox of a signal drained for them, and those that are archives. */
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
  /** Spans of API servers' filters are kept. */
  keepsFilters: boolean
  admission: AdmissionConfig
  metrics: CascadeMetricsConfig
  inference: InferenceConfig
  /** Who may send what; absent, everybody may send everything. */
  senders?: SenderPolicy
}

export interface InferenceConfig {
  whoWaitMs: number
  tellingWaitMs: number
  windowMs: number
  operators: readonly string[]
  controllers: readonly string[]
  /** Which values of fields are kept, so that answers show what a write changed. */
  fieldValues: FieldValues
  /** What writes of custom resources follow from. */
  relations: readonly RelationSettings[]
}

/** The limits on what receivers take at a time. */
export interface AdmissionConfig extends ConnectionsConfig {
  maxInFlightBytes: number
  maxFlowRequests: number
  maxFlowBytes: number
  /** Over gRPC; 0 means forever. */
  requestTimeoutMs: number
}

interface CascadeMetricsConfig {
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

interface TelemetryMetricsConfig extends Endpoint {
  level: 'basic' | 'normal' | 'detailed'
}
