/** How many ancestors an object carries unless said otherwise: the paper's N, about 400 bytes of annotations. */
export const MAX_ANCESTORS = 10

/** Throws a RangeError when it is not a whole number from 0 on. */
export function checkMaxAncestors(maxAncestors: number): number {
  if (Number.isSafeInteger(maxAncestors) && maxAncestors >= 0) return maxAncestors
  throw new RangeError(`maxAncestors is ${maxAncestors}; give a whole number from 0 on`)
}
