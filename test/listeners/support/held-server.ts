import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type ConnectionLimits, Connections, type DropReason } from '../../../src/platform/connections.ts'
import { countRequests } from '../../../src/platform/http-listener.ts'

const HERE = '127.0.0.1'
const LONGEST_MS = 60_000

/** Waits for what should be so soon. */
export async function soon(what: string, isSo: () => boolean): Promise<void> {
  const untilMs = performance.now() + LONGEST_MS
  while (!isSo()) {
    if (performance.now() > untilMs) throw new Error(`waited in vain: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A connection to the server, and what has come back on it. */
export class Caller {
  readonly socket: Socket
  received = ''

  constructor(socket: Socket) {
    this.socket = socket
      .on('error', () => undefined)
      .on('data', (bytes) => (this.received += bytes.toString()))
  }

  /** The status of the next answer, and whether the connection ends with it. */
  async answer(): Promise<{ status: number; isLast: boolean }> {
    const isWhole = (): boolean => /\r\n\r\n[^]*\n$/.test(this.received)
    await soon('an answer', () => isWhole() || this.socket.closed)
    if (!isWhole()) throw new Error(`the connection was closed after ${JSON.stringify(this.received)}`)
    const isLast = /^connection: close/im.test(this.received)
    const status = Number(this.received.split(' ')[1])
    this.received = ''
    return { status, isLast }
  }

  async closed(): Promise<void> {
    // Whether it ends with an error or not.
    await soon('the connection is closed', () => this.socket.closed)
  }
}

/** An HTTP server that answers when it is told to, and a clock to turn. */
export async function heldServer(limits: ConnectionLimits) {
  const dropped: DropReason[] = []
  const held: ServerResponse[] = []
  const clock = { nowMs: 0 }
  let accepted = 0
  const server = createServer({ keepAliveTimeout: 0 }, (_, response) => held.push(response))
  server.on('connection', () => accepted++)
  const connections = new Connections(
    server,
    limits,
    (reason) => dropped.push(reason),
    undefined,
    () => clock.nowMs,
  )
  countRequests(server, connections)
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const callers: Caller[] = []
  return {
    clock,
    dropped,
    connections,
    /** Resolves to the connection once it was taken, or turned away. */
    connect: async (localAddress: string): Promise<Caller> => {
      const [takenBefore, droppedBefore] = [accepted, dropped.length]
      const caller = new Caller(connect({ port, host: HERE, localAddress }))
      callers.push(caller)
      const isTurnedAway = (): boolean => dropped.length > droppedBefore && caller.socket.closed
      await soon('the connection is taken', () => accepted > takenBefore || isTurnedAway())
      return caller
    },
    /** Begins a request, and resolves once it is held; or to its status if it is answered at once. */
    ask: async (caller: Caller, rest = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'): Promise<number | undefined> => {
      const before = held.length
      caller.socket.write(rest)
      await soon('the request is seen', () => held.length > before || caller.received !== '')
      return held.length > before ? undefined : (await caller.answer()).status
    },
    /** Answers what is held for a caller. */
    answer: async (caller: Caller): Promise<{ status: number; isLast: boolean }> => {
      const at = held.findIndex(({ req }) => isOf(req.socket, caller.socket))
      const [response] = held.splice(at, 1)
      const closed = once(response!, 'close')
      response!.end('x\n')
      await closed
      return caller.answer()
    },
    [Symbol.asyncDispose]: async () => {
      for (const { socket } of callers) socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const isOf = ({ remoteAddress, remotePort }: Socket, { localAddress, localPort }: Socket): boolean =>
  remotePort === localPort && remoteAddress === localAddress
