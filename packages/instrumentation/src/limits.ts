/** The default number of ancestors on an object: the paper's N, about 400 bytes of annotations. */
export const MAX_ANCESTORS = 10

/** The default limit of a mergelog's sources, which is the default of `connectors::cpid::max_sources`. */
export const MAX_SOURCES = 1024

/** Throws a RangeError unless the limit is an integer of at least `least`. */
export function checkLimit(name: string, limit: number, least: number): number {
  if (Number.isSafeInteger(limit) && limit >= least) return limit
  throw new RangeError(`${name} is ${limit}; give a whole number from ${least} on`)
}
