import { FIXED64, LENGTH, VARINT, WireCursor } from '../../model/otlp/protobuf-wire.ts'

/** The row of a span without events and links. */
export interface PlainSpan {
  start: bigint
  end: bigint
  traceId: string
  spanId: string
  parentSpanId: string
  traceState: string
  name: string
  kind: number
  /** Keys and values in turn, every value as text. */
  attributes: string[]
  status: { code: number; message: string }
}

const MOST_ENUM = 0x7fff_ffff
/** The largest field number; other readers treat larger ones differently. */
const MOST_NUMBER = 0x1fff_ffff

/**
 * A fast reader of usual spans: without events and links, each field of its OTLP type, every attribute a scalar, texts of ASCII.
 * Undefined for any other span, which is read as a message tree. Throws MalformedOtlp.
 */
export function plainSpan(bytes: Buffer): PlainSpan | undefined {
  return new PlainReader(bytes).read()
}

class PlainReader {
  readonly #bytes: Buffer
  /** The bytes as Latin-1 characters: slicing texts from it needs no decoding. */
  readonly #characters: string
  readonly #inner: WireCursor
  readonly #value: WireCursor
  #isPlain = true
  #hasStatus = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#characters = bytes.toString('latin1')
    this.#inner = new WireCursor(bytes)
    this.#value = new WireCursor(bytes)
  }

  read(): PlainSpan | undefined {
    const span: PlainSpan = {
      ...{ start: 0n, end: 0n, traceId: '', spanId: '', parentSpanId: '', traceState: '' },
      ...{ name: '', kind: 0, attributes: [], status: { code: 0, message: '' } },
    }
    const cursor = new WireCursor(this.#bytes)
    while (this.#isPlain && cursor.next()) this.#field(cursor, span)
    return this.#isPlain ? span : undefined
  }

  #field(cursor: WireCursor, span: PlainSpan): void {
    switch (cursor.field) {
      case 1:
        span.traceId = this.#hex(cursor)
        break
      case 2:
        span.spanId = this.#hex(cursor)
        break
      case 3:
        span.traceState = this.#text(cursor)
        break
      case 4:
        span.parentSpanId = this.#hex(cursor)
        break
      case 5:
        span.name = this.#text(cursor)
        break
      case 6:
        span.kind = this.#enum(cursor)
        break
      case 7:
        span.start = this.#fixed64(cursor)
        break
      case 8:
        span.end = this.#fixed64(cursor)
        break
      case 9:
        this.#addAttribute(cursor, span.attributes)
        break
      case 15:
        this.#readStatus(cursor, span.status)
        break
      default:
        this.#need(cursor.field !== 11 && cursor.field !== 13 && cursor.field <= MOST_NUMBER)
    }
  }

  #addAttribute(cursor: WireCursor, attributes: string[]): void {
    if (!this.#is(cursor, LENGTH)) return
    const inner = this.#inner
    inner.reset(cursor.start, cursor.end)
    let key = ''
    let value: string | undefined
    while (inner.next()) {
      if (inner.field === 1) key = this.#text(inner)
      else if (inner.field === 2 && this.#need(value === undefined)) value = this.#anyValue(inner)
      else this.#need(inner.field <= MOST_NUMBER)
    }
    // A repeated key, of which the last value counts, is left to the other reader.
    for (let at = 0; at < attributes.length; at += 2) this.#need(attributes[at] !== key)
    attributes.push(key, value ?? '')
  }

  #anyValue(cursor: WireCursor): string {
    if (!this.#is(cursor, LENGTH)) return ''
    const value = this.#value
    value.reset(cursor.start, cursor.end)
    if (!value.next()) return ''
    const text = this.#member(value)
    this.#need(!value.next())
    return text
  }

  #member(value: WireCursor): string {
    switch (value.field) {
      case 1:
        return this.#text(value)
      case 2:
        this.#is(value, VARINT)
        return value.value === 0 ? 'false' : 'true'
      case 3:
        this.#need(value.wire === VARINT && Number.isSafeInteger(value.value))
        return String(value.value)
      case 4:
        return this.#is(value, FIXED64) ? String(this.#bytes.readDoubleLE(value.start)) : ''
      default:
        this.#need(false)
        return ''
    }
  }

  #readStatus(cursor: WireCursor, status: { code: number; message: string }): void {
    if (!this.#need(cursor.wire === LENGTH && !this.#hasStatus)) return
    this.#hasStatus = true
    const inner = this.#inner
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) {
      if (inner.field === 2) status.message = this.#text(inner)
      else if (inner.field === 3) status.code = this.#enum(inner)
      else this.#need(inner.field <= MOST_NUMBER)
    }
  }

  #hex(cursor: WireCursor): string {
    return this.#is(cursor, LENGTH) ? this.#bytes.toString('hex', cursor.start, cursor.end) : ''
  }

  #fixed64(cursor: WireCursor): bigint {
    return this.#is(cursor, FIXED64) ? this.#bytes.readBigUInt64LE(cursor.start) : 0n
  }

  #enum(cursor: WireCursor): number {
    this.#need(cursor.wire === VARINT && cursor.value <= MOST_ENUM)
    return cursor.value
  }

  #text(cursor: WireCursor): string {
    if (!this.#is(cursor, LENGTH)) return ''
    const text = this.#characters.slice(cursor.start, cursor.end)
    this.#need(!NOT_ASCII.test(text))
    return text
  }

  #is({ wire }: WireCursor, meant: number): boolean {
    return this.#need(wire === meant)
  }

  #need(isSo: boolean): boolean {
    this.#isPlain &&= isSo
    return isSo
  }
}

const NOT_ASCII = /[^\0-\x7f]/
