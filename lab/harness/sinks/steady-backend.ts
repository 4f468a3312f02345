import { type GrpcAnswer, type GrpcBackend, type GrpcRequest, startGrpcBackend } from './grpc-backend.ts'

/** An OTLP/gRPC backend on one port, however often it goes down and comes up. */
export abstract class SteadyBackend implements AsyncDisposable {
  readonly port: number
  requests = 0
  /** Called with how many requests have come. */
  onRequest: (count: number) => void = () => undefined
  #server: GrpcBackend | undefined

  /** It is down until it is told to come up. */
  protected constructor(port: number) {
    this.port = port
  }

  async comeUp(): Promise<void> {
    this.#server = await startGrpcBackend(
      (reply, { body }) => {
        this.requests++
        this.answer(body, reply)
        this.onRequest(this.requests)
      },
      { port: this.port, maxBytes: -1 },
    )
  }

  async goDown(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]()
    this.#server = undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.goDown()
  }

  protected abstract answer(request: GrpcRequest['body'], reply: GrpcAnswer): void
}
