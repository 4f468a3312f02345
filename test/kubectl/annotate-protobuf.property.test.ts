import { expect, test } from '@jest/globals'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { annotateProtobuf } from '../../packages/kubectl/annotate-protobuf.ts'

const MAGIC = Buffer.from('k8s\0')
const OURS = { 'causeway.io/cpid': 'c', 'causeway.io/ancestor-cpids': '' }

interface Sent {
  name: string
  annotations: Record<string, string>
  spec: Uint8Array
}

const text = (writer: BinaryWriter, field: number, value: string): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).string(value)

/** An object as client-go writes it: type, metadata with name and annotations, spec. */
function encoded({ name, annotations, spec }: Sent): Buffer {
  const metadata = text(new BinaryWriter(), 1, name)
  for (const [key, value] of Object.entries(annotations))
    metadata
      .tag(12, WireType.LengthDelimited)
      .bytes(text(text(new BinaryWriter(), 1, key), 2, value).finish())
  const raw = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(metadata.finish())
  raw.tag(2, WireType.LengthDelimited).bytes(spec)
  const type = text(text(new BinaryWriter(), 1, 'v1'), 2, 'ConfigMap').finish()
  const unknown = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(type)
  unknown.tag(2, WireType.LengthDelimited).bytes(raw.finish())
  return Buffer.concat([MAGIC, text(text(unknown, 3, ''), 4, '').finish()])
}

/** The last bytes of each field, and those of a repeated one in order. */
function fields(bytes: Uint8Array): Map<number, Uint8Array[]> {
  const reader = new BinaryReader(bytes)
  const found = new Map<number, Uint8Array[]>()
  while (reader.pos < reader.len) {
    const [field] = reader.tag()
    found.set(field, [...(found.get(field) ?? []), reader.bytes()])
  }
  return found
}

function decoded(body: Buffer): Sent {
  const of = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString()
  const unknown = fields(body.subarray(MAGIC.length))
  const raw = fields(unknown.get(2)?.at(-1) ?? new Uint8Array())
  const metadata = fields(raw.get(1)?.at(-1) ?? new Uint8Array())
  const entries = (metadata.get(12) ?? []).map(fields)
  return {
    name: of(metadata.get(1)?.at(-1)),
    annotations: Object.fromEntries(entries.map((entry) => [of(entry.get(1)?.[0]), of(entry.get(2)?.[0])])),
    spec: raw.get(2)?.at(-1) ?? new Uint8Array(),
  }
}

test('what kubectl creates in protobuf has the annotations, and is else as it was', () => {
  const key = fc.stringMatching(/^[a-z./]{1,9}$/)
  const sent = fc.record({
    name: fc.string({ unit: 'grapheme' }),
    annotations: fc.oneof(fc.dictionary(key, fc.string()), fc.constant({ 'causeway.io/cpid': 'before' })),
    spec: fc.uint8Array(),
  })
  fc.assert(
    fc.property(sent, (object) => {
      const body = annotateProtobuf(encoded(object), OURS)
      const annotations = { ...object.annotations, ...OURS }
      expect(body && decoded(body)).toEqual({ ...object, annotations })
    }),
  )
})

test('bytes that are no such object have no place for them', () => {
  expect(annotateProtobuf(Buffer.from('{}'), OURS)).toBeUndefined()
  expect(annotateProtobuf(Buffer.concat([MAGIC, Buffer.from([0x12, 0xff])]), OURS)).toBeUndefined()
})
