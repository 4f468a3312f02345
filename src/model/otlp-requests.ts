/** The OTLP signals that Causeway receives and sends. */
export const SIGNALS = ['traces', 'logs', 'metrics'] as const
export type Signal = (typeof SIGNALS)[number]

/** The items of each signal, as the Collector's metrics name them. */
export const SIGNAL_UNITS = { traces: 'spans', logs: 'log_records', metrics: 'metric_points' } as const

/** The gRPC method that exports each signal. */
export const EXPORT_METHODS: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
}

/** Signals whose items become part of cascades. Metrics are forwarded unchanged. */
export type LinkedSignal = Exclude<Signal, 'metrics'>

/** Why a request has to be retried: too little memory, too many requests in flight (in total, or of its flow), or too slow an arrival. */
type Shortage = 'memory' | 'in_flight' | 'flow' | 'time'

/**
 * The outcome of an OTLP export request.
 * - accepted: `stored` spans, log records or data points are durable (0 for a repeated request); `rejected` others were refused one by one,
 *   and `message` says why. With `rejected` 0, a message is a warning, and '' means full success.
 * - malformed: the bytes are not an OTLP request; do not retry.
 * - tooLarge: over the size limit, before or after decompression; do not retry.
 * - busy: nothing was stored; retry after `retryAfterMs`. `cause` says what was short.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); retry.
 */
export type IngestOutcome =
  | { kind: 'accepted'; stored: number; rejected: number; message: string }
  | { kind: 'malformed'; reason: string }
  | { kind: 'tooLarge'; reason: string }
  | { kind: 'busy'; retryAfterMs: number; reason: string; cause?: Shortage }
  | { kind: 'failed'; reason: string }

/**
 * The keys for fair queueing. Turns alternate between clients, within a client between its peers (a credential or a connection), and within
 * a peer between its flows. All connections of an address without a credential are one client.
 */
export interface RequestFlow {
  readonly client: string
  readonly peer: number
  readonly flow: number
}

/**
 * Takes an OTLP export request as uncompressed protobuf. Resolves once everything accepted is durable; never rejects. A repetition of the
 * same bytes gets the same answer and changes nothing. The bytes are transferred: the array may be empty afterwards. `sender` is set if the
 * receiver has identified the sender.
 */
export interface IngestPort {
  ingest(signal: Signal, request: Uint8Array, sender?: Sender, from?: RequestFlow): Promise<IngestOutcome>
}

/** The identity of a sender as the connection proved it; without claims of the request itself. */
export interface Sender {
  /** The id of the authenticator that accepted the credential, such as `basicauth/controllers`. */
  readonly authenticator?: string
  /** The user name; undefined for bearer tokens. */
  readonly username?: string
  /** The names in the client's certificate, each with its kind (`cn:web`): the common name, then the alternative names. */
  readonly certificate?: readonly string[]
}

const KIND = /^[a-z]+:/

/** The name of a sender in messages and rows. */
export function nameOfSender(sender: Sender | undefined): string {
  return (
    sender?.username ??
    sender?.certificate?.[0]?.replace(KIND, '') ??
    sender?.authenticator ??
    'an unknown sender'
  )
}

/** The identity of a sender as one string; undefined if the connection proves nothing. */
export function credentialOf({ authenticator, username, certificate }: Sender): string | undefined {
  const proven = [authenticator, username, certificate?.[0]].filter((part) => part !== undefined)
  return proven.length === 0 ? undefined : proven.join('/')
}

/** What senders may send. The first rule that matches a sender applies, or else `otherwise`. */
export interface SenderPolicy {
  readonly rules: readonly SenderRule[]
  readonly otherwise: SenderGrants
}

export interface SenderRule {
  /**
   * Patterns with `*`; all that are given have to match. A pattern for certificates matches one of the names of its kind: `dns:`, `uri:`,
   * `cn:`, `email:` or `ip:`; without a prefix, `dns:`.
   */
  readonly match: {
    readonly authenticator?: string
    readonly username?: string
    readonly certificate?: string
  }
  readonly grants: SenderGrants
}

/** Lists of patterns with `*`. A resource without a cluster has the name ''. */
export interface SenderGrants {
  readonly spans: boolean
  readonly logs: boolean
  readonly mergelogs: boolean
  readonly metrics: boolean
  /** Which changes its spans may join: those of every cluster, or only those of their own. */
  readonly join: 'own' | 'any'
  /** The `k8s.cluster.name` and `service.name` of the resources it may send. */
  readonly clusters: readonly string[]
  readonly services: readonly string[]
  /** Owners of the changes that its mergelogs may name as sources. */
  readonly mergeFrom: {
    readonly clusters: readonly string[]
    readonly services: readonly string[]
    /** Whether changes without a mergelog are allowed too. */
    readonly unknown: boolean
  }
}
