/** The ancestor lists of each CPID, nearest first; several if a CPID was given several times. */
export type ListsByCpid = ReadonlyMap<string, readonly (readonly string[])[]>

interface Cursor {
  readonly list: readonly string[]
  at: number
}

/**
 * Adds CPIDs to `found` until it has `most`: the first of each list, then the second of each, and so on. An added CPID brings in its
 * own lists from `lists`, one position later.
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
