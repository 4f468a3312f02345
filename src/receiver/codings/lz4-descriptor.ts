import { CorruptCoding } from './decoder.ts'
import { Xxh32 } from './xxh32.ts'

/** What the head of an LZ4 frame says of it. */
export interface Lz4Descriptor {
  /** Whether no block refers to the one before. */
  readonly blocksAreAlone: boolean
  readonly hasBlockSums: boolean
  readonly hasContentSum: boolean
  readonly contentBytes: number | undefined
  readonly mostInBlock: number
}

const FLAG = {
  dictionary: 0x01,
  reserved: 0x02,
  contentSum: 0x04,
  contentSize: 0x08,
  blockSums: 0x10,
  alone: 0x20,
}
const VERSION_1 = 1
const SMALLEST_SIZE = 4
const KIB = 1024
/** Taken up and done with in one go. */
const SUM = new Xxh32()

/** How long the descriptor that begins with this byte is: two bytes, what it says of sizes, its checksum. */
export function descriptorBytes(flags: number): number {
  return 2 + ((flags & FLAG.contentSize) === 0 ? 0 : 8) + 1
}

/** Reads a descriptor that came whole; throws CorruptCoding where it is none, or asks for what nobody sent. */
export function readDescriptor(bytes: Buffer): Lz4Descriptor {
  const flags = bytes.readUInt8(0)
  const size = bytes.readUInt8(1) >>> 4
  if (flags >>> 6 !== VERSION_1) throw new CorruptCoding('its frame is of an unknown version')
  if ((flags & FLAG.dictionary) !== 0) throw new CorruptCoding('it needs a dictionary')
  if ((flags & FLAG.reserved) !== 0 || size < SMALLEST_SIZE || size > 7 || (bytes.readUInt8(1) & 0x0f) !== 0)
    throw new CorruptCoding('the head of its frame is none')
  SUM.begin()
  SUM.update(bytes.subarray(0, -1))
  if (((SUM.digest() >>> 8) & 0xff) !== bytes.at(-1)) throw new CorruptCoding('a checksum is wrong')
  return {
    blocksAreAlone: (flags & FLAG.alone) !== 0,
    hasBlockSums: (flags & FLAG.blockSums) !== 0,
    hasContentSum: (flags & FLAG.contentSum) !== 0,
    contentBytes: (flags & FLAG.contentSize) === 0 ? undefined : Number(bytes.readBigUInt64LE(2)),
    mostInBlock: 64 * KIB * 4 ** (size - SMALLEST_SIZE),
  }
}
