import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A port of 127.0.0.1 whose connections wait for a handler; disposing closes all. */
export class LocalListener implements Disposable {
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true })
  readonly #sockets = new Set<Socket>()
  #take: ((socket: Socket) => void) | undefined
  #wasUsed = false

  private constructor() {
    this.#server.on('connection', (socket) => {
      this.#wasUsed = true
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
      this.#take?.(socket)
    })
  }

  static async open(): Promise<LocalListener> {
    const listener = new LocalListener()
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    listener.#server.on('error', reject).listen(0, '127.0.0.1', () => resolve(undefined))
    await promise
    return listener
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Whether a client has connected yet. */
  get wasUsed(): boolean {
    return this.#wasUsed
  }

  /** Sets the handler of waiting and future connections. */
  takeBy(take: (socket: Socket) => void): void {
    this.#take = take
    for (const socket of this.#sockets) take(socket)
  }

  [Symbol.dispose](): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
