import { protobufOfJson } from '../src/otlp/json-to-protobuf.ts'

export const SPANS_PER_REQUEST = 512
const SPANS_PER_TRACE = 4
/** Where a stream begins within a trace: so each request cuts one trace in two, as batches of span processors do. */
const FIRST_SPAN = 2
const SPAN_GAP_NS = 20_000n
const SPAN_LENGTH_NS = 3_000_000n
const OPERATIONS = ['api get', 'api list', 'api update', 'reconcile'] as const

/** Where the changing parts of one span of the template lie. */
interface Places {
  traceId: number
  spanId: number
  parentId: number | undefined
  start: number
  end: number
  cpid: number
  reconcileId: number
}

/**
 * The requests of one service: always the same bytes but for ids, times and CPIDs, which are written in place, so that
 * making them costs little. The children of a trace come before its last span, their parent.
 */
export class SpanRequests {
  readonly bytes: Buffer
  readonly #places: Places[]
  readonly #stream: number
  readonly #streams: number
  readonly #seed: number
  readonly #cpids: readonly Buffer[]

  /** `stream` of `streams` is this service; its traces take turns in `cpids`, texts of 36 bytes. */
  constructor(
    service: string,
    { stream, streams, seed }: { stream: number; streams: number; seed: number },
    cpids: readonly Buffer[],
  ) {
    this.bytes = Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(templateJson(service)))))
    this.#places = placesIn(this.bytes)
    this.#stream = stream
    this.#streams = streams
    this.#seed = seed
    this.#cpids = cpids
  }

  /** Makes `bytes` the stream's request of that number, its spans ending now. */
  fill(request: number, nowMs: number): void {
    const { bytes } = this
    let endNs = BigInt(Math.trunc(nowMs)) * 1_000_000n
    this.#places.forEach((places, at) => {
      const span = request * SPANS_PER_REQUEST + at + FIRST_SPAN
      const trace = Math.floor(span / SPANS_PER_TRACE)
      const traceNumber = trace * this.#streams + this.#stream
      for (let word = 0; word < 4; word++)
        bytes.writeUInt32BE(scrambled(this.#seed ^ (traceNumber * 4 + word)), places.traceId + word * 4)
      this.#writeSpanId(places.spanId, span)
      if (places.parentId !== undefined)
        this.#writeSpanId(places.parentId, trace * SPANS_PER_TRACE + SPANS_PER_TRACE - 1)
      bytes.writeBigUInt64LE(endNs - SPAN_LENGTH_NS, places.start)
      bytes.writeBigUInt64LE(endNs, places.end)
      endNs += SPAN_GAP_NS
      const cpid = this.#cpids[trace % this.#cpids.length]
      if (cpid !== undefined) bytes.set(cpid, places.cpid)
      bytes.write(hex(scrambled(traceNumber), 8), places.reconcileId, 'latin1')
    })
  }

  #writeSpanId(place: number, span: number): void {
    const number = span * this.#streams + this.#stream
    this.bytes.writeUInt32BE(scrambled(this.#seed ^ number), place)
    this.bytes.writeUInt32BE(scrambled(number ^ 0x5bd1e995), place + 4)
  }
}

/** A permutation of the 32-bit numbers: ids look random, as they do in life, and none comes twice. */
function scrambled(number: number): number {
  let x = number
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}

const traceMark = (at: number): string => `eeeeeeeeeeeeeeeeeeeeeeee${hex(at, 8)}`
const spanMark = (at: number): string => `dddddddd${hex(at, 8)}`
const parentMark = (at: number): string => `bbbbbbbb${hex(at, 8)}`
const startMark = (at: number): bigint => 0x1122334400000000n + BigInt(at)
const endMark = (at: number): bigint => 0x2233445500000000n + BigInt(at)
const cpidMark = (at: number): string => `cccccccc-cccc-4ccc-8ccc-${hex(at, 12)}`
const reconcileMark = (at: number): string => `rid${hex(at, 5)}`

function templateJson(service: string): unknown {
  const spans = Array.from({ length: SPANS_PER_REQUEST }, (_, at) => {
    const position = (at + FIRST_SPAN) % SPANS_PER_TRACE
    return {
      traceId: traceMark(at),
      spanId: spanMark(at),
      ...(position < SPANS_PER_TRACE - 1 && { parentSpanId: parentMark(at) }),
      name: OPERATIONS[position],
      kind: position < SPANS_PER_TRACE - 1 ? 3 : 1,
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

function placesIn(bytes: Buffer): Places[] {
  let from = 0
  const find = (mark: Buffer): number => {
    const at = bytes.indexOf(mark, from)
    if (at < 0) throw new Error('the template lacks a mark')
    from = at
    return at
  }
  return Array.from({ length: SPANS_PER_REQUEST }, (_, at) => ({
    traceId: find(Buffer.from(traceMark(at), 'hex')),
    spanId: find(Buffer.from(spanMark(at), 'hex')),
    parentId:
      (at + FIRST_SPAN) % SPANS_PER_TRACE < SPANS_PER_TRACE - 1
        ? find(Buffer.from(parentMark(at), 'hex'))
        : undefined,
    start: find(littleEndian(startMark(at))),
    end: find(littleEndian(endMark(at))),
    cpid: find(Buffer.from(cpidMark(at))),
    reconcileId: find(Buffer.from(reconcileMark(at))),
  }))
}

function littleEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

function text(key: string, value: string): unknown {
  return { key, value: { stringValue: value } }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
