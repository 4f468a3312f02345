import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { isCustomResource } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { isJustBefore } from './read-context.ts'
import type { ReadVersion } from './read-versions.ts'
import type { WritePart } from './write-part.ts'
import { programOf, type Writer } from './writers.ts'

interface Asked {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly writer: Writer
  readonly reads: readonly ReadVersion[]
  readonly before: KnownVersion | undefined
  readonly object: KnownObject | undefined
  readonly objects: ClusterObjects
}

/** Whether a writer that may be a person or a controller acts as a controller does: the write can follow from what somebody else wrote. */
export function isReaction(asked: Asked): boolean {
  return reactsToOthers(asked) || reactsToChange(asked)
}

/** There is news of another object. */
function reactsToOthers({ write, part, reads, before }: Asked): boolean {
  if (part === 'status' || part === 'removal' || part === 'binding') return true
  // What is wanted does not follow from a status of Kubernetes' objects. Only the network's programs note what becomes of a new Pod.
  const isSpec = (write.facts?.generation ?? 0) > (before?.facts.generation ?? 0)
  const isStarting = write.object.resource === 'pods' && before?.facts.prints.slice === ''
  const isNews = ({ identity, known }: ReadVersion): boolean => {
    const isWanted = part === 'deletion' || (part === 'authored' && (isSpec || !isStarting))
    const isContent = isWanted && !isCustomResource(identity.apiVersion)
    return ((isContent ? known.contentVersion : undefined) ?? known.version) > (before?.version ?? 0n)
  }
  const others = reads.filter((read) => read.identity.uid !== write.object.uid && isNews(read))
  return part === 'deletion' && write.request === undefined
    ? others.some(({ known }) => known.gone || known.facts.deleting)
    : others.length > 0
}

/** Somebody else has just changed what the object says. */
function reactsToChange({ write, writer, object, objects }: Asked): boolean {
  const changed = object?.versions.find(({ version, contentVersion }) => version === contentVersion)
  if (changed === undefined || !isJustBefore(write, changed)) return false
  return changed.version > objects.lastActed(write.object.uid, programOf(writer.service))
}
