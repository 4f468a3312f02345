/** The ancestor lists known of each CPID, nearest first; more than one where a CPID was given more than once. */
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
  start: Iterable<readonly string[]>,
  lists?: ListsByCpid,
): void {
  let cursors: Cursor[] = Array.from(start, (list) => ({ list, at: 0 }))
  while (cursors.length > 0) {
    const next: Cursor[] = []
    for (const cursor of cursors) {
      if (found.size >= most) return
      const cpid = cursor.list[cursor.at++]
      if (cpid === undefined) continue
      next.push(cursor)
      if (found.has(cpid)) continue
      found.add(cpid)
      for (const list of lists?.get(cpid) ?? []) next.push({ list, at: 0 })
    }
    cursors = next
  }
}
