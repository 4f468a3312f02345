import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Annotations } from './annotate-body.ts'
import { METADATA, RAW, withBytesAt } from './protobuf-fields.ts'

/** Fields of ObjectMeta, and of the entry of a map. */
const ANNOTATIONS = 12
const KEY = 1
const VALUE = 2

/** An object in protobuf, as `kubectl create` sends it, with annotations added; undefined when the bytes are not one. */
export function annotateProtobuf(body: Buffer, annotations: Annotations): Buffer | undefined {
  return withBytesAt(body, [RAW, METADATA], (metadata) => Buffer.concat([metadata, entries(annotations)]))
}

/** Map entries to append: the last entry of a key counts. */
function entries(annotations: Annotations): Uint8Array {
  const writer = new BinaryWriter()
  for (const [key, value] of Object.entries(annotations)) {
    const entry = new BinaryWriter().tag(KEY, WireType.LengthDelimited).string(key)
    entry.tag(VALUE, WireType.LengthDelimited).string(value)
    writer.tag(ANNOTATIONS, WireType.LengthDelimited).bytes(entry.finish())
  }
  return writer.finish()
}
