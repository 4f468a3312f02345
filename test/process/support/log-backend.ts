import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js'
import { EXPORT_METHODS } from '../../../src/receiver/otlp/grpc/grpc-services.ts'
import { jsonOfProtobuf } from '../../../src/otlp/json/protobuf-to-json.ts'
import { logOf, type LogJson, type SentLog } from '../../support/sent-logs.ts'
import { freePorts } from './free-ports.ts'

/** A log record that a backend got; `content` is all of it, with the resource and scope it came in. */
export interface ReceivedLog extends SentLog {
  content: string
}

interface LogsJson {
  resourceLogs: { resource?: unknown; scopeLogs: { scope?: unknown; logRecords: LogJson[] }[] }[]
}

/** An OTLP/gRPC backend for log records that keeps what it took, on one port however often it goes down. */
export class LogBackend implements AsyncDisposable {
  readonly port: number
  /** What it answered OK, in order, repeats included. */
  readonly logs: ReceivedLog[] = []
  /** Called with how many requests have come. */
  onRequest: (count: number) => void = () => undefined
  requests = 0
  #server: Server | undefined

  private constructor(port: number) {
    this.port = port
  }

  static async down(): Promise<LogBackend> {
    const [port = 0] = await freePorts(1)
    return new LogBackend(port)
  }

  static async up(): Promise<LogBackend> {
    const backend = await LogBackend.down()
    await backend.comeUp()
    return backend
  }

  async comeUp(): Promise<void> {
    const server = new Server({ 'grpc.max_receive_message_length': -1 })
    server.addService(
      { export: EXPORT_METHODS.logs },
      {
        export: ({ request }: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
          this.logs.push(...receivedLogs(request))
          reply(null, Buffer.alloc(0))
          this.onRequest(++this.requests)
        },
      },
    )
    const bound = Promise.withResolvers<undefined>()
    server.bindAsync(`127.0.0.1:${this.port}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) bound.resolve(undefined)
      else bound.reject(error)
    })
    await bound.promise
    this.#server = server
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server?.forceShutdown()
    return Promise.resolve()
  }
}

/** The records of an ExportLogsServiceRequest. */
export function receivedLogs(request: Buffer): ReceivedLog[] {
  const { resourceLogs } = jsonOfProtobuf('ExportLogsServiceRequest', request) as unknown as LogsJson
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ scope, logRecords }) =>
      logRecords.map((record) => ({
        ...logOf(record),
        content: JSON.stringify([resource, scope, record]),
      })),
    ),
  )
}
