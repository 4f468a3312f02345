import { createHash } from 'node:crypto'

const VERSION_8 = 0x80

/**
 * The CPID of a change by a writer without CPIDs. Every observer of the version derives the same: a UUID of version 8 (RFC 9562), the
 * first 16 bytes of the SHA-256 of `root`, the cluster, the uid and the resourceVersion, joined by zero bytes.
 */
export function derivedRoot(cluster: string, uid: string, version: string): string {
  const digest = createHash('sha256').update(['root', cluster, uid, version].join('\0')).digest()
  const bytes = digest.subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | VERSION_8
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | VERSION_8
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
