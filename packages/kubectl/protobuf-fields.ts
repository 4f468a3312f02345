import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** What an object begins with that is sent in Kubernetes' protobuf; behind it is a runtime.Unknown. */
const MAGIC = Buffer.from('k8s\0')
/** The fields of runtime.Unknown and of every object. */
export const RAW = 2
export const METADATA = 1

/** The field numbers on the path to a field, from the runtime.Unknown. */
export type FieldWay = readonly number[]

export function isProtobuf(body: Buffer): boolean {
  return body.subarray(0, MAGIC.length).equals(MAGIC)
}

/** A nested field; undefined if it is missing or the bytes are not a message. */
export function bytesAt(body: Buffer, way: FieldWay): Uint8Array | undefined {
  return isProtobuf(body) ? bytesIn(body.subarray(MAGIC.length), way) : undefined
}

function bytesIn(message: Uint8Array, [field, ...rest]: FieldWay): Uint8Array | undefined {
  if (field === undefined) return message
  try {
    const reader = new BinaryReader(message)
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag()
      if (number === field && type === WireType.LengthDelimited) return bytesIn(reader.bytes(), rest)
      reader.skip(type, number)
    }
  } catch {
    // The API server will refuse the invalid body.
  }
  return undefined
}

/** The body with one field changed, which is empty if it was missing; undefined if the body is not such a message. */
export function withBytesAt(
  body: Buffer,
  way: FieldWay,
  change: (bytes: Uint8Array) => Uint8Array,
): Buffer | undefined {
  if (!isProtobuf(body)) return undefined
  try {
    return Buffer.concat([MAGIC, withField(body.subarray(MAGIC.length), way, change)])
  } catch {
    return undefined
  }
}

/** Changes one field; all others keep their bytes and order. */
function withField(
  message: Uint8Array,
  [field, ...rest]: FieldWay,
  change: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  if (field === undefined) return change(message)
  const reader = new BinaryReader(message)
  const writer = new BinaryWriter()
  let content: Uint8Array = new Uint8Array()
  while (reader.pos < reader.len) {
    const start = reader.pos
    const [number, type] = reader.tag()
    if (number === field && type === WireType.LengthDelimited) content = reader.bytes()
    else {
      reader.skip(type, number)
      writer.raw(message.subarray(start, reader.pos))
    }
  }
  return writer
    .tag(field, WireType.LengthDelimited)
    .bytes(withField(content, rest, change))
    .finish()
}
