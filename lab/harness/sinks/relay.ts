import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A stretch of network between a client and a server, which can be watched and can fail. */
export class Relay implements AsyncDisposable {
  /** Nothing that the server says reaches the client. */
  isDeaf = false
  #sentBytes = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = connect(port, '127.0.0.1')
      for (const [socket, other] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(socket)
        socket.on('error', () => other.destroy())
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
      }
      client.on('data', (bytes) => {
        this.#sentBytes += bytes.length
        server.write(bytes)
      })
      server.on('data', (bytes) => {
        if (!this.isDeaf) client.write(bytes)
      })
    })
  }

  /** Opens one to a port of 127.0.0.1. */
  static async to(port: number): Promise<Relay> {
    const relay = new Relay(port)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    return relay
  }

  /** `host:port` for the client. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** How many bytes clients have sent. */
  get sentBytes(): number {
    return this.#sentBytes
  }

  /** Ends every connection; there may be new ones. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export function portOf(address: string): number {
  return Number(address.split(':').at(-1))
}
