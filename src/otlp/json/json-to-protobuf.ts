import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Signal } from '../../model/ingest.ts'
import { JsonCursor } from './json-cursor.ts'
import { MalformedOtlp } from '../read/malformed.ts'
import { EXPORT_REQUEST, MAX_DEPTH, MESSAGES, type Field, type MessageName } from './schema.ts'
import { writeJsonScalar } from './write-json-scalar.ts'

const FIELDS_BY_NAME = new Map(
  Object.entries(MESSAGES).map(([name, fields]) => [
    name,
    new Map(fields.map((field) => [field.name, field])),
  ]),
)

/**
 * The protobuf form of an OTLP/JSON export request (OTLP specification, JSON Protobuf Encoding): ids are
 * hexadecimal in either case, 64-bit integers numbers or strings, enums integers or names of values, null is absent,
 * unknown members are ignored. An id that is not hexadecimal becomes an empty one, so that its span can be refused alone. Throws
 * MalformedOtlp, naming the member, when the JSON is not such a request or nests deeper than MAX_DEPTH.
 */
export function protobufOfJson(signal: Signal, body: Uint8Array): Uint8Array {
  const transcoding = new Transcoding(body)
  transcoding.request(EXPORT_REQUEST[signal])
  return transcoding.writer.finish()
}

class Transcoding {
  readonly writer = new BinaryWriter()
  readonly #json: JsonCursor
  readonly #path: (string | number)[] = []
  #depth = 0

  constructor(body: Uint8Array) {
    this.#json = new JsonCursor(body)
  }

  request(name: MessageName): void {
    try {
      this.#message(name)
      this.#json.end()
    } catch (error) {
      throw error instanceof MalformedOtlp ? new MalformedOtlp(`${this.#where()}: ${error.message}`) : error
    }
  }

  #message(name: MessageName): void {
    this.#mustBe('object')
    if (++this.#depth > MAX_DEPTH) throw new MalformedOtlp(`messages are nested more than ${MAX_DEPTH} deep`)
    const fields = FIELDS_BY_NAME.get(name)
    this.#json.object((key) => {
      const field = fields?.get(key)
      if (field === undefined || this.#json.kind() === 'null') {
        this.#json.skip()
        return
      }
      this.#path.push(key)
      if (field.occurs === 'many') this.#repeated(field)
      else this.#value(field)
      this.#path.pop()
    })
    this.#depth--
  }

  #repeated(field: Field): void {
    this.#mustBe('array')
    this.#json.array((index) => {
      this.#path.push(index)
      this.#value(field)
      this.#path.pop()
    })
  }

  #value(field: Field): void {
    if (field.type === 'scalar') {
      writeJsonScalar(this.writer, field, this.#json)
      return
    }
    this.writer.tag(field.no, WireType.LengthDelimited).fork()
    this.#message(field.message)
    this.writer.join()
  }

  #mustBe(kind: 'object' | 'array'): void {
    const found = this.#json.kind()
    if (found !== kind) throw new MalformedOtlp(`expected an ${kind}, found a JSON ${found}`)
  }

  #where(): string {
    return this.#path.reduce<string>(
      (path, step) => (typeof step === 'number' ? `${path}[${step}]` : `${path}.${step}`),
      '$',
    )
  }
}
