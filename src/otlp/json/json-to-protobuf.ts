import type { Signal } from '../../model/ingest.ts'
import { GrowingMessage } from './growing-message.ts'
import { JsonCursor } from './json-cursor.ts'
import { ItemCount, type ItemKind } from '../read/item-count.ts'
import { MalformedOtlp } from '../read/malformed.ts'
import { EXPORT_REQUEST, MAX_DEPTH, MESSAGES, type Field, type MessageName } from './schema.ts'
import { writeJsonScalar } from './write-json-scalar.ts'

const FIELDS_BY_NAME = new Map(
  Object.entries(MESSAGES).map(([name, fields]) => [
    name,
    new Map(fields.map((field) => [field.name, field])),
  ]),
)

/** The messages that objects are made for when the request is read. */
const ITEMS: Partial<Record<MessageName, ItemKind>> = {
  ResourceSpans: 'resources',
  ResourceLogs: 'resources',
  ScopeSpans: 'scopes',
  ScopeLogs: 'scopes',
  Span: 'spans',
  LogRecord: 'log records',
}

/**
 * The protobuf form of an OTLP/JSON export request (OTLP specification, JSON Protobuf Encoding): ids are
 * hexadecimal in either case, 64-bit integers numbers or strings, enums integers or names of values, null is absent,
 * unknown members are ignored. An id that is not hexadecimal becomes an empty one, so that its span can be refused alone. Throws
 * MalformedOtlp, naming the member, when the JSON is not such a request, nests deeper than MAX_DEPTH, or holds too many items
 * for its length.
 */
export function protobufOfJson(signal: Signal, body: Uint8Array): Uint8Array {
  const transcoding = new Transcoding(body)
  transcoding.request(EXPORT_REQUEST[signal])
  return transcoding.writer.finish()
}

class Transcoding {
  readonly writer: GrowingMessage
  readonly #json: JsonCursor
  readonly #count: ItemCount
  readonly #path: (string | number)[] = []
  #depth = 0

  constructor(body: Uint8Array) {
    this.#json = new JsonCursor(body)
    // In protobuf the same is about half as long.
    this.writer = new GrowingMessage(body.length / 2)
    this.#count = new ItemCount(body.length)
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
    const kind = ITEMS[field.message]
    if (kind !== undefined) this.#count.add(kind)
    this.writer.begin(field.no)
    this.#message(field.message)
    this.writer.end()
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
