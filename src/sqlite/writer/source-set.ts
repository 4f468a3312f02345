import { cpidOfBytes, type Cpid } from '../../model/cpid.ts'

/** A stored source set: 16 bytes a CPID, sorted. */
export function cpidsOf(blob: Buffer): Cpid[] {
  const cpids: Cpid[] = []
  for (let at = 0; at < blob.length; at += 16) cpids.push(cpidOfBytes(blob.subarray(at, at + 16)))
  return cpids
}
