import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import type { Connections } from '../../listeners/connections.ts'
import { cannotListen, type ListenPurpose } from './cannot-listen.ts'
import {
  DEFAULT_SHUTDOWN_GRACE_MS,
  type ListenerSettings,
  type RunningReceiver,
} from './receiver-settings.ts'

/** How long the answers given at the end of the grace period have to leave, in milliseconds. */
const LAST_ANSWERS_MS = 500

/** What a transport does when its server closes. */
export interface Closing {
  /** Asks the connections to end once they have answered what they are at. */
  drain: () => void
  /** Answers at once whatever is still in flight when the grace period ends. */
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
): Promise<RunningReceiver> {
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
  // A connection that could not be accepted is tried again by its sender; it must not end the process.
  server.on('error', () => undefined)
  return (server.address() as AddressInfo).port
}
