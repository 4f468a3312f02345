import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'

/** One field of a protobuf message: numbers as their raw unsigned bits, everything else as a view of its bytes. */
export interface WireField {
  no: number
  value: bigint | Uint8Array
}

/** Reads the top level of a protobuf message; throws when the bytes are not one. Groups are skipped. */
export function wireFields(message: Uint8Array): WireField[] {
  const reader = new BinaryReader(message)
  const fields: WireField[] = []
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag()
    switch (type) {
      case WireType.Varint:
        fields.push({ no, value: BigInt(reader.uint64()) })
        break
      case WireType.Bit64:
        fields.push({ no, value: BigInt(reader.fixed64()) })
        break
      case WireType.Bit32:
        fields.push({ no, value: BigInt(reader.fixed32()) })
        break
      case WireType.LengthDelimited:
        fields.push({ no, value: reader.bytes() })
        break
      case WireType.StartGroup:
      case WireType.EndGroup:
        reader.skip(type, no)
    }
  }
  return fields
}

/** Every value of a bytes, string or message field, in order. */
export function allBytes(fields: readonly WireField[], no: number): Uint8Array[] {
  return fields.flatMap((field) => (field.no === no && typeof field.value !== 'bigint' ? [field.value] : []))
}

/** The last value of a bytes, string or message field, as proto3 has it; empty when absent. */
export function lastBytes(fields: readonly WireField[], no: number): Uint8Array {
  return allBytes(fields, no).at(-1) ?? new Uint8Array()
}

/** The last value of a string field; empty when absent. */
export function lastText(fields: readonly WireField[], no: number): string {
  return textOf(lastBytes(fields, no))
}

/** The last value of an int32, int64 or enum field; 0 when absent. */
export function lastInt(fields: readonly WireField[], no: number): bigint {
  const value = fields.findLast((field) => field.no === no && typeof field.value === 'bigint')?.value
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) : 0n
}

/** UTF-8 text of bytes; what is not UTF-8 becomes the replacement character. */
export function textOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('utf8')
}

/** The same bytes as a Buffer, not copied. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
