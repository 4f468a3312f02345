import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'

/** A span in a request that a backend got. */
export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  links: { traceId: string; spanId: string }[]
  /** The span byte by byte, with the resource and the scope it came in. */
  content: string
}

type SpanJson = Partial<Pick<ReceivedSpan, 'traceId' | 'spanId' | 'parentSpanId' | 'name' | 'links'>>

/** The spans of an ExportTraceServiceRequest. */
export function receivedSpans(request: Buffer): ReceivedSpan[] {
  const { inner: resources } = takeApart(request, 1)
  return resources.flatMap((resource) => {
    const { inner: scopes, rest: resourceEnvelope } = takeApart(resource, 2)
    return scopes.flatMap((scope) => {
      const { inner: spans, rest: scopeEnvelope } = takeApart(scope, 2)
      const envelope = `${resourceEnvelope.toString('hex')} ${scopeEnvelope.toString('hex')}`
      return spans.map((span) => spanOf(span, envelope))
    })
  })
}

/** The messages in one field, and all the other bytes. */
function takeApart(message: Buffer, field: number): { inner: Buffer[]; rest: Buffer } {
  const inner: Buffer[] = []
  const rest: Buffer[] = []
  const cursor = new WireCursor(message)
  while (cursor.next()) {
    if (cursor.field === field) inner.push(message.subarray(cursor.start, cursor.end))
    else rest.push(message.subarray(cursor.tagAt, cursor.pos))
  }
  return { inner, rest: Buffer.concat(rest) }
}

function spanOf(bytes: Buffer, envelope: string): ReceivedSpan {
  const {
    traceId = '',
    spanId = '',
    parentSpanId = '',
    name = '',
    links = [],
  } = jsonOfProtobuf('Span', bytes) as SpanJson
  return { traceId, spanId, parentSpanId, name, links, content: `${envelope} ${bytes.toString('hex')}` }
}
