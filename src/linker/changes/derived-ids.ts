import { hash } from 'node:crypto'
import { cpidBytes, type Cpid } from '../../model/cpid.ts'

/**
 * Ids of what Causeway makes: the first 8 or 16 bytes of SHA-256(kind ‖ parts), so that deciding again gives the same
 * ids. Once released they never change.
 */
type SpanKind = 'change' | 'merged into' | 'merged from' | 'continued in' | 'cascade'

export function derivedSpanId(kind: SpanKind, traceId: Buffer, part: Buffer): bigint {
  const id = digest(kind, [traceId, part]).readBigInt64BE(0)
  return id === 0n ? 1n : id
}

/** The trace id of a root's episode; episode 0 is the CPID's own bytes. */
export function traceIdOf(root: Cpid, episode: number): Buffer {
  const bytes = cpidBytes(root)
  return episode === 0 ? bytes : digest('episode', [bytes, numberBytes(episode)]).subarray(0, 16)
}

/** The span id of a CPID's change span in a trace. */
export function changeSpanId(traceId: Buffer, cpid: Cpid): bigint {
  return derivedSpanId('change', traceId, cpidBytes(cpid))
}

export function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

function digest(kind: string, parts: Buffer[]): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(kind), ...parts]), 'buffer')
}
