/** Protobuf field by field, for what no encoder would write. */
export const number = (field: number, value: bigint): Buffer =>
  Buffer.concat([varint(field * 8), varint(value)])

function varint(value: number | bigint): Buffer {
  const bytes: number[] = []
  for (let left = BigInt(value); ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)])
    bytes.push(Number(left & 0x7fn) | 0x80)
  }
}

export const message = (field: number, ...parts: Buffer[]): Buffer => {
  const bytes = Buffer.concat(parts)
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes])
}

/** Messages one in the other: each of these fields in the next one, so many times, around what is innermost. */
export function nested(times: number, fields: readonly number[], innermost: Buffer): Buffer {
  const heads: Buffer[] = []
  let { length } = innermost
  for (let at = 0; at < times; at++) {
    for (const field of fields) {
      const head = Buffer.concat([varint(field * 8 + 2), varint(length)])
      heads.push(head)
      length += head.length
    }
  }
  return Buffer.concat([...heads.reverse(), innermost])
}

export function nanos(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return Buffer.concat([varint(field * 8 + 1), bytes])
}

/** A field in each wire type that there is. */
export const wireTypes = (field: number): [wire: string, Buffer][] => [
  ['varint', number(field, 7n)],
  ['fixed64', nanos(field, 7n)],
  ['bytes', message(field, Buffer.from('seven'))],
  ['no bytes', message(field)],
  ['fixed32', Buffer.concat([varint(field * 8 + 5), Buffer.from([7, 0, 0, 0])])],
]

const MEMBERS = ['string', 'bool', 'int', 'double', 'array', 'kvlist', 'bytes']
const TAKES = ['bytes', 'varint', 'varint', 'fixed64', 'bytes', 'bytes', 'bytes']

/** Values of attributes in wire types that they do not have: which member, as what, and its bytes. */
export const WRONG = MEMBERS.flatMap((member, at) =>
  wireTypes(at + 1).flatMap(([wire, bytes]) =>
    wire === TAKES[at] || (wire === 'no bytes' && TAKES[at] === 'bytes')
      ? []
      : [[member, wire, bytes] as const],
  ),
)
