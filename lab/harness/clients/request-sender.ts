import { setTimeout as pause } from 'node:timers/promises'
import { ChannelCredentials, Client, Metadata, type ServiceError } from '@grpc/grpc-js'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import { EXPORT_METHODS } from '../export-methods.ts'

export interface SendableRequest {
  signal: Signal
  bytes: Buffer
}

const CALL_MS = 30_000
const AGAIN_AFTER_MS = 20
/** For one request, restarts of Causeway included. */
const LONGEST_MS = 90_000

/** Sends over gRPC as controllers do: the same bytes again and again until they are acknowledged. */
export class RequestSender implements Disposable {
  readonly acknowledged = new Set<SendableRequest>()
  /** The gRPC codes that calls failed with. */
  readonly failures = new Set<number>()
  /** Called with how many calls were made. */
  onCall: (count: number) => void = () => undefined
  /** Called with how many requests have been acknowledged. */
  onAcknowledged: (count: number) => void = () => undefined
  #calls = 0
  #isClosed = false
  readonly #client: Client

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 100,
      'grpc.enable_retries': 0,
    })
  }

  /** Resolves when every request has been acknowledged, or when the sender is closed. */
  async sendAll(requests: readonly SendableRequest[], concurrency = 6): Promise<void> {
    const left = [...requests]
    const senders = Array.from({ length: concurrency }, async () => {
      for (let next = left.shift(); next !== undefined && !this.#isClosed; next = left.shift())
        await this.send(next)
    })
    await Promise.all(senders)
  }

  /** Resolves when the request has been acknowledged whole, or when the sender is closed; rejects when that takes too long. */
  async send(request: SendableRequest): Promise<void> {
    const deadline = performance.now() + LONGEST_MS
    while (!this.#isClosed) {
      const answer = this.#call(request)
      this.onCall(++this.#calls)
      const { error, response } = await answer
      if (error === null) {
        if (response !== undefined && response.length > 0)
          throw new Error(`partial success: ${response.toString('latin1')}`)
        this.acknowledged.add(request)
        this.onAcknowledged(this.acknowledged.size)
        return
      }
      this.failures.add(error.code)
      if (performance.now() > deadline)
        throw new Error(`not acknowledged within ${LONGEST_MS} ms: ${error.message}`)
      await pause(AGAIN_AFTER_MS)
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#client.close()
  }

  #call({
    signal,
    bytes,
  }: SendableRequest): Promise<{ error: ServiceError | null; response: Buffer | undefined }> {
    const { promise, resolve } = Promise.withResolvers<{
      error: ServiceError | null
      response: Buffer | undefined
    }>()
    const { path, requestSerialize, responseDeserialize } = EXPORT_METHODS[signal]
    this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      bytes,
      new Metadata({ waitForReady: true }),
      { deadline: Date.now() + CALL_MS },
      (error, response) => resolve({ error, response }),
    )
    return promise
  }
}
