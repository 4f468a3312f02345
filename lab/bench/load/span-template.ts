import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'

export const SPANS_PER_TRACE = 4
/** Where a stream begins within a trace: so each request cuts one trace in two, as batches of span processors do. */
export const FIRST_SPAN = 2
const OPERATIONS = ['api get', 'api list', 'api update', 'reconcile'] as const

export type Encoding = 'protobuf' | 'json'

/** Where the changing parts of one span of the template lie. */
export interface Places {
  traceId: number
  spanId: number
  parentId: number | undefined
  start: number
  end: number
  cpid: number
  reconcileId: number
}

/** A request of so many spans of this service, with marks where ids, times and CPIDs belong. */
export function spanTemplate(
  service: string,
  spans: number,
  encoding: Encoding,
): { bytes: Buffer; places: Places[] } {
  const json = Buffer.from(JSON.stringify(templateJson(service, spans)))
  const bytes = encoding === 'json' ? json : Buffer.from(protobufOfJson('traces', json))
  return { bytes, places: placesIn(bytes, spans, encoding) }
}

const traceMark = (at: number): string => `eeeeeeeeeeeeeeeeeeeeeeee${hex(at, 8)}`
const spanMark = (at: number): string => `dddddddd${hex(at, 8)}`
const parentMark = (at: number): string => `bbbbbbbb${hex(at, 8)}`
// As many decimal digits as the times of this century have.
const startMark = (at: number): bigint => 0x1122334400000000n + BigInt(at)
const endMark = (at: number): bigint => 0x2233445500000000n + BigInt(at)
const cpidMark = (at: number): string => `cccccccc-cccc-4ccc-8ccc-${hex(at, 12)}`
const reconcileMark = (at: number): string => `rid${hex(at, 5)}`

function templateJson(service: string, count: number): unknown {
  const spans = Array.from({ length: count }, (_, at) => {
    const position = (at + FIRST_SPAN) % SPANS_PER_TRACE
    return {
      traceId: traceMark(at),
      spanId: spanMark(at),
      ...(hasParent(at) && { parentSpanId: parentMark(at) }),
      name: OPERATIONS[position],
      kind: hasParent(at) ? 3 : 1,
      startTimeUnixNano: String(startMark(at)),
      endTimeUnixNano: String(endMark(at)),
      attributes: [
        text('cpid.id', cpidMark(at)),
        text('k8s.namespace.name', 'shop'),
        text('object.kind', 'ReplicaSet'),
        text('object.name', 'checkout-7c9f5d8b64'),
        text('controller.name', service),
        text('reconcile.id', reconcileMark(at)),
        text('http.request.method', 'GET'),
        text('url.path', '/apis/apps/v1/replicasets'),
        text('server.address', '10.96.0.1'),
        { key: 'http.response.status_code', value: { intValue: '200' } },
      ],
      status: {},
    }
  })
  const resource = { attributes: [text('service.name', service), text('k8s.cluster.name', 'bench')] }
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: service }, spans }] }] }
}

function placesIn(bytes: Buffer, count: number, encoding: Encoding): Places[] {
  let from = 0
  const find = (mark: Buffer): number => {
    const at = bytes.indexOf(mark, from)
    if (at < 0) throw new Error('the template lacks a mark')
    from = at
    return at
  }
  const id = (mark: string): Buffer => Buffer.from(mark, encoding === 'json' ? 'latin1' : 'hex')
  const time = (mark: bigint): Buffer =>
    encoding === 'json' ? Buffer.from(String(mark)) : littleEndian(mark)
  return Array.from({ length: count }, (_, at) => ({
    traceId: find(id(traceMark(at))),
    spanId: find(id(spanMark(at))),
    parentId: hasParent(at) ? find(id(parentMark(at))) : undefined,
    start: find(time(startMark(at))),
    end: find(time(endMark(at))),
    cpid: find(Buffer.from(cpidMark(at))),
    reconcileId: find(Buffer.from(reconcileMark(at))),
  }))
}

/** The last span of a trace is the parent of the others. */
function hasParent(at: number): boolean {
  return (at + FIRST_SPAN) % SPANS_PER_TRACE < SPANS_PER_TRACE - 1
}

function littleEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

export function text(key: string, value: string): unknown {
  return { key, value: { stringValue: value } }
}

export function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}

/** A permutation of the 32-bit numbers: ids look random, as they do in life, and none comes twice. */
export function scrambled(number: number): number {
  let x = number
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}
