import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A TCP server that does as told with the first bytes of each connection; on 127.0.0.1 until disposed. */
export async function startRawBackend(
  onData: (socket: Socket) => void,
): Promise<AsyncDisposable & { port: number; sockets: Socket[] }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => onData(socket))
  })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      return Promise.resolve()
    },
  }
}
