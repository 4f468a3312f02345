interface Total {
  readonly totalNs: bigint
}

export interface Pair<T> {
  readonly name: string
  readonly a: T | undefined
  readonly b: T | undefined
  /** How much more time there is in `b`. */
  readonly differenceNs: bigint
}

/** What has the same name in two lists beside one another, the largest increase first. */
export function pairByName<T extends Total>(
  a: readonly T[],
  b: readonly T[],
  nameOf: (item: T) => string,
): Pair<T>[] {
  const ofA = new Map(a.map((item) => [nameOf(item), item]))
  const ofB = new Map(b.map((item) => [nameOf(item), item]))
  return [...new Set([...ofA.keys(), ...ofB.keys()])]
    .map((name) => {
      const [inA, inB] = [ofA.get(name), ofB.get(name)]
      return { name, a: inA, b: inB, differenceNs: (inB?.totalNs ?? 0n) - (inA?.totalNs ?? 0n) }
    })
    .sort((one, other) => {
      if (one.differenceNs !== other.differenceNs) return one.differenceNs > other.differenceNs ? -1 : 1
      return one.name < other.name ? -1 : 1
    })
}
