import type { MethodDefinition } from '@grpc/grpc-js'

const same = (bytes: Buffer): Buffer => bytes

function exportMethod(signal: 'Trace' | 'Logs' | 'Metrics'): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/opentelemetry.proto.collector.${signal.toLowerCase()}.v1.${signal}Service/Export`,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  }
}

/** The Export methods of OTLP/gRPC as the specification has them; messages stay bytes. */
export const EXPORT_METHODS = {
  traces: exportMethod('Trace'),
  logs: exportMethod('Logs'),
  metrics: exportMethod('Metrics'),
} as const
