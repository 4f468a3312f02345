import { hash } from 'node:crypto'
import { type Cpid, cpidOfBytes } from '../../model/merge-graph.ts'

/** Identifies one write in one cluster, whichever source reports it and however often. */
export interface WriteKey {
  readonly cluster: string
  readonly uid: string
  /** The resourceVersion; if unknown, the verb and Audit-ID of the request. */
  readonly version: string
}

/**
 * The CPID of a change that a write begins or merges into: version 8 of RFC 9562, from SHA-256. Its derivation must never change once
 * released.
 */
export function derivedCpid(kind: 'root' | 'merge', key: WriteKey): Cpid {
  const bytes = digest(kind, key).subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return cpidOfBytes(bytes)
}

/** The ids of a write's span, in a trace of its own. */
export function derivedSpanIds(
  key: WriteKey,
  kind: 'span' | 'superseded' | 'completed' = 'span',
): { traceId: Buffer; spanId: bigint } {
  const bytes = digest(kind, key)
  const spanId = bytes.readBigInt64BE(16)
  return { traceId: bytes.subarray(0, 16), spanId: spanId === 0n ? 1n : spanId }
}

function digest(kind: string, { cluster, uid, version }: WriteKey): Buffer {
  return hash('sha256', [kind, cluster, uid, version].join('\0'), 'buffer')
}
