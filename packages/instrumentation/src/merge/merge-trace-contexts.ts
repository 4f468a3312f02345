import { claimsAmong, hasCycle } from './claims.ts'
import { addInTurn, type ListsByCpid } from './nearest-first.ts'
import type { TraceContext } from '../context/trace-context.ts'

export interface MergeSettings {
  /** The most ancestors the outcome may carry: the paper's N. */
  maxAncestors: number
  /** Makes a CPID that nobody has used: a UUID in canonical text. */
  newCpid: () => string
}

/** These changes merged into this new one (Table 1). Without sources a root change begins. */
export interface Mergelog {
  readonly cpid: string
  readonly sources: readonly string[]
}

export interface Merged {
  readonly context: TraceContext
  /** Present exactly when the context's CPID is new. */
  readonly mergelog?: Mergelog
}

/**
 * The trace context for work that follows from all of these (Algorithm 1 with the ancestors of section 3.5).
 *
 * If a CPID is known to descend from all the others, it is the result, without a mergelog. Descent is known from the lists, also
 * transitively: if a lists b and b lists c, a descends from c. Otherwise the result is a new CPID, whose sources are the CPIDs that none
 * of the others descends from. If contexts claim each other as ancestors, the lists are ignored: every CPID is a source, without
 * ancestors.
 *
 * The ancestors are nearest first. An existing CPID keeps its own list, with those of the others appended; a new one has its sources
 * first, then their ancestors in turn, nearer ones first.
 *
 * Line 17 of the printed algorithm tests `key`, which line 15 has just found in the list, so nothing would ever be added. Its comment
 * means `val`, which is tested here.
 *
 * Without contexts the result is a new root. Contexts of one CPID count as one, with all their lists. Takes linear time in the listed
 * CPIDs, and does not change its input.
 */
export function mergeTraceContexts(
  contexts: Iterable<TraceContext>,
  { maxAncestors, newCpid }: MergeSettings,
): Merged {
  const lists = listsByCpid(contexts)
  const claims = claimsAmong(lists)
  const heads: string[] = []
  for (const cpid of lists.keys()) if (!claims.has(cpid)) heads.push(cpid)
  const isSound = claims.size === 0 || !hasCycle(lists, claims, heads)
  const most = maxAncestors + 1
  const [head] = heads
  if (head !== undefined && heads.length === 1 && isSound) {
    const found = new Set([head])
    addInTurn(found, most, lists.get(head) ?? [])
    addTheirs(found, most, lists)
    return { context: contextOf(found) }
  }
  const sources = isSound ? heads : [...lists.keys()]
  const cpid = newCpid()
  const found = new Set([cpid])
  for (const source of sources) if (found.size < most) found.add(source)
  if (isSound) addTheirs(found, most, lists)
  return { context: contextOf(found), mergelog: { cpid, sources } }
}

function listsByCpid(contexts: Iterable<TraceContext>): ListsByCpid {
  const lists = new Map<string, (readonly string[])[]>()
  for (const { cpid, ancestors } of contexts) {
    const known = lists.get(cpid)
    if (known === undefined) lists.set(cpid, [ancestors])
    else known.push(ancestors)
  }
  return lists
}

/** Adds the listed ancestors of the CPIDs found so far. */
function addTheirs(found: Set<string>, most: number, lists: ListsByCpid): void {
  if (found.size >= most) return
  const theirs: (readonly string[])[] = []
  for (const cpid of found) for (const list of lists.get(cpid) ?? []) theirs.push(list)
  addInTurn(found, most, theirs, lists)
}

function contextOf(found: ReadonlySet<string>): TraceContext {
  const [cpid = '', ...ancestors] = found
  return { cpid, ancestors }
}
