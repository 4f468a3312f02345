/** How many ancestors an object carries unless said otherwise: the paper's N, about 400 bytes of annotations. */
export const MAX_ANCESTORS = 10

/** How many sources a mergelog has at most: what Causeway takes unless `connectors::cpid::max_sources` says otherwise. */
export const MAX_SOURCES = 1024

/** Throws a RangeError when it is not a whole number from `least` on. */
export function checkLimit(name: string, limit: number, least: number): number {
  if (Number.isSafeInteger(limit) && limit >= least) return limit
  throw new RangeError(`${name} is ${limit}; give a whole number from ${least} on`)
}
