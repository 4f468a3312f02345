/** The OTLP signals Causeway takes and sends. */
export const SIGNALS = ['traces', 'logs', 'metrics'] as const
export type Signal = (typeof SIGNALS)[number]

/** The items of each signal, as the metrics of the Collector name them. */
export const SIGNAL_UNITS = { traces: 'spans', logs: 'log_records', metrics: 'metric_points' } as const

/** The method of each signal's Export over gRPC. */
export const EXPORT_METHODS: Readonly<Record<Signal, string>> = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
}

/** Signals whose items become part of cascades; metrics are sent on as they came. */
export type LinkedSignal = Exclude<Signal, 'metrics'>

/**
 * Why a request must be retried: the process is short of memory, the requests in flight or those of its flow are over their limit,
 * or it took too long to arrive.
 */
type Shortage = 'memory' | 'in_flight' | 'flow' | 'time'

/**
 * What became of one OTLP export request.
 * - accepted: `stored` spans, log records or data points are durable (0 for a repeated request); `rejected` others were refused
 *   one by one and `message` says why. With `rejected` 0 a non-empty message is a warning, an empty one full success.
 * - malformed: the bytes are not an OTLP request; sending them again cannot help.
 * - tooLarge: over the size limit, before or after decompression; sending it again cannot help.
 * - busy: nothing was stored; the sender should try again after `retryAfterMs`. `cause` says what there was too little of.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); the sender should try again.
 */
export type IngestOutcome =
  | { kind: 'accepted'; stored: number; rejected: number; message: string }
  | { kind: 'malformed'; reason: string }
  | { kind: 'tooLarge'; reason: string }
  | { kind: 'busy'; retryAfterMs: number; reason: string; cause?: Shortage }
  | { kind: 'failed'; reason: string }

/**
 * The keys for fair queueing. Clients take turns, then the peers of a client (a credential or a connection), then the flows of
 * a peer. All connections of an address without a credential are one client.
 */
export interface RequestFlow {
  readonly client: string
  readonly peer: number
  readonly flow: number
}

/**
 * Takes one OTLP export request as uncompressed protobuf bytes. Resolves once everything accepted in it is
 * durable; never rejects. The same bytes again get the same answer and change nothing. The caller gives the bytes
 * away: afterwards the array may be empty. `sender` is set where the receiver has identified it.
 */
export interface IngestPort {
  ingest(signal: Signal, request: Uint8Array, sender?: Sender, from?: RequestFlow): Promise<IngestOutcome>
}

/** Who sent a request, as proved by the connection; what the request itself claims is not included. */
export interface Sender {
  /** The authenticator that knew the credential, by its id in the configuration, such as `basicauth/controllers`. */
  readonly authenticator?: string
  /** The user it logged in as; bearer tokens have none. */
  readonly username?: string
  /** The names in the client's certificate, each with its kind (`cn:web`): its common name, then its alternative names. */
  readonly certificate?: readonly string[]
}

const KIND = /^[a-z]+:/

/** How a sender is called in messages and rows. */
export function nameOfSender(sender: Sender | undefined): string {
  return (
    sender?.username ??
    sender?.certificate?.[0]?.replace(KIND, '') ??
    sender?.authenticator ??
    'an unknown sender'
  )
}

/** All that a sender proved of itself, to tell senders apart; undefined where the connection proves nothing. */
export function credentialOf({ authenticator, username, certificate }: Sender): string | undefined {
  const proven = [authenticator, username, certificate?.[0]].filter((part) => part !== undefined)
  return proven.length === 0 ? undefined : proven.join('/')
}

/** What senders may send. The first rule that fits a sender counts, else `otherwise`. */
export interface SenderPolicy {
  readonly rules: readonly SenderRule[]
  readonly otherwise: SenderGrants
}

export interface SenderRule {
  /** Patterns with `*`; all that are given have to fit. One for certificates has to fit one of the names, of the kind before
   * it: `dns:`, `uri:`, `cn:`, `email:` or `ip:`, and `dns:` where there is none.
   */
  readonly match: {
    readonly authenticator?: string
    readonly username?: string
    readonly certificate?: string
  }
  readonly grants: SenderGrants
}

/** Lists of patterns with `*`; a resource without a cluster has the empty name. */
export interface SenderGrants {
  readonly spans: boolean
  readonly logs: boolean
  readonly mergelogs: boolean
  readonly metrics: boolean
  /** Of which changes its spans may be: `own`, those of the cluster that they are of themselves. */
  readonly join: 'own' | 'any'
  /** For which `k8s.cluster.name` and which `service.name`. */
  readonly clusters: readonly string[]
  readonly services: readonly string[]
  /** Whose changes its mergelogs may name as sources. */
  readonly mergeFrom: {
    readonly clusters: readonly string[]
    readonly services: readonly string[]
    /** Also changes whose own mergelog has not arrived. */
    readonly unknown: boolean
  }
}
