import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { startHttpBackend } from './http-backend.ts'

/** A span or log record as it arrived: what it is called and its attributes, the arrays among them joined by commas. */
export interface Arrived {
  name: string
  attributes: Record<string, string>
}

interface AnyValue {
  stringValue?: string
  arrayValue?: { values?: AnyValue[] }
}
interface Item {
  name?: string
  eventName?: string
  body?: AnyValue
  attributes?: { key: string; value: AnyValue }[]
}
interface RequestJson {
  resourceSpans?: { scopeSpans: { spans: Item[] }[] }[]
  resourceLogs?: { scopeLogs: { logRecords: Item[] }[] }[]
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
    const message = path === '/v1/traces' ? 'ExportTraceServiceRequest' : 'ExportLogsServiceRequest'
    const json = jsonOfProtobuf(message, body) as unknown as RequestJson
    const spans = json.resourceSpans?.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    const records = json.resourceLogs?.flatMap(({ scopeLogs }) =>
      scopeLogs.flatMap((scope) => scope.logRecords),
    )
    this.spans.push(...(spans ?? []).map(arrived))
    this.records.push(...(records ?? []).map(arrived))
  }
}

function arrived({ name, eventName, body, attributes = [] }: Item): Arrived {
  return {
    name: name ?? (eventName || textOf(body)),
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, textOf(value)])),
  }
}

function textOf(value: AnyValue | undefined): string {
  return value?.arrayValue?.values?.map(textOf).join(',') ?? value?.stringValue ?? ''
}
