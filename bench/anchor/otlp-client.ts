import { Client, credentials } from '@grpc/grpc-js'
import type { Signal } from '../../src/model/ingest.ts'
import { EXPORT_LOGS, EXPORT_TRACES } from '../export-method.ts'

/** A connection of its own, on which requests that are bytes already are sent. */
export class OtlpClient {
  readonly #client: Client

  constructor(endpoint: string) {
    this.#client = new Client(endpoint, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
  }

  ready(): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    this.#client.waitForReady(Date.now() + 10_000, (error) => {
      if (error === undefined) resolve(undefined)
      else reject(error)
    })
    return promise
  }

  /** Resolves once the request is acknowledged whole. */
  send(signal: Signal, request: Buffer): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const { path, requestSerialize, responseDeserialize } = signal === 'traces' ? EXPORT_TRACES : EXPORT_LOGS
    this.#client.makeUnaryRequest<Buffer, Buffer>(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      (error, reply) => {
        if (error !== null) reject(error)
        else if (reply === undefined || reply.length > 0)
          reject(new Error(`not taken whole: ${String(reply)}`))
        else resolve(undefined)
      },
    )
    return promise
  }

  close(): void {
    this.#client.close()
  }
}
