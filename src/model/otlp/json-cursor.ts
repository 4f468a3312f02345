import { isUtf8 } from 'node:buffer'
import { bufferOf, MalformedOtlp } from './protobuf-wire.ts'

/** What a JSON value can be; true and false are told apart only when they are read. */
type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

/** The kind of value each first byte begins. */
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

/**
 * Walks over JSON text value by value (RFC 8259) without building it. JSON.parse would round 64-bit integers
 * written as numbers, and takes a minute and 2 GB for 64 MiB of brackets. Every method throws MalformedOtlp at
 * text that is not JSON.
 */
export class JsonCursor {
  readonly #text: Buffer
  #at = 0

  constructor(text: Uint8Array) {
    if (!isUtf8(text)) throw new MalformedOtlp('the JSON text is not valid UTF-8')
    this.#text = bufferOf(text)
  }

  /** The kind of the value that comes next. */
  kind(): JsonKind {
    const kind = KINDS[this.#peek() ?? 0]
    if (kind === undefined) throw this.#unexpected()
    return kind
  }

  /** Calls `visit` for each member of the object that comes next; it must read or skip the member's value. */
  object(visit: (key: string) => void): void {
    this.#expect(0x7b)
    if (this.#take(0x7d)) return
    do {
      const key = this.string().toString()
      this.#expect(0x3a)
      visit(key)
    } while (this.#take(0x2c))
    this.#expect(0x7d)
  }

  /** Calls `visit` for each element of the array that comes next; it must read or skip the element. */
  array(visit: (index: number) => void): void {
    this.#expect(0x5b)
    if (this.#take(0x5d)) return
    let index = 0
    do {
      visit(index++)
    } while (this.#take(0x2c))
    this.#expect(0x5d)
  }

  /** The UTF-8 bytes of the string that comes next, without quotes and escapes; a lone surrogate becomes U+FFFD. */
  string(): Buffer {
    this.#expect(QUOTE)
    const start = this.#at
    let escaped = false
    for (;;) {
      const byte = this.#text[this.#at]
      if (byte === QUOTE) break
      if (byte === undefined || byte < SPACE) throw this.#unexpected()
      if (byte === BACKSLASH) {
        escaped = true
        this.#at++
      }
      this.#at++
    }
    const end = this.#at++
    if (!escaped) return this.#text.subarray(start, end)
    try {
      return Buffer.from(JSON.parse(this.#text.toString('utf8', start - 1, end + 1)) as string)
    } catch {
      throw new MalformedOtlp(`the JSON text has a bad escape in the string at byte ${start}`)
    }
  }

  /** The number that comes next, as it is written. */
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

  /** Passes over the value that comes next. */
  skip(depth = 0): void {
    if (depth > MAX_SKIPPED_DEPTH)
      throw new MalformedOtlp(`the JSON text is nested too deep at byte ${this.#at}`)
    switch (this.kind()) {
      case 'object':
        this.object(() => this.skip(depth + 1))
        return
      case 'array':
        this.array(() => this.skip(depth + 1))
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

  /** Asserts that nothing but white space is left. */
  end(): void {
    if (this.#peek() !== undefined) throw this.#unexpected()
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
