import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { Annotations } from './annotate-body.ts'
import { METADATA, RAW, withBytesAt } from './protobuf-fields.ts'

/** Fields of ObjectMeta, and of the entry of a map. */
const ANNOTATIONS = 12
const KEY = 1
const VALUE = 2

/** An object as `kubectl create` sends it, with annotations added; undefined where the bytes are none. */
export function annotateProtobuf(body: Buffer, annotations: Annotations): Buffer | undefined {
  return withBytesAt(body, [RAW, METADATA], (metadata) => Buffer.concat([metadata, entries(annotations)]))
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
