import { lookup } from 'node:dns/promises'
import type { Server, ServerOptions } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { Connections, type ConnectionLimits, type DropReason, type Endpoints } from './connections.ts'
import { countRequests, type RequestCounting } from './count-requests.ts'
import { UnreadAnswers, type UnreadSettings } from './unread-answers.ts'

export interface ListenAddress {
  /** An address or a name; empty means every address of the machine. */
  host: string
  /** 0 takes any free port. */
  port: number
}

/** A server that is listening; closing it ends its open connections. */
export interface Listening extends AsyncDisposable {
  /** The port it got. */
  readonly port: number
  /** How many connections are open now. */
  readonly connections: number
  /** A credential that is known was shown on this connection. */
  known(connection: Endpoints): void
}

/** How a server that people and probes ask is made: whoever connects and says nothing, or says it slowly, is not waited for. */
export const ASKED_SERVER: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
}

/** How many may be connected to a server of which nothing else is said. */
const DEFAULT_LIMITS: ConnectionLimits = { max: 64, maxPerAddress: 32 }

export interface ListenPurpose {
  /** What the server is, for error messages. */
  what: string
  /** The setting an operator changes to have it listen elsewhere. */
  setting: string
}

/** Who may be connected. */
export interface ListenerOptions extends RequestCounting {
  /** 64 with a request under way, 32 of them from one address, unless given. */
  connections?: ConnectionLimits | undefined
  /** Told once it listens; what it is given says how many are connected now. */
  onOpen?: ((connections: () => number) => void) | undefined
  /** Told of every connection that was closed, and request that was refused, because there are too many. */
  onDrop?: ((reason: DropReason) => void) | undefined
  /** What becomes of answers that nobody reads. */
  unread?: UnreadSettings | undefined
}

/** Starts listening. Rejects with an error that says what cannot listen where, why, and what to change. */
export async function listen(
  server: Server,
  at: ListenAddress,
  purpose: ListenPurpose & ListenerOptions,
): Promise<Listening> {
  // What is asked here is asked again by whoever is cut off.
  const limits = { ...(purpose.connections ?? DEFAULT_LIMITS), makesRoom: true }
  const connections = new Connections(server, limits, purpose.onDrop)
  countRequests(server, connections, purpose)
  new UnreadAnswers({ ...purpose.unread, peerOf: purpose.peerOf }).watch(server)
  try {
    const host = await bindAddress(at.host)
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    server.once('error', reject)
    server.listen({ port: at.port, ...(host !== undefined && { host }) }, () => resolve(undefined))
    await promise
    server.off('error', reject)
    // A connection that could not be accepted must not end the process.
    server.on('error', () => undefined)
  } catch (cause) {
    throw new Error(
      `${purpose.what} cannot listen on ${at.host}:${at.port}: ${why(cause)}; change ${purpose.setting}`,
      {
        cause,
      },
    )
  }
  purpose.onOpen?.(() => connections.size)
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections.size
    },
    known: (connection) => connections.known(connection),
    [Symbol.asyncDispose]: () => close(server),
  }
}

/** A name binds its IPv4 address when it has one, as in the Collector: localhost is then 127.0.0.1 everywhere. */
async function bindAddress(host: string): Promise<string | undefined> {
  if (host === '') return undefined
  return isIP(host) ? host : (await lookup(host, { order: 'ipv4first' })).address
}

function why(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE') return 'another program has the port'
  if (code === 'EACCES') return 'the port needs more rights'
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'this machine has no such address'
  return cause instanceof Error ? cause.message : String(cause)
}

function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // A server closed before calls back with an error, which is no news.
  server.close(() => resolve(undefined))
  server.closeAllConnections()
  return promise
}
