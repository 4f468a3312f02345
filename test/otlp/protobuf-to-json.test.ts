import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { expect, test } from '@jest/globals'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

test('a single span becomes OTLP/JSON', () => {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).bytes(bytes('00112233445566778899AABBCCDDEEFF'))
  writer.tag(2, WireType.LengthDelimited).bytes(bytes('0011223344556677'))
  writer.tag(5, WireType.LengthDelimited).string('reconcile')
  writer.tag(6, WireType.Varint).int32(1)
  writer.tag(7, WireType.Bit64).fixed64(1544712660300000001n)
  writer.tag(15, WireType.LengthDelimited).fork().tag(3, WireType.Varint).int32(2).join()
  writer.tag(16, WireType.Bit32).fixed32(0x101)
  expect(jsonOfProtobuf('Span', writer.finish())).toEqual({
    traceId: '00112233445566778899aabbccddeeff',
    spanId: '0011223344556677',
    name: 'reconcile',
    kind: 1,
    startTimeUnixNano: '1544712660300000001',
    status: { code: 2 },
    flags: 0x101,
  })
})

test.each([
  ['an unknown field', 'Status', '1803 a006 01 12016d', { code: 3, message: 'm' }],
  ['a known field with another wire type', 'Status', '1a0161 12016d', { message: 'm' }],
  ['a reference into the string table of profiles', 'AnyValue', '4005', {}],
  ['the last of a oneof', 'AnyValue', '0a0161 1001', { boolValue: true }],
  ['a message given twice, merged', 'Span', '7a031201 6d 7a021802', { status: { message: 'm', code: 2 } }],
  ['text that is not UTF-8', 'Status', '1201ff', { message: '\ufffd' }],
  ['an empty message', 'Resource', '', {}],
] as const)('%s', (_, message, hex, expected) => {
  expect(jsonOfProtobuf(message, bytes(hex))).toEqual(expected)
})

test.each([
  ['cut inside a string', 'Status', '12056d'],
  ['cut inside a number', 'Span', '39 0102'],
  ['longer inside than outside', 'Span', '7a02 1205 6d6d6d6d6d'],
  ['a group that never ends', 'Status', '0b'],
  ['field number 0', 'Status', '0001'],
] as const)('%s is malformed', (_, message, hex) => {
  expect(() => jsonOfProtobuf(message, bytes(hex))).toThrow(`not a protobuf ${message}: `)
})

test('a value nested too deep is shown as a text that says so', () => {
  // The heads alone: with the bytes below copied anew at each level this would take longest of all.
  const heads: Uint8Array[] = []
  let length = 0
  for (let level = 0; level < 10_000; level++) {
    for (const field of [1, 5]) {
      const head = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(length).finish()
      heads.push(head)
      length += head.length
    }
  }
  const value = Buffer.concat(heads.reverse())
  expect(JSON.stringify(jsonOfProtobuf('AnyValue', value))).toContain('nested more than 64 deep')
})
