import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { arrayIn, objectIn } from '../../src/kube/objects/object-json.ts'
import { MAGIC, RAW } from './annotate-protobuf.ts'
import { parseExactly } from './exact-json.ts'
import type { WriteTarget } from './write-target.ts'

/** Fields of Eviction and of DeleteOptions. */
const DELETE_OPTIONS = 2
const DRY_RUN = 5

/** Whether the body of a deletion, or of an eviction, says that nothing is to be done: what else is written says so in the query. */
export function isDryRun(method: string, { subresource }: WriteTarget, body: Buffer): boolean {
  const isEviction = subresource === 'eviction'
  if (method !== 'DELETE' && !isEviction) return false
  if (body.subarray(0, MAGIC.length).equals(MAGIC)) {
    const way = isEviction ? [RAW, DELETE_OPTIONS, DRY_RUN] : [RAW, DRY_RUN]
    return bytesAt(body.subarray(MAGIC.length), way) !== undefined
  }
  const content = parseExactly(body.toString())
  return arrayIn(isEviction ? objectIn(content, 'deleteOptions') : content, 'dryRun').length > 0
}

/** A field of a message in messages; undefined where it is not there, or the bytes are no message. */
function bytesAt(message: Uint8Array, [field, ...rest]: readonly number[]): Uint8Array | undefined {
  if (field === undefined) return message
  try {
    const reader = new BinaryReader(message)
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag()
      if (number === field && type === WireType.LengthDelimited) return bytesAt(reader.bytes(), rest)
      reader.skip(type, number)
    }
  } catch {
    // The API server will say so.
  }
  return undefined
}
