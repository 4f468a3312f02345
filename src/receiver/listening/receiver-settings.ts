import type { Signal } from '../../model/ingest.ts'
import type { ConnectionLimits } from '../../listeners/connections.ts'
import type { Authenticator } from '../../trust/authenticator.ts'
import type { ServerTlsSettings } from '../../trust/server-tls.ts'
import type { Flows } from '../admission/flows.ts'
import type { InFlight } from '../admission/in-flight.ts'
import { MIB } from '../../model/sizes.ts'

/** The size limit the OTLP specification recommends, in bytes, before and after decompression. */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * MIB

/** How long requests in flight may go on after shutdown begins, in milliseconds. */
export const DEFAULT_SHUTDOWN_GRACE_MS = 5000

export const DEFAULT_MAX_CONNECTIONS = 1024

export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000

/** How long the first bytes of a protocol may take to arrive, in milliseconds. */
export const FIRST_BYTES_MS = 10_000

/** Where a receiver listens, and for whom. */
export interface ListenerSettings {
  /** The receiver's id in the configuration, such as `otlp/2`. */
  receiver: string
  /** Name or address; a name that has several addresses is bound at its first IPv4 one, as the Collector does. */
  host: string
  /** 0 takes any free port. */
  port: number
  /** So many may have a request under way; 1024 unless given. */
  maxConnections?: number
  /** So many of one address, for IPv6 of one /64; as many as there may be unless given. */
  maxConnectionsPerAddress?: number
  /** Within how many milliseconds a connection must have spoken, and shown its credential where one is asked for; 10 s unless given. */
  firstBytesMs?: number
  /** How long a request may take to arrive, in milliseconds; a minute unless given, 0 is for ever. */
  requestTimeoutMs?: number
  shutdownGraceMs?: number
  tls?: ServerTlsSettings
  /** Whoever it does not know is turned away; the receiver does not dispose of it. */
  authenticator?: Authenticator
  /** Told of what the sender cannot be told: certificates that cannot be read again, handshakes that failed. */
  onTrouble?: (reason: string) => void
}

/** What the gRPC and the HTTP receiver share. */
export interface ReceiverSettings extends ListenerSettings {
  /** The signals of the pipelines this receiver feeds; others are answered as unknown. */
  signals: readonly Signal[]
  inFlight: InFlight
  /** Shared by all receivers, as the budget is; one of its own unless given. */
  flows?: Flows
  /** Tells when memory is short; it never is unless given. */
  memory?: { readonly isRefusing: boolean }
  /** From 0 to 1; spreads the delays after which senders come again. */
  chance?: () => number
  maxMessageBytes?: number
  /** In so many milliseconds a kilobyte of a body has to come; 10 s unless given. */
  bodyPaceMs?: number
}

/**
 * A receiver that is listening. Disposing stops accepting and lets requests in flight finish within the grace
 * period; those that do not are answered as failed, so that their senders try again. It is safe twice.
 */
export interface RunningReceiver extends AsyncDisposable {
  /** The port it is bound to. */
  readonly port: number
  /** How many connections are open now. */
  readonly connections: number
}

const RAISE =
  'behind a proxy or NAT, raise connectors::cpid::admission::max_connections_per_address, and max_connections with it'

/** How many connections a receiver has, and how long without a credential where one is asked for. */
export function connectionLimitsOf(settings: ListenerSettings): ConnectionLimits {
  const { maxConnections: max = DEFAULT_MAX_CONNECTIONS, maxConnectionsPerAddress, firstBytesMs } = settings
  const asksForCredential = settings.authenticator !== undefined || settings.tls?.clientCaFile !== undefined
  return {
    max,
    ...(maxConnectionsPerAddress !== undefined && { maxPerAddress: maxConnectionsPerAddress }),
    ...(asksForCredential && { credentialWithinMs: firstBytesMs ?? FIRST_BYTES_MS }),
    advice: RAISE,
  }
}
