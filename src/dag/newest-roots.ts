/** Unites root lists and keeps the `most` newest. Ids grow by first sighting, so the newest is the highest. */
export function newestRoots(lists: Iterable<readonly number[]>, most: number): number[] {
  const united = new Set<number>()
  for (const list of lists) for (const root of list) united.add(root)
  return [...united].sort((a, b) => b - a).slice(0, most)
}
