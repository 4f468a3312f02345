import { EXPORT_REQUEST, type OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { freePort } from '../free-ports.ts'
import { type GrpcAnswer, tookAll } from './grpc-backend.ts'
import { logOf, type SentLog } from './log-json.ts'
import { SteadyBackend } from './steady-backend.ts'

/** A log record that a backend got; `content` is all of it, with the resource and scope it came in. */
export interface ReceivedLog extends SentLog {
  content: string
}

/** An OTLP/gRPC backend that keeps the log records it took, on one port however often it goes down and comes up. */
export class LogBackend extends SteadyBackend {
  /** What it answered OK, in order, repeats included. */
  readonly logs: ReceivedLog[] = []

  static async down(): Promise<LogBackend> {
    return new LogBackend(await freePort())
  }

  static async up(): Promise<LogBackend> {
    const backend = await LogBackend.down()
    await backend.comeUp()
    return backend
  }

  protected override answer(request: Buffer, reply: GrpcAnswer): void {
    this.logs.push(...receivedLogs(request))
    tookAll(reply)
  }
}

/** The records of an ExportLogsServiceRequest. */
export function receivedLogs(request: Buffer): ReceivedLog[] {
  const { resourceLogs = [] } = jsonOfProtobuf(
    EXPORT_REQUEST.logs,
    request,
  ) as OtlpJson<'ExportLogsServiceRequest'>
  return resourceLogs.flatMap(({ resource, scopeLogs = [] }) =>
    scopeLogs.flatMap(({ scope, logRecords = [] }) =>
      logRecords.map((record) => ({
        ...logOf(record),
        content: JSON.stringify([resource, scope, record]),
      })),
    ),
  )
}
