import { hash } from 'node:crypto'
import type { Owner } from '../ports/arrival-port.ts'

const BYTES = 8

/** Whose a CPID is, in 16 bytes: a hash of the cluster, and one of cluster and service. */
export function claimOf({ service, cluster }: Owner): Buffer {
  return Buffer.concat([digest([cluster]), digest([cluster, service])])
}

/** How good somebody's claim to a CPID is: 2 for whoever it belongs to, 1 for others of the same cluster, else 0. */
export function claimStrength(claim: Buffer, who: Owner): 0 | 1 | 2 {
  const own = claimOf(who)
  if (own.equals(claim)) return 2
  return own.subarray(0, BYTES).equals(claim.subarray(0, BYTES)) ? 1 : 0
}

function digest(names: readonly string[]): Buffer {
  return hash('sha256', JSON.stringify(names), 'buffer').subarray(0, BYTES)
}
