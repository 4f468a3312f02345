import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { ServerTlsSettings } from '../model/connection-settings.ts'
import { ownValue } from '../model/untrusted-names.ts'
import type { Signal } from '../model/otlp-requests.ts'
import { MIB } from '../model/time-and-size.ts'
import type { ConnectionLimits, Connections } from '../platform/connections.ts'
import type { Authenticator } from '../platform/credentials.ts'
import type { ListenPurpose } from '../platform/http-listener.ts'
import type { Flows } from './flows.ts'
import type { InFlight } from './in-flight.ts'

/** The size limit the OTLP specification recommends, in bytes, before and after decompression. */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 * MIB

/** How long requests in flight may go on after shutdown begins, in milliseconds. */
const DEFAULT_SHUTDOWN_GRACE_MS = 5000

const DEFAULT_MAX_CONNECTIONS = 1024

export const DEFAULT_REQUEST_TIMEOUT_MS = 60_000

/** How long the first bytes of a protocol may take to arrive, in milliseconds. */
export const FIRST_BYTES_MS = 10_000

/** Where a receiver listens, and its limits. */
export interface ListenerSettings {
  /** The receiver's id in the configuration, such as `otlp/2`. */
  receiver: string
  /** Name or address; a name that has several addresses is bound at its first IPv4 one, as the Collector does. */
  host: string
  /** 0 takes any free port. */
  port: number
  /** Most connections with a request in flight; 1024 unless given. */
  maxConnections?: number
  /** The same of one address, for IPv6 of one /64; no limit of its own unless given. */
  maxConnectionsPerAddress?: number
  /** How many milliseconds a connection has for its first bytes, and for its credential if auth is on; 10 s unless given. */
  firstBytesMs?: number
  /** How long a request may take to arrive, in milliseconds; a minute unless given, 0 for no limit. */
  requestTimeoutMs?: number
  shutdownGraceMs?: number
  tls?: ServerTlsSettings
  /** Checks credentials; requests without a valid one are refused. The receiver does not dispose of it. */
  authenticator?: Authenticator
  /** Called with what an operator should know: certificates that cannot be reloaded, handshakes that failed. */
  onTrouble?: (reason: string) => void
}

/** The settings that the gRPC and the HTTP receiver share. */
export interface ReceiverSettings extends ListenerSettings {
  /** The signals of the pipelines this receiver feeds; others are answered as unknown. */
  signals: readonly Signal[]
  inFlight: InFlight
  /** Shared by all receivers, as the budget is; its own unless given. */
  flows?: Flows
  /** Whether memory is short; never unless given. */
  memory?: { readonly isRefusing: boolean }
  /** A random number from 0 to 1; spreads retry delays. */
  chance?: () => number
  maxMessageBytes?: number
  /** A body must deliver a kilobyte within this many milliseconds; 10 s unless given. */
  bodyPaceMs?: number
}

/**
 * A receiver that is listening. Disposing stops accepting and lets requests in flight finish within the grace
 * period; those that do not are answered as failed, so that their senders try again. It is safe twice.
 */
export interface RunningListener extends AsyncDisposable {
  /** The port it is bound to. */
  readonly port: number
  /** How many connections are open now. */
  readonly connections: number
}

const RAISE =
  'behind a proxy or NAT, raise connectors::cpid::admission::max_connections_per_address, and max_connections with it'

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

/** How long answers at the end of the grace period have to be sent, in milliseconds. */
const LAST_ANSWERS_MS = 500

/** What a transport does when its server closes. */
interface Closing {
  /** Asks the connections to close after the answers in flight. */
  drain: () => void
  /** Answers all requests in flight at once, when the grace period ends. */
  giveUp: () => void
}

/**
 * Binds a server to the receiver's address; disposing closes it and its connections. Rejects with an error that
 * says what to do when it cannot listen.
 */
export async function listen(
  server: Server,
  settings: ListenerSettings,
  purpose: ListenPurpose,
  connections: Connections,
  { drain, giveUp }: Closing,
): Promise<RunningListener> {
  const port = await bind(server, settings, purpose)
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    drain()
    for (const socket of connections.sockets()) if (socket.bytesRead === 0) socket.destroy()
    const cutOff = (): void => {
      for (const socket of connections.sockets()) socket.destroy()
    }
    let timer = setTimeout(() => {
      giveUp()
      timer = setTimeout(cutOff, LAST_ANSWERS_MS)
    }, settings.shutdownGraceMs ?? DEFAULT_SHUTDOWN_GRACE_MS)
    await closed
    clearTimeout(timer)
  }
  let closing: Promise<void> | undefined
  return {
    port,
    get connections() {
      return connections.size
    },
    [Symbol.asyncDispose]: () => (closing ??= close()),
  }
}

async function bind(server: Server, settings: ListenerSettings, purpose: ListenPurpose): Promise<number> {
  try {
    const bare = settings.host.replace(/^\[(.*)\]$/, '$1')
    const { address } = await lookup(bare, { order: 'ipv4first' })
    server.listen(settings.port, address)
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(settings, purpose, error)
  }
  // The sender retries a connection that could not be accepted; it must not end the process.
  server.on('error', () => undefined)
  return (server.address() as AddressInfo).port
}

const WHAT_TO_DO: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use; stop the program that holds it or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one that it has, or 0.0.0.0 for all',
  EACCES: 'this user may not bind that port; choose one above 1023',
  ENOTFOUND: 'the host name is unknown; write an address or a name that resolves',
  EAI_AGAIN: 'the host name cannot be looked up now; write an address or try again',
}

/** The error of a receiver that cannot listen: which one, on which address, and what to do about the system error. */
function cannotListen(
  { receiver, host, port }: ListenerSettings,
  { what, setting }: ListenPurpose,
  cause: unknown,
): Error {
  const { code = '', message } = cause as NodeJS.ErrnoException
  return new Error(
    `receiver ${receiver} cannot listen for ${what} on ${host}:${port}: ${ownValue(WHAT_TO_DO, code) ?? message} ` +
      `(receivers::${receiver}::${setting})`,
    { cause },
  )
}
