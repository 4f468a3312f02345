import {
  ChannelCredentials,
  Client,
  type ClientOptions,
  compressionAlgorithms,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import { EXPORT_METHODS } from '../export-methods.ts'

/** What a gRPC call ended with: a response, or an error with its code and its google.rpc.Status. */
interface GrpcAnswer {
  code: number
  response: Buffer | undefined
  message: string
  details: Buffer | undefined
}

export const COMPRESSED: ClientOptions = {
  'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
}

/** A grpc-js client of a receiver on this machine. */
export class GrpcSender implements Disposable {
  readonly #client: Client

  constructor(port: number, options: ClientOptions = {}, credentials = ChannelCredentials.createInsecure()) {
    this.#client = new Client(`localhost:${port}`, credentials, {
      'grpc.max_send_message_length': -1,
      // A channel of its own, so that no test meets another's connection.
      'grpc.use_local_subchannel_pool': 1,
      ...options,
    })
  }

  export(signal: Signal, request: Uint8Array, headers: Record<string, string> = {}): Promise<GrpcAnswer> {
    const metadata = new Metadata()
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
    const { path, requestSerialize, responseDeserialize } = EXPORT_METHODS[signal]
    const { promise, resolve } = Promise.withResolvers<GrpcAnswer>()
    this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      Buffer.from(request),
      metadata,
      (error, response) => resolve(answerOf(error, response)),
    )
    return promise
  }

  [Symbol.dispose](): void {
    this.#client.close()
  }
}

function answerOf(error: ServiceError | null, response: Buffer | undefined): GrpcAnswer {
  const details = error?.metadata.get('grpc-status-details-bin')[0] as Buffer | undefined
  return { code: error?.code ?? 0, response, message: error?.details ?? '', details }
}
