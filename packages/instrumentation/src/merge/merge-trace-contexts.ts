import { claimsAmong, hasCycle } from './claims.ts'
import { addInTurn, type ListsByCpid } from './nearest-first.ts'
import type { TraceContext } from '../context/trace-context.ts'

export interface MergeSettings {
  /** The most ancestors the outcome may carry: the paper's N. */
  maxAncestors: number
  /** Makes a CPID that nobody has used: a UUID in canonical text. */
  newCpid: () => string
}

/** "These changes merged into this new one" (Table 1). Without sources a root change begins. */
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
 * A CPID known to descend from all the others stands for them, and there is no mergelog. What counts as known is what the
 * contexts list, also through each other: where a lists b and b lists c, a descends from c. Otherwise there is a new CPID
 * whose sources are the CPIDs that none of the others descends from. Contexts that claim each other as ancestors cannot
 * all be right, so then none is believed: every CPID is a source and no list is passed on.
 *
 * The ancestors are nearest first. A CPID that stands keeps its own list and gains what the others add at the end; a new
 * one has its sources first, then their ancestors in turn, the nearer before the farther.
 *
 * Line 17 of the algorithm as printed tests `key`, which line 15 has just found in the list, so that nothing would ever
 * be added; its comment means `val`, and that is what happens here.
 *
 * No contexts give a new root. Contexts of one CPID count as one, with the lists of all. Takes time in proportion to the
 * CPIDs listed, and changes none of its input.
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

/** Adds what those already found list as their ancestors. */
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
