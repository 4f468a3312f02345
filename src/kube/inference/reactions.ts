import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { FINGERPRINT, fingerprintOf, isCustomResource } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { nanosOfMs } from '../../model/time-and-size.ts'
import { closedNodeOf, isCordonedByPerson } from './closed-nodes.ts'
import { isJustBefore, lastSigned } from './read-context.ts'
import type { ReadVersion } from './read-versions.ts'
import { isEviction, type WritePart } from './write-part.ts'
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

/** Whether a writer that may be a person or a controller acts as a controller: the write can follow from what somebody else wrote. */
export function isReaction(asked: Asked): boolean {
  return (
    evictsForNode(asked) ||
    deletesForResource(asked) ||
    reactsToOthers(asked) ||
    reactsToChange(asked) ||
    setsBack(asked)
  )
}

/** A program evicts a Pod from a cordoned or tainted node. With a watch alone, not if a person cordoned it: tools of people do so first. */
function evictsForNode({ write, part, before, object, objects }: Asked): boolean {
  const facts = write.facts ?? before?.facts
  if (part !== 'deletion' || !isEviction(write, facts)) return false
  const closed = closedNodeOf(object, facts, objects)
  return closed !== undefined && (write.request !== undefined || !isCordonedByPerson(closed.closing))
}

/** With a watch alone: a Pod is deleted for a custom resource that names the Pod or its owners and was just changed. */
function deletesForResource({ write, part, reads, before }: Asked): boolean {
  if (part !== 'deletion' || write.request !== undefined || write.object.resource !== 'pods') return false
  const owners = new Set((write.facts ?? before?.facts)?.owners.map(({ uid }) => uid))
  return reads.some(({ identity, foundBy }) => {
    const isOther = foundBy !== undefined && !owners.has(identity.uid)
    return isOther && isCustomResource(identity.apiVersion)
  })
}

const SETTINGS: ReadonlySet<string> = new Set(['configmaps', 'secrets'])

/** Another object that was read is newer than the object's last version. */
function reactsToOthers({ write, part, reads, before }: Asked): boolean {
  if (part === 'status' || part === 'removal' || part === 'binding') return true
  // A spec does not follow from the status of a built-in object. Only network programs annotate a new Pod upon such a status.
  const isSpec = (write.facts?.generation ?? 0) > (before?.facts.generation ?? 0)
  const isStarting = write.object.resource === 'pods' && before?.facts.prints.slice === ''
  const sinceContent = (part === 'authored' ? before?.contentVersion : undefined) ?? before?.version ?? 0n
  const isNews = ({ identity, known }: ReadVersion): boolean => {
    const isWanted = part === 'deletion' || (part === 'authored' && (isSpec || !isStarting))
    const isContent = isWanted && !isCustomResource(identity.apiVersion)
    // A status may have come between a change of settings and what a program makes of that.
    const since = SETTINGS.has(identity.resource) ? sinceContent : (before?.version ?? 0n)
    return ((isContent ? known.contentVersion : undefined) ?? known.version) > since
  }
  const others = reads.filter((read) => read.identity.uid !== write.object.uid && isNews(read))
  return part === 'deletion' && write.request === undefined
    ? others.some(({ known }) => known.gone || known.facts.deleting)
    : others.length > 0
}

/** Somebody else has just changed the content of the object. */
function reactsToChange({ write, writer, object, objects }: Asked): boolean {
  const changed = object?.versions.find(({ version, contentVersion }) => version === contentVersion)
  if (changed === undefined || !isJustBefore(write, changed)) return false
  return changed.version > objects.lastActed(write.object.uid, programOf(writer.service))
}

/** People take longer to notice that somebody has changed what they wrote. */
const SETS_BACK_WITHIN_NS = nanosOfMs(3_000)

/** With a watch alone: somebody else has just changed what this writer wrote, and the writer writes the same again. */
function setsBack({ write, part, writer, object, objects }: Asked): boolean {
  const { facts, request } = write
  if (request !== undefined || facts === undefined || (part !== 'authored' && part !== 'scale')) return false
  const last = objects.lastActed(write.object.uid, programOf(writer.service))
  const own = object?.versions.find(({ version }) => version === last)
  const changed = object?.versions.find(({ version, contentVersion }) => version === contentVersion)
  if (own === undefined || changed === undefined || changed.version <= last) return false
  const isSame = fingerprintOf(facts, FINGERPRINT.authored) === fingerprintOf(own.facts, FINGERPRINT.authored)
  return isSame && lastSigned(facts) - lastSigned(changed.facts) <= SETS_BACK_WITHIN_NS
}
