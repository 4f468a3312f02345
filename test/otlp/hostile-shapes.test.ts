import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { expect, test } from '@jest/globals'
import { decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { fieldHeader } from '../../src/model/otlp/outgoing-records.ts'
import { MalformedOtlp } from '../../src/model/otlp/protobuf-wire.ts'
import { recordJson } from '../../src/query/sent-span-json.ts'
import { TestWriter } from '../support/test-writer.ts'

/** What takes time in their square would never end; test/process/bombs sends four times as many. */
const MANY = 250_000

/** A request of one span with further fields. */
function requestOf(fields: Uint8Array): Buffer {
  const writer = new BinaryWriter()
  const open = (no: number) => writer.tag(no, WireType.LengthDelimited)
  open(1).fork()
  open(2).fork()
  open(2).fork()
  open(1).bytes(Buffer.alloc(16, 1))
  open(2).bytes(Buffer.alloc(8, 2))
  writer.raw(fields).join().join().join()
  return Buffer.from(writer.finish())
}

const repeated = (number: number, contents: Buffer, times: number): Buffer => {
  const one = Buffer.concat([fieldHeader(number, contents.length), contents])
  return Buffer.alloc(one.length * times, one)
}

/** An AnyValue of lists in one another. */
function nested(depth: number): Buffer {
  const parts: Buffer[] = []
  for (let level = 0, length = 0; level < depth; level++) {
    for (const number of [1, 5]) {
      const header = fieldHeader(number, length)
      parts.push(header)
      length += header.length
    }
  }
  return Buffer.concat(parts.reverse())
}

test.each([
  ['a quarter of a million attributes', repeated(9, Buffer.from('0a0161', 'hex'), MANY)],
  [
    'a quarter of a million attributes that look like its own',
    repeated(9, Buffer.from('0a07637069642e696412030a0178', 'hex'), MANY),
  ],
  ['a quarter of a million links', repeated(13, Buffer.from('0a00', 'hex'), MANY)],
  ['a quarter of a million events', repeated(11, Buffer.from('120161', 'hex'), MANY)],
  ['a name of 16 MiB', repeated(5, Buffer.alloc(16 * 1024 * 1024, 'x'), 1)],
  [
    'values 20,000 deep',
    repeated(
      9,
      Buffer.concat([Buffer.from('0a0161', 'hex'), fieldHeader(2, nested(20_000).length), nested(20_000)]),
      1,
    ),
  ],
])('a span with %s is stored, linked and shown', async (_, fields) => {
  using writer = await TestWriter.open()
  expect(writer.ingest('traces', requestOf(fields))).toMatchObject({ kind: 'accepted', stored: 1 })
  writer.pass(11_000)
  const raw = writer.db.prepare<[], Buffer>('SELECT raw FROM spans').pluck().get()
  expect(recordJson('spans', raw!)).toMatchObject({ spanId: '02'.repeat(8) })
})

test.each([1_000, 100_000])('JSON values %i deep are refused', (depth) => {
  const deep = '{"arrayValue":{"values":['.repeat(depth) + ']}}'.repeat(depth)
  const attributes = `[{"key":"a","value":${deep}}]`
  const text = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":${attributes}}]}]}]}`
  expect(() => protobufOfJson('traces', Buffer.from(text))).toThrow(MalformedOtlp)
})

test('a link that is no message makes the request malformed', () => {
  expect(() => decodeTraces(requestOf(repeated(13, Buffer.from([0]), 1)))).toThrow(MalformedOtlp)
})

test.each([-1, -(2 ** 31)])('an enum of %i is kept as it is', async (kind) => {
  using writer = await TestWriter.open()
  const fields = new BinaryWriter().tag(6, WireType.Varint).int32(kind).finish()
  expect(writer.ingest('traces', requestOf(fields))).toMatchObject({ kind: 'accepted', stored: 1 })
  expect(writer.db.prepare('SELECT kind FROM spans').pluck().get()).toBe(kind)
})
