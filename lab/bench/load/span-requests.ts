import {
  type Encoding,
  FIRST_SPAN,
  type Places,
  scrambled,
  SPANS_PER_TRACE,
  spanTemplate,
} from './span-template.ts'

export const SPANS_PER_REQUEST = 512
const SPAN_GAP_NS = 20_000
const SPAN_LENGTH_MS = 3
const NS_PER_MS = 1_000_000

/** What the requests of a load look like. */
interface RequestShape {
  /** Spans of a request, a multiple of four. */
  spans: number
  encoding: Encoding
}

/** As batch processors with their usual settings send them. */
const LARGE_PROTOBUF: RequestShape = { spans: SPANS_PER_REQUEST, encoding: 'protobuf' }

/**
 * The requests of one service: always the same bytes but for ids, times and CPIDs, which are written in place, so that
 * making them costs little. The children of a trace come before its last span, their parent.
 */
export class SpanRequests {
  readonly bytes: Buffer
  readonly #places: Places[]
  readonly #inPlace: InPlace
  readonly #stream: number
  readonly #streams: number
  readonly #seed: number
  readonly #cpids: readonly Buffer[]

  /** `stream` of `streams` is this service; its traces take turns in `cpids`, texts of 36 bytes. */
  constructor(
    service: string,
    { stream, streams, seed }: { stream: number; streams: number; seed: number },
    cpids: readonly Buffer[],
    { spans, encoding }: RequestShape = LARGE_PROTOBUF,
  ) {
    if (spans % SPANS_PER_TRACE !== 0)
      throw new Error(`${spans} spans a request: take a multiple of ${SPANS_PER_TRACE}`)
    const { bytes, places } = spanTemplate(service, spans, encoding)
    this.bytes = bytes
    this.#places = places
    this.#inPlace = IN_PLACE[encoding]
    this.#stream = stream
    this.#streams = streams
    this.#seed = seed
    this.#cpids = cpids
  }

  /** Makes `bytes` the stream's request of that number, its spans ending now. */
  fill(request: number, nowMs: number): void {
    const { bytes } = this
    const { word, time } = this.#inPlace
    const spans = this.#places.length
    const wholeMs = Math.trunc(nowMs)
    this.#places.forEach((places, at) => {
      const span = request * spans + at + FIRST_SPAN
      const trace = Math.floor(span / SPANS_PER_TRACE)
      const traceNumber = trace * this.#streams + this.#stream
      for (let part = 0; part < 4; part++)
        word(bytes, places.traceId, part, scrambled(this.#seed ^ (traceNumber * 4 + part)))
      this.#writeSpanId(places.spanId, span)
      if (places.parentId !== undefined)
        this.#writeSpanId(places.parentId, trace * SPANS_PER_TRACE + SPANS_PER_TRACE - 1)
      const ns = at * SPAN_GAP_NS
      const endMs = wholeMs + Math.floor(ns / NS_PER_MS)
      time(bytes, places.start, endMs - SPAN_LENGTH_MS, ns % NS_PER_MS)
      time(bytes, places.end, endMs, ns % NS_PER_MS)
      const cpid = this.#cpids[trace % this.#cpids.length]
      if (cpid !== undefined) bytes.set(cpid, places.cpid)
      writeHex(bytes, places.reconcileId, scrambled(traceNumber))
    })
  }

  #writeSpanId(place: number, span: number): void {
    const number = span * this.#streams + this.#stream
    this.#inPlace.word(this.bytes, place, 0, scrambled(this.#seed ^ number))
    this.#inPlace.word(this.bytes, place, 1, scrambled(number ^ 0x5bd1e995))
  }
}

/** Writes ids and times over those that a request already has. */
interface InPlace {
  /** The `index`-th 32 bits of the id at `place`. */
  word: (bytes: Buffer, place: number, index: number, value: number) => void
  /** A time, as milliseconds since 1970 and the nanoseconds beyond. */
  time: (bytes: Buffer, place: number, ms: number, ns: number) => void
}

const IN_PLACE: Record<Encoding, InPlace> = {
  protobuf: {
    word: (bytes, place, index, value) => void bytes.writeUInt32BE(value, place + index * 4),
    time: (bytes, place, ms, ns) => void bytes.writeBigUInt64LE(BigInt(ms) * 1_000_000n + BigInt(ns), place),
  },
  json: {
    word: (bytes, place, index, value) => writeHex(bytes, place + index * 8, value),
    time: (bytes, place, ms, ns) => {
      writeDecimal(bytes, place, MS_DIGITS, ms)
      writeDecimal(bytes, place + MS_DIGITS, NS_DIGITS, ns)
    },
  },
}

/** From 2001 to 2286. */
const MS_DIGITS = 13
const NS_DIGITS = 6
const ZERO = 48
const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** 32 bits as eight hexadecimal digits. */
function writeHex(bytes: Buffer, place: number, value: number): void {
  for (let digit = 0; digit < 8; digit++)
    bytes[place + digit] = HEX_DIGITS[(value >>> (28 - 4 * digit)) & 15] ?? ZERO
}

function writeDecimal(bytes: Buffer, place: number, digits: number, value: number): void {
  let rest = value
  for (let digit = digits - 1; digit >= 0; digit--) {
    const tenth = Math.floor(rest / 10)
    bytes[place + digit] = ZERO + rest - 10 * tenth
    rest = tenth
  }
}
