import { randomBytes } from 'node:crypto'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'

/** Stands in a template where a value will be written; all values of a mark have the same length. */
export class Marks {
  readonly #bytes: Buffer[] = []

  /** An id of so many bytes, as hex. */
  id(bytes: number): string {
    return this.#add(randomBytes(bytes)).toString('hex')
  }

  /** A time, as OTLP/JSON has it. */
  time(): string {
    const bytes = randomBytes(8)
    bytes[7] = 0x11
    return String(this.#add(bytes).readBigUInt64LE())
  }

  text(length: number): string {
    return this.#add(Buffer.from(randomBytes(length).toString('hex').slice(0, length))).toString('latin1')
  }

  /** Where each mark lies, in the order in which they were made. */
  placesIn(request: Buffer): number[] {
    return this.#bytes.map((mark) => {
      const at = request.indexOf(mark)
      if (at < 0) throw new Error('the template lacks a mark')
      return at
    })
  }

  #add(mark: Buffer): Buffer {
    this.#bytes.push(mark)
    return mark
  }
}

/** A request whose ids, times and names are written in place, in the order in which its marks were made. */
export class MarkedTemplate {
  readonly bytes: Buffer
  readonly #places: readonly number[]
  #next = 0

  private constructor(bytes: Buffer, places: readonly number[]) {
    this.bytes = bytes
    this.#places = places
  }

  static of(signal: Signal, request: (marks: Marks) => unknown): MarkedTemplate {
    const marks = new Marks()
    const bytes = Buffer.from(protobufOfJson(signal, Buffer.from(JSON.stringify(request(marks)))))
    return new MarkedTemplate(bytes, marks.placesIn(bytes))
  }

  /** Another of the same, for use at the same time. */
  copy(): MarkedTemplate {
    return new MarkedTemplate(Buffer.from(this.bytes), this.#places)
  }

  /** Begins anew at the first mark. */
  rewind(): void {
    this.#next = 0
  }

  isFilled(): boolean {
    return this.#next === this.#places.length
  }

  text(text: string): void {
    this.bytes.write(text, this.#place(), 'latin1')
  }

  time(ns: bigint): void {
    this.bytes.writeBigUInt64LE(ns, this.#place())
  }

  /** An id of 32-bit words. */
  words(...words: readonly number[]): void {
    let at = this.#place()
    for (const word of words) at = this.bytes.writeUInt32BE(word >>> 0, at)
  }

  #place(): number {
    const place = this.#places[this.#next++]
    if (place === undefined) throw new Error('more is written than the template has marks')
    return place
  }
}
