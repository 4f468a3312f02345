/** A hint for misspelt names, such as `; did you mean endpoint?`, or nothing when no known name is near. */
export function didYouMean(written: readonly string[], known: readonly string[]): string {
  const near = written.flatMap((name) => nearest(name, known))
  return near.length === 0 ? '' : `; did you mean ${[...new Set(near)].join(', ')}?`
}

/** Those of the known names that are nearest to what was written; none when it is like none of them. */
export function nearest(written: string, known: readonly string[]): string[] {
  const tolerated = Math.max(1, Math.floor(written.length / 3))
  const distances = known.map((name) => editDistance(written.toLowerCase(), name.toLowerCase()))
  const least = Math.min(tolerated, ...distances)
  return known.filter((_, at) => distances[at] === least)
}

/** How many letters must be added, taken away, changed or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const cost = from[row - 1] === to[column - 1] ? 0 : 1
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (current[column - 1] ?? 0) + 1,
          (last[column] ?? 0) + 1,
          (last[column - 1] ?? 0) + cost,
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}
