import { isMarkedAsEvicted } from './evictions.ts'
import { PRINT, printIn, type ObjectFacts } from '../model/kubernetes/object-facts.ts'
import type { Write } from '../model/kubernetes/write.ts'

/**
 * What of an object a write is about.
 * - creation, authored: what an author writes, for the first time or again.
 * - status, scale, binding: those subresources.
 * - deletion: it begins to go, goes at once, or is marked to go.
 * - removal: it is gone, after it began to, or has less time left for that.
 * - heartbeat: nothing changed but when its writer lived last.
 */
export type Part =
  'creation' | 'authored' | 'status' | 'scale' | 'binding' | 'deletion' | 'removal' | 'heartbeat'

/** `before` are the facts of the version before, where one is known. */
export function partOfWrite(write: Write, before: ObjectFacts | undefined): Part {
  const { request, facts, gone } = write
  if (gone) return before?.deleting === true ? 'removal' : 'deletion'
  if (facts?.deleting === true && before?.deleting !== true) return 'deletion'
  if (before !== undefined && isMarkedAsEvicted(facts) && !isMarkedAsEvicted(before)) return 'deletion'
  if (request?.verb === 'delete') return before?.deleting === true ? 'removal' : 'deletion'
  const asked = request && partOfSubresource(request.subresource)
  if (asked !== undefined && asked !== 'status') return asked
  if (request?.verb === 'create' || (before === undefined && asked === undefined)) return 'creation'
  if (facts === undefined || before === undefined) return asked ?? 'authored'
  if (asked !== 'status') return partThatChanged(facts, before)
  // Controllers write annotations along with a status.
  return changed(PRINT.authored, facts, before) ? 'status' : statusOr('heartbeat', facts, before)
}

function partThatChanged(facts: ObjectFacts, before: ObjectFacts): Part {
  if (changed('node', facts, before) && before.prints.node === '') return 'binding'
  // Controllers write annotations along with a status; what an author writes makes a new generation.
  const isStatus = facts.generation === before.generation && changed(PRINT.status, facts, before)
  if (isStatus || !changed(PRINT.authored, facts, before)) return statusOr('authored', facts, before)
  return before.deleting ? 'removal' : 'authored'
}

/** A write of a status may have changed nothing but heartbeats; a write that changed nothing at all is one of those. */
function statusOr(otherwise: 'heartbeat' | 'authored', facts: ObjectFacts, before: ObjectFacts): Part {
  if (changed(PRINT.status, facts, before)) return 'status'
  return changed(PRINT.heartbeat, facts, before) ? 'heartbeat' : otherwise
}

function partOfSubresource(subresource: string): Part | undefined {
  switch (subresource) {
    case '':
      return undefined
    case 'status':
    case 'scale':
    case 'binding':
      return subresource
    case 'eviction':
      return 'deletion'
    default:
      return 'authored'
  }
}

function changed(print: string, facts: ObjectFacts, before: ObjectFacts): boolean {
  return printIn(facts, print) !== printIn(before, print)
}
