import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { cannotListen } from './cannot-listen.ts'
import type { ReceiverTransport } from './observer.ts'
import {
  DEFAULT_SHUTDOWN_GRACE_MS,
  type ReceiverSettings,
  type RunningReceiver,
} from './receiver-settings.ts'

/**
 * Binds a server to the receiver's address. Disposing closes it: `drain` asks the connections to finish what they
 * are at, and those that have not when the grace period ends are cut off. Rejects with an error that says what to
 * do when it cannot listen.
 */
export async function listen(
  server: Server,
  settings: ReceiverSettings,
  transport: ReceiverTransport,
  drain: () => void,
): Promise<RunningReceiver> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const port = await bind(server, settings, transport)
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    drain()
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    const graceMs = settings.shutdownGraceMs ?? DEFAULT_SHUTDOWN_GRACE_MS
    const timer = setTimeout(() => {
      for (const socket of sockets) socket.destroy()
    }, graceMs)
    await closed
    clearTimeout(timer)
  }
  let closing: Promise<void> | undefined
  return { port, [Symbol.asyncDispose]: () => (closing ??= close()) }
}

async function bind(
  server: Server,
  settings: ReceiverSettings,
  transport: ReceiverTransport,
): Promise<number> {
  try {
    const bare = settings.host.replace(/^\[(.*)\]$/, '$1')
    const { address } = await lookup(bare, { order: 'ipv4first' })
    server.listen(settings.port, address)
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(settings, transport, error)
  }
  // A connection that could not be accepted is tried again by its sender; it must not end the process.
  server.on('error', () => undefined)
  return (server.address() as AddressInfo).port
}
