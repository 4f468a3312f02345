import type { MethodDefinition } from '@grpc/grpc-js'
import type { Signal } from '../../../model/ingest.ts'

const same = (bytes: Buffer): Buffer => bytes

const method = (path: string): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
})

/** The OTLP Export method of each signal; requests and responses stay bytes. */
export const EXPORT_METHODS: Readonly<Record<Signal, MethodDefinition<Buffer, Buffer>>> = {
  traces: method('/opentelemetry.proto.collector.trace.v1.TraceService/Export'),
  logs: method('/opentelemetry.proto.collector.logs.v1.LogsService/Export'),
}
