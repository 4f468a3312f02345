import { hash } from 'node:crypto'
import { cpidOfBytes, type Cpid } from '../model/cpid.ts'
import type { Write } from '../model/kubernetes/write.ts'

/** What makes one write of one cluster known again, whoever tells of it, and however often. */
export interface WriteKey {
  readonly cluster: string
  readonly uid: string
  /** The resourceVersion; where none is known, what the request is known by. */
  readonly version: string
}

export function keyOfWrite(cluster: string, { object, version, request }: Write): WriteKey {
  const known = version === undefined ? `${request?.verb ?? ''} ${request?.auditId ?? ''}` : String(version)
  return { cluster, uid: object.uid, version: known }
}

/** The CPID that a write begins or merges into: version 8 of RFC 9562, out of SHA-256. Once released it never changes. */
export function derivedCpid(kind: 'root' | 'merge', key: WriteKey): Cpid {
  const bytes = digest(kind, key).subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return cpidOfBytes(bytes)
}

/** The ids of a write's span, in a trace of its own. */
export function derivedSpanIds(key: WriteKey): { traceId: Buffer; spanId: bigint } {
  const bytes = digest('span', key)
  const spanId = bytes.readBigInt64BE(16)
  return { traceId: bytes.subarray(0, 16), spanId: spanId === 0n ? 1n : spanId }
}

function digest(kind: string, { cluster, uid, version }: WriteKey): Buffer {
  return hash('sha256', [kind, cluster, uid, version].join('\0'), 'buffer')
}
