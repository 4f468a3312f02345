import { ANY_RESOURCE, type KnownObject, type KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf, isCustomResource, type ObjectIdentity } from '../../model/kubernetes-objects.ts'
import { nanosOfMs } from '../../model/time-and-size.ts'
import { namedIn } from './named-objects.ts'
import { actorForOwner, higher, isDeleted, isDoneTogether, tellsRevision } from './read-context.ts'
import type { ReadVersion } from './read-versions.ts'
import { lastChanged, type SelfAsked, type SelfBegun, setUpBy } from './self-begun.ts'
import { derivedCpid } from './write-key.ts'
import { isOfKubernetes, programOf } from './writers.ts'

/** How objects were found that the writer may not read at all, since nothing names them. */
const WEAK = /^(?:same API group$|made for )/

/**
 * Whether a controller that is not part of Kubernetes wrote because time went by, or because something outside the cluster changed: nothing
 * that it reconciles has changed since it last wrote, no status says that work is under way, and nothing around it has just changed. The
 * last condition is dropped for an object that the controller has written for this reason before.
 */
export function ofClock(asked: SelfAsked): SelfBegun | undefined {
  const { write, part, writer, before, reads, objects } = asked
  if (isOfKubernetes(writer.service) || part === 'binding' || part === 'removal') return undefined
  const by = programOf(writer.service)
  const facts = write.facts ?? before?.facts
  const owners = (facts?.owners ?? []).flatMap(({ uid }) => objects.get(uid) ?? [])
  const named = asked.primaries().flatMap(({ object, isIndirect }) => (isIndirect === true ? [] : object))
  const made = [...named, ...owners].filter(({ identity }) => identity.uid !== write.object.uid)
  const own = objects.get(write.object.uid)
  const all = [...made, ...(own === undefined ? [] : [own])]
  const primaries = objects.primariesOf(by)
  if (!all.some(({ identity: { resource } }) => primaries.includes(resource))) return undefined
  if (!all.some(({ identity }) => hasActed(identity, by, asked)) || all.some(isUnderWay)) return undefined
  // What GitOps tools find outside of the cluster are revisions, which begin changes as such.
  const isOfGitOps = ({ facts: read }: KnownVersion): boolean => fingerprintOf(read, 'revision') !== undefined
  if (all.some(tellsRevision) || reads.some(({ known }) => isOfGitOps(known))) return undefined
  if (part === 'creation' && !hasMadeOthers(made, asked)) return undefined
  const isClocked = own?.versions.some((version) => isOfItself(own.identity, version, asked)) === true
  const isMeasured = isScaling(asked) && made.some(({ identity }) => isCustomResource(identity.apiVersion))
  const setUp = setUpBy(asked, (made[0] ?? own)?.identity.uid ?? '')
  const isCause = (read: ReadVersion): boolean => {
    if (isClocked && WEAK.test(read.foundBy ?? '')) return false
    const isScaled = isMeasured && read.identity.uid === write.object.uid
    const isNew = isScaled ? isScaledByOther(own, by, asked) : isNews(read, by, asked)
    return isNew || (isOwn(read, by, asked) && isDoneTogether(write, read.known))
  }
  if (reads.some((read) => isCause(read))) return undefined
  if (isMeasured) return { reason: 'metric', setUp }
  if (hasNewsAround(all, by, asked) || (!isClocked && !isQuiet(all, by, asked))) return undefined
  return { reason: part === 'deletion' ? 'expiry' : 'schedule', setUp }
}

/** Whether a program has written an object, or something for it. */
function hasActed({ uid }: ObjectIdentity, by: string, { objects }: SelfAsked): boolean {
  return objects.lastActed(uid, by) > 0n || objects.lastActed(uid, actorForOwner(by)) > 0n
}

function isUnderWay({ versions: [newest] }: KnownObject): boolean {
  return isDeleted(newest) || (newest !== undefined && fingerprintOf(newest.facts, 'underWay') === 'true')
}

const LAST = 2n ** 62n
const MAX_OWNED = 64

/** Whether one of these objects owns or owned an object of the resource that is created. */
function hasMadeOthers(made: readonly KnownObject[], { write: { object }, objects }: SelfAsked): boolean {
  return made.some(({ identity }) => objects.ownedBy(identity.uid, object.resource, 0n, LAST, 1).length > 0)
}

/** Whether a write changes the replicas alone of an object that no custom resource owns. */
function isScaling({ write: { facts }, part, before, objects }: SelfAsked): boolean {
  if (part !== 'scale' && part !== 'authored') return false
  if (facts === undefined || before === undefined) return part === 'scale'
  const isOwned = facts.owners.some(({ uid }) =>
    isCustomResource(objects.get(uid)?.identity.apiVersion ?? ''),
  )
  const isChanged = (print: string): boolean =>
    fingerprintOf(facts, print) !== fingerprintOf(before.facts, print)
  return !isOwned && isChanged('scale') && !isChanged('template')
}

/** Whether others have written something that these objects name or own since the writer last acted. A status counts too. */
function hasNewsAround(all: readonly KnownObject[], by: string, asked: SelfAsked): boolean {
  const { write, objects } = asked
  return all.some(({ identity, versions: [newest] }) => {
    const seen = lastSeen(identity.uid, by, asked)
    const named = namedIn(newest?.facts.references ?? [], identity, by, objects).map(({ object }) => object)
    const owned = objects.ownedBy(identity.uid, ANY_RESOURCE, seen, write.version ?? LAST, MAX_OWNED)
    const isLater = ({ identity: { uid }, versions: [last] }: KnownObject, than: bigint): boolean =>
      uid !== write.object.uid && (last?.version ?? 0n) > than
    // The writer may itself have changed what its objects name, and now act on that.
    return (
      named.some((one) => isLater(one, objects.lastActed(write.object.uid, by))) ||
      owned.some((one) => isLater(one, higher(seen, objects.lastActed(one.identity.uid, by))))
    )
  })
}

/** Controllers react to what they watch within this time. */
const REACTS_WITHIN_NS = nanosOfMs(1_500)
/** The most objects that are searched of each kind in a namespace. */
const MAX_WATCHED = 8
const WATCHED = [
  ...['pods', 'services', 'configmaps', 'secrets', 'deployments', 'replicasets', 'statefulsets'],
  ...['daemonsets', 'jobs', 'persistentvolumeclaims', 'serviceaccounts', 'resourcequotas', 'ingresses'],
]

/**
 * Whether nobody else has just changed an object in these namespaces that the writer may watch. False with a watch alone: only an audit log
 * tells when requests began.
 */
function isQuiet(all: readonly KnownObject[], by: string, { write, objects }: SelfAsked): boolean {
  const { object, request, version = LAST } = write
  if (request === undefined) return false
  const groups = [...objects.primariesOf(by), object.resource].flatMap((kind) => objects.groupsOf(kind))
  const kinds = new Set([...WATCHED, ...groups.flatMap((group) => objects.kindsOf(group))])
  const places = new Set([object.namespace, ...all.map(({ identity }) => identity.namespace)])
  const isJustMade = (uid: string, { version: made, readableNs = 0n }: KnownVersion): boolean => {
    const beforeNs = request.startNs - readableNs
    return beforeNs >= 0n && beforeNs < REACTS_WITHIN_NS && made > objects.lastActed(uid, by)
  }
  return [...places].every((place) =>
    [...kinds].every((kind) =>
      objects
        .changedIn(kind, place, 0n, version, MAX_WATCHED)
        .every(({ identity: { uid }, versions }) => versions.every((one) => !isJustMade(uid, one))),
    ),
  )
}

function isScaledByOther(own: KnownObject | undefined, by: string, { write, objects }: SelfAsked): boolean {
  return (lastChanged(own, 'scale')?.version ?? 0n) > objects.lastActed(write.object.uid, by)
}

/** Whether this is the version with which the writer itself last wrote the object. */
function isOwn({ identity, known }: ReadVersion, by: string, { objects }: SelfAsked): boolean {
  return known.version === objects.lastActed(identity.uid, by)
}

/** Whether a version is newer than what its reader last acted on. For built-in objects only content counts. */
function isNews({ identity, known }: ReadVersion, by: string, asked: SelfAsked): boolean {
  const isContent = !isCustomResource(identity.apiVersion) && !known.gone
  const version = (isContent ? known.contentVersion : undefined) ?? known.version
  return version > lastSeen(identity.uid, by, asked)
}

/** The highest version that a program had seen when it last wrote an object, something for it, or the object that it writes now. */
function lastSeen(uid: string, by: string, { write, objects }: SelfAsked): bigint {
  return [
    objects.lastActed(uid, by),
    objects.lastActed(uid, actorForOwner(by)),
    objects.lastActed(write.object.uid, by),
  ].reduce(higher)
}

/** Whether a controller began a change of its own with this version. */
function isOfItself(
  { uid }: ObjectIdentity,
  { version, cpid, begun }: KnownVersion,
  { cluster }: SelfAsked,
): boolean {
  return begun !== true && cpid === derivedCpid('root', { cluster, uid, version: String(version) })
}
