import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Annotations } from './annotate-body.ts'

/** What an object begins with that is sent in Kubernetes' protobuf; behind it is a runtime.Unknown. */
export const MAGIC = Buffer.from('k8s\0')
/** Fields of runtime.Unknown, of every object, of ObjectMeta, and of the entry of a map. */
export const RAW = 2
const METADATA = 1
const ANNOTATIONS = 12
const KEY = 1
const VALUE = 2

/** An object as `kubectl create` sends it, with annotations added; undefined where the bytes are none. */
export function annotateProtobuf(body: Buffer, annotations: Annotations): Buffer | undefined {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  try {
    const unknown = withField(body.subarray(MAGIC.length), RAW, (raw) =>
      withField(raw, METADATA, (metadata) => Buffer.concat([metadata, entries(annotations)])),
    )
    return Buffer.concat([MAGIC, unknown])
  } catch {
    return undefined
  }
}

/** The message with one field changed, whose bytes are empty where it has none; all others are as they were, in their order. */
function withField(
  message: Uint8Array,
  field: number,
  change: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
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
  return writer.tag(field, WireType.LengthDelimited).bytes(change(content)).finish()
}

/** Of entries with one key the last counts. */
function entries(annotations: Annotations): Uint8Array {
  const writer = new BinaryWriter()
  for (const [key, value] of Object.entries(annotations)) {
    const entry = new BinaryWriter().tag(KEY, WireType.LengthDelimited).string(key)
    entry.tag(VALUE, WireType.LengthDelimited).string(value)
    writer.tag(ANNOTATIONS, WireType.LengthDelimited).bytes(entry.finish())
  }
  return writer.finish()
}
