import type { ListsByCpid } from './nearest-first.ts'

/** How often each of these CPIDs is listed as an ancestor of another one; no entry for 0. */
export function claimsAmong(lists: ListsByCpid): Map<string, number> {
  const claims = new Map<string, number>()
  if (lists.size < 2) return claims
  const endings = endingsOf(lists.keys())
  for (const [cpid, own] of lists) {
    for (const list of own) {
      for (const ancestor of list) {
        if ((endings & endingOf(ancestor)) === 0 || !lists.has(ancestor) || ancestor === cpid) continue
        claims.set(ancestor, (claims.get(ancestor) ?? 0) + 1)
      }
    }
  }
  return claims
}

/**
 * Whether the lists make some CPID its own ancestor. `heads` are the CPIDs without a claim; `claims` is consumed.
 */
export function hasCycle(lists: ListsByCpid, claims: Map<string, number>, heads: readonly string[]): boolean {
  const endings = endingsOf(claims.keys())
  const passed = [...heads]
  for (const cpid of passed) {
    for (const list of lists.get(cpid) ?? []) {
      for (const ancestor of list) {
        if ((endings & endingOf(ancestor)) === 0) continue
        const left = claims.get(ancestor)
        if (left === undefined || ancestor === cpid) continue
        claims.set(ancestor, left - 1)
        if (left === 1) passed.push(ancestor)
      }
    }
  }
  return passed.length < lists.size
}

/** A bit set of last digits, which rules out most other CPIDs without a map lookup. */
function endingsOf(cpids: Iterable<string>): number {
  let endings = 0
  for (const cpid of cpids) endings |= endingOf(cpid)
  return endings
}

function endingOf(cpid: string): number {
  return 1 << (cpid.charCodeAt(cpid.length - 1) & 31)
}
