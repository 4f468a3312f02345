import { fieldHeader } from '../../src/model/otlp/outgoing-records.ts'
import { WireCursor } from '../../src/model/otlp/protobuf-wire.ts'
import type { Random, Target } from './target.ts'

const MAX_BYTES = 16_384
const DEEP = [3, 20, 130, 1_000]
const NUMBERS = [
  Buffer.from('ffffffffffffffffff01', 'hex'),
  Buffer.from('80808080808080808001', 'hex'),
  Buffer.from('ffffffffffffffff', 'hex'),
  Buffer.from('ffffffffffffff7f', 'hex'),
  Buffer.from('0000000000000080', 'hex'),
  Buffer.from('ffffffff0f', 'hex'),
  Buffer.from('8000', 'hex'),
  Buffer.alloc(8),
  Buffer.alloc(16),
  Buffer.from([0x7f]),
  Buffer.from([0x0b, 0x0c]),
]

/** Another input made of one of the corpus by one to four changes. */
export function mutate(target: Target, corpus: readonly Buffer[], random: Random): Buffer {
  let bytes = random.of(corpus)
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    const inside = target.shape === 'protobuf' && random.below(4) > 0
    bytes = inside ? changeInside(bytes, target, corpus, random) : change(bytes, target, corpus, random)
  }
  return bytes.subarray(0, MAX_BYTES)
}

/** Changes one message somewhere in a message; the lengths around it fit again. */
function changeInside(bytes: Buffer, target: Target, corpus: readonly Buffer[], random: Random): Buffer {
  const fields = fieldsOf(bytes)
  if (fields.length === 0 || random.below(6) === 0) return change(bytes, target, corpus, random)
  const at = random.below(fields.length)
  const field = fields[at]!
  const parts = fields.map(({ whole }) => whole)
  switch (random.below(field.contents === undefined ? 3 : 8)) {
    case 0:
      parts.splice(at, 1)
      break
    case 1:
      parts.splice(random.below(fields.length), 0, field.whole)
      break
    case 2:
      parts[at] = change(field.whole, target, corpus, random)
      break
    default: {
      const inner = changeInside(field.contents ?? bytes, target, corpus, random)
      parts[at] = Buffer.concat([fieldHeader(field.number, inner.length), inner])
    }
  }
  return Buffer.concat(parts)
}

interface WireField {
  readonly number: number
  readonly whole: Buffer
  /** Of a length-delimited field. */
  readonly contents: Buffer | undefined
}

function fieldsOf(bytes: Buffer): WireField[] {
  const fields: WireField[] = []
  const cursor = new WireCursor(bytes)
  try {
    while (cursor.next()) {
      const contents = cursor.wire === 2 ? bytes.subarray(cursor.start, cursor.end) : undefined
      fields.push({ number: cursor.field, whole: bytes.subarray(cursor.tagAt, cursor.pos), contents })
    }
  } catch {
    return []
  }
  return fields
}

function change(bytes: Buffer, target: Target, corpus: readonly Buffer[], random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const to = Math.min(bytes.length, at + random.below(random.of([4, 16, 256])))
  const put = (middle: Uint8Array, from = at, until = from): Buffer =>
    Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(until)])
  const words = target.words ?? []
  switch (random.below(words.length > 0 ? 12 : 10)) {
    case 0:
      return put(Buffer.from([(bytes[at] ?? 0) ^ (1 << random.below(8))]), at, at + 1)
    case 1:
      return put(Buffer.from([random.of([0, 1, 0x7f, 0x80, 0xff, random.below(256)])]), at, at + 1)
    case 2:
      return bytes.subarray(0, at)
    case 3:
      return put(Buffer.alloc(0), at, to)
    case 4:
      return put(bytes.subarray(at, to))
    case 5: {
      const other = random.of(corpus)
      return put(
        other.subarray(random.below(other.length + 1)),
        at,
        random.below(2) === 0 ? to : bytes.length,
      )
    }
    case 6:
      return put(random.of(NUMBERS), at, random.below(2) === 0 ? at : to)
    case 7:
      return put(overlong(bytes[at] ?? 0, random), at, at + 1)
    case 8:
      return put(nested(bytes.subarray(at, to), target.shape, random), at, to)
    case 9:
      return put(Buffer.from([(bytes[at] ?? 0) ^ random.below(8)]), at, at + 1)
    default:
      return put(Buffer.from(random.of(words)), at, random.below(2) === 0 ? at : to)
  }
}

/** The same number in more bytes than it needs. */
function overlong(byte: number, random: Random): Buffer {
  return Buffer.from([byte | 0x80, ...Array<number>(random.below(9)).fill(0x80), 0])
}

function nested(inner: Buffer, shape: Target['shape'], random: Random): Buffer {
  const depth = random.of(DEEP)
  if (shape !== 'protobuf') {
    const [open, close] = random.of([
      ['[', ']'],
      ['{"a":', '}'],
      ['(', ')'],
      ['${', '}'],
    ])
    return Buffer.concat([Buffer.from(open.repeat(depth)), inner, Buffer.from(close.repeat(depth))])
  }
  const numbers = random.of([[5, 1], [6, 1, 2], [1 + random.below(15)]])
  const parts: Buffer[] = []
  let length = inner.length
  for (let level = 0; level < depth; level++) {
    const header = fieldHeader(numbers[level % numbers.length]!, length)
    parts.unshift(header)
    length += header.length
  }
  return Buffer.concat([...parts, inner])
}
