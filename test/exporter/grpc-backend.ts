import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'

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

const same = (bytes: Buffer): Buffer => bytes
const SERVICES = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
}

/** A gRPC server that answers OTLP exports as told; it listens on 127.0.0.1 until disposed. */
export async function startGrpcBackend(
  answer: (reply: GrpcAnswer, request: GrpcRequest) => void,
  credentials = ServerCredentials.createInsecure(),
): Promise<GrpcBackend> {
  const requests: GrpcRequest[] = []
  const server = new Server()
  for (const path of Object.values(SERVICES)) {
    const method = {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    }
    server.addService(
      { export: method },
      {
        export: (call: ServerUnaryCall<Buffer, Buffer>, reply: GrpcAnswer) => {
          const request = { body: call.request, metadata: call.metadata, path }
          requests.push(request)
          answer(reply, request)
        },
      },
    )
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port)))
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
