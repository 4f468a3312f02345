import type { Json } from '../../src/kube/objects/object-json.ts'
import { lockOf, withLock } from './annotate-body.ts'
import { bytesAt, type FieldWay, METADATA, RAW, withBytesAt } from './protobuf-fields.ts'

/** A write: `content` is its body where that is JSON. */
interface LockableWrite {
  readonly method: string
  readonly subresource: string
  readonly body: Buffer
  readonly content: Json | undefined
}

/** Where protobuf has the version that a write is for: in ObjectMeta, and in the Preconditions of DeleteOptions. */
const OF_OBJECT: FieldWay = [RAW, METADATA, 6]
const OF_DELETION: FieldWay = [RAW, 2, 2]
const OF_EVICTION: FieldWay = [RAW, 2, 2, 2]

/** The version that a write is for and no other; empty where it names none, and undefined where its body cannot be read. */
export function versionLockOf(write: LockableWrite): string | undefined {
  const { method, body, content } = write
  if (content !== undefined || body.length === 0) return lockOf(content)
  const held = bytesAt(body, wayOf(write))
  if (held !== undefined) return Buffer.from(held).toString()
  // What is applied, in YAML, is hardly ever for one version.
  return bytesAt(body, [RAW]) !== undefined || method === 'PATCH' ? '' : undefined
}

/** The body of the same write for another version. */
export function withVersionLock(write: LockableWrite, version: string): Buffer {
  const { body, content } = write
  if (content !== undefined) return Buffer.from(JSON.stringify(withLock(content, version)))
  return withBytesAt(body, wayOf(write), () => Buffer.from(version)) ?? body
}

function wayOf({ method, subresource }: LockableWrite): FieldWay {
  if (method === 'DELETE') return OF_DELETION
  return subresource === 'eviction' ? OF_EVICTION : OF_OBJECT
}
