import { randomBytes } from 'node:crypto'
import { compare, getRounds, hashSync, truncates } from 'bcryptjs'

const MIN_COST = 4
/** Salt and digest of what nobody knows; they fit behind any cost. */
const NOBODYS = hashSync(randomBytes(16).toString('hex'), MIN_COST).slice('$2b$04$'.length)

/** A hash of this cost that no password fits. */
const nobodysHash = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${NOBODYS}`

/** The greatest cost among bcrypt hashes; undefined when there is none. */
export function greatestCost(hashes: readonly string[]): number | undefined {
  return hashes.length === 0 ? undefined : Math.max(...hashes.map(getRounds))
}

/**
 * Whether a password fits a bcrypt hash; false where there is none. It takes as long as the greatest cost does, whatever the
 * hash: each step of the cost is twice the work, so that 2^c and then 2^c, 2^(c+1) and so on add up to it. What bcrypt would
 * cut off, beyond 72 bytes, never fits.
 */
export async function matchesAtEqualCost(
  password: string,
  hash: string | undefined,
  cost: number,
  compareTo: (password: string, hash: string) => Promise<boolean> = compare,
): Promise<boolean> {
  const from = hash === undefined ? cost : getRounds(hash)
  const fits = await compareTo(password, hash ?? nobodysHash(cost))
  for (let filling = from; filling < cost; filling++) await compareTo(password, nobodysHash(filling))
  return fits && hash !== undefined && !truncates(password)
}
