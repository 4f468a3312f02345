import type { ClusterObjects } from '../../model/kubernetes/cluster-objects.ts'
import { printIn, type ObjectFacts } from '../../model/kubernetes/object-facts.ts'
import type { Write } from '../../model/kubernetes/write.ts'
import { wantsFewer } from '../wants-fewer.ts'

/** What is copied from an owner, by the names of its fingerprints. */
const COPIED = ['template', 'wanted']

/**
 * Writes with what a later list shows for the first time before what it owns: of a watch that was lost it has the last version alone,
 * which is above those of all that was made for it, or copied from it, meanwhile. `known` is what is decided.
 */
export function ownersFirst(writes: readonly Write[], known: Pick<ClusterObjects, 'get'>): readonly Write[] {
  if (!writes.some(isListedLater)) return writes
  const listed = new Map<string, Write>()
  for (const write of writes) {
    const { uid } = write.object
    if (isListedLater(write) && !listed.has(uid)) listed.set(uid, write)
  }
  const ordered = new Set<Write>()
  /** What stands before by then, of writes that are not decided yet. */
  const before = new Map<string, ObjectFacts>()
  const put = (write: Write): void => {
    for (const { uid } of write.facts?.owners ?? []) {
      const owner = listed.get(uid)
      if (owner === undefined) continue
      const newest = before.get(uid) ?? known.get(uid)?.versions[0]?.facts
      if (!isReadAlready(owner, write, newest)) continue
      // What is on its way in already is not looked at again: nobody owns itself, but anybody may say so.
      listed.delete(uid)
      put(owner)
    }
    ordered.add(write)
    if (write.facts !== undefined) before.set(write.object.uid, write.facts)
  }
  for (const write of writes) if (!ordered.has(write)) put(write)
  return [...ordered]
}

/**
 * A version of an owner that was there before a write, since no other can have been: none is known, or none with what was copied, or
 * none that wanted fewer than there are.
 */
function isReadAlready(owner: Write, { facts }: Write, newest: ObjectFacts | undefined): boolean {
  if (newest === undefined || facts === undefined) return true
  if (facts.deleting && owner.facts !== undefined && wantsFewer(owner.facts, newest)) return true
  return COPIED.some((print) => {
    const copy = printIn(facts, print)
    const shown = owner.facts && printIn(owner.facts, print)
    return copy !== undefined && copy === shown && copy !== printIn(newest, print)
  })
}

/** Where requests are told as well, those tell of the versions before. */
function isListedLater({ listed, gone, request }: Write): boolean {
  return listed === 'later' && !gone && request === undefined
}
