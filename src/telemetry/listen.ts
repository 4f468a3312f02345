import { lookup } from 'node:dns/promises'
import { type Server } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'

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
}

export interface ListenPurpose {
  /** What the server is, for error messages. */
  what: string
  /** The setting an operator changes to have it listen elsewhere. */
  setting: string
}

/** Starts listening. Rejects with an error that says what cannot listen where, why, and what to change. */
export async function listen(server: Server, at: ListenAddress, purpose: ListenPurpose): Promise<Listening> {
  try {
    const host = await bindAddress(at.host)
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    server.once('error', reject)
    server.listen({ port: at.port, ...(host !== undefined && { host }) }, () => resolve(undefined))
    await promise
    server.off('error', reject)
  } catch (cause) {
    throw new Error(
      `${purpose.what} cannot listen on ${at.host}:${at.port}: ${why(cause)}; change ${purpose.setting}`,
      {
        cause,
      },
    )
  }
  return {
    port: (server.address() as AddressInfo).port,
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
