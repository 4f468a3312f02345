/** The ancestor lists given of each CPID, nearest first; more than one where a CPID was given more than once. */
export type ListsByCpid = ReadonlyMap<string, readonly (readonly string[])[]>

interface Cursor {
  readonly list: readonly string[]
  at: number
}

/**
 * Adds CPIDs to `found` until it has `most`: from each list its first, then from each its second, and so on. A CPID that
 * comes up brings in its own lists from `lists`, one place further away.
 */
export function addInTurn(
  found: Set<string>,
  most: number,
  start: readonly (readonly string[])[],
  lists?: ListsByCpid,
): void {
  if (found.size >= most) return
  const open: Cursor[] = []
  for (const list of start) open.push({ list, at: 0 })
  while (open.length > 0) {
    const inThisTurn = open.length
    let kept = 0
    for (let turn = 0; turn < inThisTurn; turn++) {
      const cursor = open[turn]
      const cpid = cursor?.list[cursor.at]
      if (cursor === undefined || cpid === undefined) continue
      cursor.at++
      open[kept++] = cursor
      const before = found.size
      if (found.add(cpid).size === before) continue
      if (found.size >= most) return
      for (const list of lists?.get(cpid) ?? []) open.push({ list, at: 0 })
    }
    open.splice(kept, inThisTurn - kept)
  }
}
