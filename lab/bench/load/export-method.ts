import type { MethodDefinition } from '@grpc/grpc-js'

const same = (bytes: Buffer): Buffer => bytes

/** An OTLP Export method whose messages stay bytes. */
function exportMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  }
}

export const EXPORT_TRACES = exportMethod('/opentelemetry.proto.collector.trace.v1.TraceService/Export')
export const EXPORT_LOGS = exportMethod('/opentelemetry.proto.collector.logs.v1.LogsService/Export')
