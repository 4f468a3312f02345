import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'
import { EXPORT_METHODS } from '../export-methods.ts'

export interface GrpcRequest {
  body: Buffer
  metadata: Metadata
  path: string
}

export type GrpcAnswer = sendUnaryData<Buffer>

export interface GrpcBackend extends AsyncDisposable {
  port: number
  requests: GrpcRequest[]
}

/** Where and how a backend listens: on a free port and without TLS unless told otherwise. */
interface BackendChoice {
  port?: number
  credentials?: ServerCredentials
  /** The largest request it takes; gRPC's own limit unless given, none with -1. */
  maxBytes?: number
}

const USUAL_MAX_BYTES = 4 * 1024 * 1024

/** A gRPC server that answers OTLP exports as told; it listens on 127.0.0.1 until disposed. */
export async function startGrpcBackend(
  answer: (reply: GrpcAnswer, request: GrpcRequest) => void,
  {
    port = 0,
    credentials = ServerCredentials.createInsecure(),
    maxBytes = USUAL_MAX_BYTES,
  }: BackendChoice = {},
): Promise<GrpcBackend> {
  const requests: GrpcRequest[] = []
  const server = new Server({ 'grpc.max_receive_message_length': maxBytes })
  for (const method of Object.values(EXPORT_METHODS)) {
    server.addService(
      { export: method },
      {
        export: (call: ServerUnaryCall<Buffer, Buffer>, reply: GrpcAnswer) => {
          const request = { body: call.request, metadata: call.metadata, path: method.path }
          requests.push(request)
          answer(reply, request)
        },
      },
    )
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
    error ? reject(error) : resolve(bound),
  )
  return {
    port: await promise,
    requests,
    [Symbol.asyncDispose]() {
      server.forceShutdown()
      return Promise.resolve()
    },
  }
}

/** The success reply of a backend that took everything. */
export const tookAll = (reply: GrpcAnswer): void => reply(null, Buffer.alloc(0))
