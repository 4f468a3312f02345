import { EXPORT_REQUEST, type OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { startHttpBackend } from './http-backend.ts'

/** A span or log record as it arrived: what it is called and its attributes, the arrays among them joined by commas. */
export interface Arrived {
  name: string
  attributes: Record<string, string>
}

/** Takes OTLP over HTTP, in protobuf, and keeps it. */
export class OtlpSink implements AsyncDisposable {
  readonly spans: Arrived[] = []
  readonly records: Arrived[] = []
  /** Its URL. */
  endpoint = ''
  readonly #backend = startHttpBackend((response, { url, body }) => {
    this.#take(url, body)
    response.setHeader('content-type', 'application/x-protobuf').end()
  })

  static async open(): Promise<OtlpSink> {
    const sink = new OtlpSink()
    sink.endpoint = `http://127.0.0.1:${(await sink.#backend).port}`
    return sink
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#backend)[Symbol.asyncDispose]()
  }

  #take(path: string, body: Buffer): void {
    if (path === '/v1/traces') {
      const { resourceSpans } = jsonOfProtobuf(
        EXPORT_REQUEST.traces,
        body,
      ) as OtlpJson<'ExportTraceServiceRequest'>
      const scopes = resourceSpans?.flatMap(({ scopeSpans = [] }) => scopeSpans) ?? []
      this.spans.push(...scopes.flatMap(({ spans = [] }) => spans).map(arrived))
    } else {
      const { resourceLogs } = jsonOfProtobuf(
        EXPORT_REQUEST.logs,
        body,
      ) as OtlpJson<'ExportLogsServiceRequest'>
      const scopes = resourceLogs?.flatMap(({ scopeLogs = [] }) => scopeLogs) ?? []
      this.records.push(...scopes.flatMap(({ logRecords = [] }) => logRecords).map(arrived))
    }
  }
}

function arrived({
  name,
  eventName,
  body,
  attributes = [],
}: OtlpJson<'Span'> & OtlpJson<'LogRecord'>): Arrived {
  return {
    name: name ?? (eventName || textOf(body)),
    attributes: Object.fromEntries(attributes.map(({ key = '', value }) => [key, textOf(value)])),
  }
}

function textOf(value: OtlpJson<'AnyValue'> | undefined): string {
  return value?.arrayValue?.values?.map(textOf).join(',') ?? value?.stringValue ?? ''
}
