import { FIXED64, LENGTH, VARINT, WireCursor } from '../../model/otlp/protobuf-wire.ts'

/** What the row of a span without events and links says; texts are JSON. */
export interface PlainSpan {
  start: bigint
  end: bigint
  traceId: string
  spanId: string
  parentSpanId: string
  traceState: string
  name: string
  kind: number
  /** The members of an object, every value as text. */
  attributes: string
  status: { code: number; message: string }
}

const EMPTY = '""'
const MOST_ENUM = 0x7fff_ffff
/** Of a field; a larger one is read otherwise elsewhere. */
const MOST_NUMBER = 0x1fff_ffff

/**
 * Reads the bytes of a Span as they usually are: without events and links, each field of the type that OTLP gives it, every attribute a
 * single value, texts of ASCII. Undefined for any other, which is read as a tree. Throws MalformedOtlp.
 */
export function plainSpan(bytes: Buffer): PlainSpan | undefined {
  return new PlainReader(bytes).read()
}

class PlainReader {
  readonly #bytes: Buffer
  /** A character a byte: cutting texts out of it calls nothing. */
  readonly #characters: string
  readonly #inner: WireCursor
  readonly #value: WireCursor
  readonly #keys: string[] = []
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
      ...{ start: 0n, end: 0n, traceId: EMPTY, spanId: EMPTY, parentSpanId: EMPTY, traceState: EMPTY },
      ...{ name: EMPTY, kind: 0, attributes: '', status: { code: 0, message: EMPTY } },
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
        span.attributes += this.#attribute(cursor)
        break
      case 15:
        this.#readStatus(cursor, span.status)
        break
      default:
        this.#need(cursor.field !== 11 && cursor.field !== 13 && cursor.field <= MOST_NUMBER)
    }
  }

  /** With the comma before it. */
  #attribute(cursor: WireCursor): string {
    if (!this.#is(cursor, LENGTH)) return ''
    const inner = this.#inner
    inner.reset(cursor.start, cursor.end)
    let key = EMPTY
    let value: string | undefined
    while (inner.next()) {
      if (inner.field === 1) key = this.#text(inner)
      else if (inner.field === 2 && this.#need(value === undefined)) value = this.#anyValue(inner)
      else this.#need(inner.field <= MOST_NUMBER)
    }
    // Of several under one key the last counts.
    this.#need(!this.#keys.includes(key))
    this.#keys.push(key)
    return `${this.#keys.length === 1 ? '' : ','}${key}:${value ?? EMPTY}`
  }

  #anyValue(cursor: WireCursor): string {
    if (!this.#is(cursor, LENGTH)) return EMPTY
    const value = this.#value
    value.reset(cursor.start, cursor.end)
    if (!value.next()) return EMPTY
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
        return value.value === 0 ? '"false"' : '"true"'
      case 3:
        this.#need(value.wire === VARINT && Number.isSafeInteger(value.value))
        return `"${value.value}"`
      case 4:
        return this.#is(value, FIXED64) ? `"${this.#bytes.readDoubleLE(value.start)}"` : EMPTY
      default:
        this.#need(false)
        return EMPTY
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
    return this.#is(cursor, LENGTH) ? `"${this.#bytes.toString('hex', cursor.start, cursor.end)}"` : EMPTY
  }

  #fixed64(cursor: WireCursor): bigint {
    return this.#is(cursor, FIXED64) ? this.#bytes.readBigUInt64LE(cursor.start) : 0n
  }

  #enum(cursor: WireCursor): number {
    this.#need(cursor.wire === VARINT && cursor.value <= MOST_ENUM)
    return cursor.value
  }

  #text(cursor: WireCursor): string {
    if (!this.#is(cursor, LENGTH)) return EMPTY
    const text = this.#characters.slice(cursor.start, cursor.end)
    if (!NEEDS_CARE.test(text)) return `"${text}"`
    this.#need(!NOT_ASCII.test(text))
    return JSON.stringify(text)
  }

  #is({ wire }: WireCursor, meant: number): boolean {
    return this.#need(wire === meant)
  }

  #need(isSo: boolean): boolean {
    this.#isPlain &&= isSo
    return isSo
  }
}

const NEEDS_CARE = /[^ !#-[\]-~]/
const NOT_ASCII = /[^\0-\x7f]/
