const INTEGER = /^[1-9]\d{0,17}$/

/** A resourceVersion as the integer that API servers with one store make it; undefined for any other. */
export function readVersion(text: string): bigint | undefined {
  return INTEGER.test(text) ? BigInt(text) : undefined
}
