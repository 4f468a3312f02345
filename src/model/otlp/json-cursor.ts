import { isUtf8 } from 'node:buffer'
import { bufferOf, MalformedOtlp } from './protobuf-wire.ts'

/** The kinds of JSON values. Whether a boolean is true shows only when it is read. */
type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** The kind of value for each possible first byte. */
const KINDS: readonly (JsonKind | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const first = String.fromCharCode(byte)
  if (/[-0-9]/.test(first)) return 'number'
  return ({ '{': 'object', '[': 'array', '"': 'string', t: 'boolean', f: 'boolean', n: 'null' } as const)[
    first
  ]
})

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/
const MAX_SKIPPED_DEPTH = 512
/** Any integer with this many digits is below 2^64. */
const MOST_PLAIN_DIGITS = 19
/** The remaining nine digits are below 2^30. */
const DIGITS_OF_UPPER = 10

/**
 * Reads JSON text (RFC 8259) value by value without building objects. JSON.parse would round 64-bit integers, and takes a minute and 2 GB
 * for 64 MiB of brackets. All methods throw MalformedOtlp for text that is not JSON.
 */
export class JsonCursor {
  /** The last string or member name that was read, unescaped: UTF-8 bytes from `start` to `end`. A lone surrogate becomes U+FFFD. */
  bytes: Buffer
  start = 0
  end = 0
  /** The last integer that `integer` read: its upper and lower 32 bits. */
  high = 0
  low = 0
  readonly #text: Buffer
  #at = 0

  constructor(text: Uint8Array) {
    if (!isUtf8(text)) throw new MalformedOtlp('the JSON text is not valid UTF-8')
    this.#text = bufferOf(text)
    this.bytes = this.#text
  }

  /** The kind of the next value. */
  kind(): JsonKind {
    const kind = KINDS[this.#peek() ?? 0]
    if (kind === undefined) throw this.#unexpected()
    return kind
  }

  /** Enters the next object and reads the name of its first member. If it is empty, skips it and returns false. */
  enterObject(): boolean {
    this.#expect(0x7b)
    if (this.#take(0x7d)) return false
    this.#memberName()
    return true
  }

  /** Call after the value of a member. Reads the name of the next member; at the end leaves the object and returns false. */
  nextMember(): boolean {
    if (this.#take(0x2c)) {
      this.#memberName()
      return true
    }
    this.#expect(0x7d)
    return false
  }

  /** Enters the next array. If it is empty, skips it and returns false. */
  enterArray(): boolean {
    this.#expect(0x5b)
    return !this.#take(0x5d)
  }

  /** Call after an element. At the end leaves the array and returns false. */
  nextElement(): boolean {
    if (this.#take(0x2c)) return true
    this.#expect(0x5d)
    return false
  }

  /** Reads the next string. */
  string(): void {
    this.#expect(QUOTE)
    const text = this.#text
    const start = this.#at
    let at = start
    let escaped = false
    for (;;) {
      const byte = text[at]
      if (byte === QUOTE) break
      if (byte === undefined || byte < SPACE) {
        this.#at = at
        throw this.#unexpected()
      }
      if (byte === BACKSLASH) {
        escaped = true
        at++
      }
      at++
    }
    this.#at = at + 1
    if (escaped) this.#unescape(start, at)
    else {
      this.bytes = text
      this.start = start
      this.end = at
    }
  }

  /** The last string that was read. */
  get lastString(): string {
    return this.bytes.toString('utf8', this.start, this.end)
  }

  /**
   * Reads the next integer if it has a plain form: at most 19 digits and `bits` bits, no sign, and quotes only if `orString`. Otherwise
   * reads nothing and returns false.
   */
  integer(bits: number, orString: boolean): boolean {
    this.#skipSpace()
    const text = this.#text
    const isQuoted = text[this.#at] === QUOTE
    if (isQuoted && !orString) return false
    const first = this.#at + (isQuoted ? 1 : 0)
    let upper = 0
    let lower = 0
    let scale = 1
    let at = first
    for (; ; at++) {
      const digit = (text[at] ?? 0) - 0x30
      if (digit < 0 || digit > 9) break
      if (at - first < DIGITS_OF_UPPER) upper = upper * 10 + digit
      else {
        lower = lower * 10 + digit
        scale *= 10
      }
    }
    const digits = at - first
    if (digits === 0 || digits > MOST_PLAIN_DIGITS) return false
    if (isQuoted ? text[at] !== QUOTE : isNumberPart(text[at]) || (digits > 1 && text[first] === 0x30))
      return false
    // upper * scale + lower. `upper` is divided after 16 bits, so that each product is below 2^53.
    const product = Math.floor(upper / 2 ** 16) * scale
    const rest = (product % 2 ** 16) * 2 ** 16 + (upper % 2 ** 16) * scale + lower
    const high = Math.floor(product / 2 ** 16) + Math.floor(rest / 2 ** 32)
    const low = rest % 2 ** 32
    if (bits > 32 ? high >= 2 ** (bits - 32) : high > 0 || low >= 2 ** bits) return false
    this.high = high
    this.low = low
    this.#at = at + (isQuoted ? 1 : 0)
    return true
  }

  /** The next number, as it is written. */
  number(): string {
    this.#skipSpace()
    const start = this.#at
    while (isNumberPart(this.#text[this.#at])) this.#at++
    const text = this.#text.toString('latin1', start, this.#at)
    if (NUMBER.test(text)) return text
    this.#at = start
    throw this.#unexpected()
  }

  boolean(): boolean {
    const value = this.#peek() === 0x74
    this.#word(value ? 'true' : 'false')
    return value
  }

  null(): void {
    this.#word('null')
  }

  /** Skips the next value. */
  skip(depth = 0): void {
    if (depth > MAX_SKIPPED_DEPTH)
      throw new MalformedOtlp(`the JSON text is nested too deep at byte ${this.#at}`)
    switch (this.kind()) {
      case 'object':
        for (let more = this.enterObject(); more; more = this.nextMember()) this.skip(depth + 1)
        return
      case 'array':
        for (let more = this.enterArray(); more; more = this.nextElement()) this.skip(depth + 1)
        return
      case 'string':
        this.string()
        return
      case 'number':
        this.number()
        return
      case 'boolean':
        this.boolean()
        return
      case 'null':
        this.null()
    }
  }

  /** Throws unless only white space is left. */
  finish(): void {
    if (this.#peek() !== undefined) throw this.#unexpected()
  }

  #memberName(): void {
    this.string()
    this.#expect(0x3a)
  }

  #unescape(start: number, end: number): void {
    try {
      this.bytes = Buffer.from(JSON.parse(this.#text.toString('utf8', start - 1, end + 1)) as string)
    } catch {
      throw new MalformedOtlp(`the JSON text has a bad escape in the string at byte ${start}`)
    }
    this.start = 0
    this.end = this.bytes.length
  }

  #peek(): number | undefined {
    this.#skipSpace()
    return this.#text[this.#at]
  }

  #take(byte: number): boolean {
    if (this.#peek() !== byte) return false
    this.#at++
    return true
  }

  #expect(byte: number): void {
    if (!this.#take(byte)) throw this.#unexpected()
  }

  #word(word: string): void {
    this.#skipSpace()
    if (this.#text.toString('latin1', this.#at, this.#at + word.length) !== word) throw this.#unexpected()
    this.#at += word.length
  }

  #skipSpace(): void {
    for (;;) {
      const byte = this.#text[this.#at]
      if (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.#at++
    }
  }

  #unexpected(): MalformedOtlp {
    const byte = this.#text[this.#at]
    if (byte === undefined) return new MalformedOtlp('the JSON text ends too early')
    const found = byte > SPACE && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `0x${byte.toString(16)}`
    return new MalformedOtlp(`the JSON text has an unexpected ${found} at byte ${this.#at}`)
  }
}

function isNumberPart(byte = 0): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    (byte | 0x20) === 0x65
  )
}
