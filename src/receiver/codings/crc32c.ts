const POLYNOMIAL = 0x82f63b78

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1
  return rest
})

/** The CRC-32C (Castagnoli) of some bytes; node:zlib has another polynomial only. */
export function crc32c(bytes: Buffer): number {
  let crc = -1
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ (TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0)
  return ~crc >>> 0
}
