import {
  ANY_RESOURCE,
  type ClusterObjects,
  type KnownObject,
  type KnownVersion,
  MADE_FOR,
} from '../../model/inference-store.ts'
import {
  FINGERPRINT,
  fingerprintOf,
  isCustomResource,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import {
  actorForOwner,
  candidate,
  higher,
  isDeleted,
  MAX_OBJECTS,
  type News,
  newestBelow,
  type ReadContext,
  type RelatedObject,
} from './read-context.ts'
import type { Reads } from './reads.ts'
import { isSignedByServer } from './requests-of-writes.ts'

const OF_OWNER = [
  'owner',
  'dependents',
  'leaving',
  'replaced',
  'edited',
  'fellows',
  'departed',
  'adopted',
  'former owner',
  'awaited',
  'ended below',
  'quota',
  'predecessor',
  'admission',
] as const

type OfOwner = Extract<Reads, { kind: (typeof OF_OWNER)[number] }>

/** Whether a relation names owners, what an object owns, or what else its owners own. */
export function isOfOwner(reads: Reads): reads is OfOwner {
  return OF_OWNER.some((kind) => kind === reads.kind)
}

/** Owners, what an object owns, and what else its owners own. */
export function relatives(
  reads: OfOwner,
  { write, part, before, objects, by, below }: ReadContext,
  { readOf, newest, facts, since, ownedAfter, changedIn, changedAfter }: News,
): RelatedObject[] {
  const { uid, namespace, resource, name } = write.object
  /** The version up to which the writer acted for an owner, or the owner's version that it read, if that is lower. */
  const sinceOwner = (owner: string): bigint => lower(since(owner, actorForOwner(by)), readOf(owner)?.version)
  /** The resources that may have refused objects of an owner, and the version after which a change of these lets the objects through. */
  const refusals = (owner: string): { refusing: readonly string[]; after: bigint } => {
    const read = readOf(owner)
    if (read === undefined) return { refusing: [], after: below }
    const refused = fingerprintOf(read.facts, 'refused')
    const isGuess = refused === undefined
    const content = isGuess ? (read.contentVersion ?? read.version) : 0n
    const last = !isGuess || CREATES_AT_ONCE.has(by) ? sinceOwner(owner) : 0n
    const refusing = isGuess ? MAY_REFUSE : refused.split(' ').filter((one) => one !== '')
    return { refusing, after: higher(content, last) }
  }
  /** Whether an object of the owner was created between the owner's content and that version: then nothing had refused it before. */
  const isMadeBefore = (owner: string, version: bigint): boolean => {
    const read = readOf(owner)
    if (read === undefined || fingerprintOf(read.facts, 'refused') !== undefined || CREATES_AT_ONCE.has(by))
      return false
    const content = read.contentVersion ?? read.version
    return ownedAfter(owner, resource, content).some((object) => {
      const made = createdAt(object)
      return made !== undefined && made > content && made < version
    })
  }
  const othersOfOwners = (after: (owner: string) => bigint): KnownObject[] =>
    (facts?.owners ?? []).flatMap((owner) => ownedAfter(owner.uid, resource, after(owner.uid)))
  switch (reads.kind) {
    case 'owner':
      return (facts?.owners ?? []).flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'dependents': {
      const changed = ownedAfter(uid, reads.resource, since(uid))
      // What changed during the writer's last write may be read only now.
      const latest = changed.length > 0 ? changed : objects.ownedBy(uid, reads.resource, 0n, below, 1)
      return latest.map((object) => ({ object }))
    }
    case 'leaving':
      // Several Pods that are deleted at once are replaced at once, before their owner's status counts them again.
      return othersOfOwners(sinceOwner)
        .filter((object) => isDeleted(newest(object)) || hasFinished(newest(object)))
        .map((object) => ({ object }))
    case 'replaced':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) =>
        ownedAfter(owner, resource, sinceOwner(owner)).flatMap((object) => {
          const end = newest(object)
          const isLike = end !== undefined && facts?.prints.template === end.facts.prints.template
          return isLike && isMissed(end, objects.get(owner), readOf(owner)) ? [{ object }] : []
        }),
      )
    case 'edited':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        // A creation follows from edits since the writer last acted for the owner; a scaling from all since the owner's content changed.
        const after = part === 'creation' ? sinceOwner(owner) : (readOf(owner)?.contentVersion ?? below)
        const own = part === 'creation' ? undefined : objects.get(uid)
        return [...(own === undefined ? [] : [own]), ...ownedAfter(owner, resource, after)].flatMap(
          (object) => {
            const edit = lastEdit(object, part === 'creation' ? FINGERPRINT.authored : 'template', below)
            return edit !== undefined && edit > after
              ? [{ object, fits: ({ version }: KnownVersion) => version === edit }]
              : []
          },
        )
      })
    case 'fellows':
      return othersOfOwners(() => since(uid))
        .filter((object) => isInUse(newest(object)))
        .map((object) => ({ object }))
    case 'departed': {
      // A status counts what the object itself owns.
      const owners = part === 'status' ? [uid] : (facts?.owners ?? []).map((one) => one.uid)
      return owners.flatMap((owner) => {
        const after = owner === uid ? since(uid) : sinceOwner(owner)
        return ownedAfter(owner, `${reads.resource} departed`, after)
          .filter((object) => (newest(object)?.contentVersion ?? 0n) > after)
          .map((object) => ({ object }))
      })
    }
    case 'adopted':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const last = since(owner, actorForOwner(by))
        if (last === 0n || (readOf(owner)?.contentVersion ?? 0n) > last) return []
        return ownedAfter(owner, resource, last - 1n)
          .filter((object) => newest(object)?.version === last && isNewlyOwned(object, owner, below))
          .map((object) => ({ object }))
      })
    case 'former owner':
      return (before?.facts.owners ?? [])
        .filter((owner) => write.facts?.owners.every((one) => one.uid !== owner.uid) ?? false)
        .flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'quota':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const { refusing, after } = refusals(owner)
        if (!refusing.includes('resourcequotas')) return []
        return changedIn('resourcequotas', namespace, after).flatMap((object) => {
          const again = object.versions.find(
            (one) =>
              one.version < below && one.version !== one.contentVersion && !isSignedByServer(one.facts),
          )?.version
          if (again === undefined || again <= after || isMadeBefore(owner, again)) return []
          return [{ object, fits: ({ version }: KnownVersion) => version === again }]
        })
      })
    case 'awaited':
      return ownedAfter(uid, ANY_RESOURCE, before?.contentVersion ?? below)
        .filter((object) => newest(object)?.gone === true)
        .slice(0, 1)
        .map((object) => ({ object }))
    case 'ended below':
      return candidate(lastEndedBelow(write.object, below, objects))
    case 'predecessor':
      return candidate(objects.lastGone(resource, namespace, name)).filter(({ object }) => {
        const [last] = object.versions
        const isOf = (owner: string): boolean => last?.facts.owners.some((one) => one.uid === owner) ?? false
        return facts?.owners.some(
          ({ uid: owner }) => isOf(owner) && isMissed(newest(object), objects.get(owner), readOf(owner)),
        )
      })
    case 'admission':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const read = readOf(owner)
        if (read === undefined) return []
        const after = higher(sinceOwner(owner), read.contentVersion ?? read.version)
        const created = (facts?.references ?? [])
          .filter(({ field }) => field === 'needs')
          .flatMap((one) => candidate(objects.named(one.resource, one.namespace, one.name)))
          .filter(({ object }) => (createdAt(object) ?? 0n) > after)
        const within = candidate(objects.named(NAMESPACES, '', namespace)).map(({ object }) => object)
        const { refusing, after: changedSince } = refusals(owner)
        const changed = refusing.flatMap((of) =>
          of === NAMESPACES
            ? within.filter((object) => changedAfter(object, changedSince))
            : changedIn(of, OF_THE_CLUSTER.has(of) ? '' : namespace, changedSince),
        )
        const letting = changed.filter((object) => !isMadeBefore(owner, newest(object)?.version ?? 0n))
        return [...created, ...letting.map((object) => ({ object }))]
      })
  }
}

/**
 * For a Pod that leads a group: the Pod of the group that was deleted last, if the leader was not written since and the deleted Pod is not
 * replaced yet. The group consists of Pods whose owners a Pod of the leader's name owns. Such groups are restarted as a whole.
 */
export function lastEndedBelow(
  { namespace, name, uid }: ObjectIdentity,
  below: bigint,
  objects: ClusterObjects,
): KnownObject | undefined {
  const own = objects.get(uid)
  const after = (own && newestBelow(own, below)?.version) ?? below
  return objects.changedIn('pods', namespace, after, below, MAX_OBJECTS).find((object) => {
    const end = newestBelow(object, below)
    if (!isDeleted(end) || !isDeleted(objects.named('pods', namespace, object.identity.name)?.versions[0]))
      return false
    const above = end?.facts.owners.flatMap(
      (owner) => objects.get(owner.uid)?.versions[0]?.facts.owners ?? [],
    )
    return above?.some((one) => one.kind === 'Pod' && one.name === name) === true
  })
}

const NAMESPACES = 'namespaces'
const OF_THE_CLUSTER: ReadonlySet<string> = new Set([
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
  ...['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
])
/** Resources that may refuse Pods of owners whose status does not report refusals. */
const MAY_REFUSE = ['resourcequotas', 'limitranges', NAMESPACES, ...OF_THE_CLUSTER]

/** Controllers that create all wanted Pods at once: a Pod that comes later was refused before, or replaces another one. */
const CREATES_AT_ONCE: ReadonlySet<string> = new Set(['job-controller', 'daemon-set-controller'])

/** The version with which an object was created; undefined if that is no longer stored. */
function createdAt({ versions, forgotten = -1n }: KnownObject): bigint | undefined {
  return forgotten < 0n ? versions.at(-1)?.version : undefined
}

/** The last version below another one in which an operator changed what a fingerprint covers. */
function lastEdit({ versions }: KnownObject, print: string, below: bigint): bigint | undefined {
  const printOf = (version: KnownVersion | undefined): string | undefined =>
    version && fingerprintOf(version.facts, print)
  return versions.find((known, at) => {
    const then = versions[at + 1]
    const isEdited = known.begun === true && known.version < below && !isDeleted(known)
    return isEdited && then !== undefined && printOf(known) !== printOf(then)
  })?.version
}

/** Whether the last change of an object below a version gave it this owner. */
export function isNewlyOwned({ versions }: KnownObject, owner: string, below: bigint): boolean {
  const [now, then] = versions.filter(({ version }) => version < below)
  const isOwned = (version: KnownVersion | undefined): boolean =>
    version?.facts.owners.some(({ uid }) => uid === owner) === true
  return now?.gone === false && isOwned(now) && then !== undefined && !isOwned(then)
}

/** Whether an object was deleted after `read`, or under the same generation of its owner: the owner still wants it. */
function isMissed(
  end: KnownVersion | undefined,
  owner: KnownObject | undefined,
  read: KnownVersion | undefined,
): boolean {
  if (end?.gone !== true) return false
  const then = owner && newestBelow(owner, end.version)
  return end.version > (read?.version ?? 0n) || then?.facts.generation === read?.facts.generation
}

/** Whether an object has replicas or wants any. */
function isInUse(version: KnownVersion | undefined): boolean {
  if (version === undefined || version.gone) return false
  return ['size', 'replicas'].some((print) => (fingerprintOf(version.facts, print) ?? '0') !== '0')
}

/** Whether a Pod does not count as a replica: it has finished or is being deleted. */
function hasFinished(version: KnownVersion | undefined): boolean {
  return version !== undefined && fingerprintOf(version.facts, 'replicas') === '0'
}

function lower(one: bigint, other = one): bigint {
  return one < other ? one : other
}

/** Whether a Pod that is still on its node freed room there: it has ended, or its content changed. */
export function hasMadeRoom(now: ObjectFacts, then: ObjectFacts | undefined): boolean {
  const { node = '' } = now.prints
  if (then === undefined || node === '' || then.prints.node !== node || now.deleting) return false
  const hasEnded = now.prints.replicas === '0' && then.prints.replicas !== '0'
  return hasEnded || fingerprintOf(now, FINGERPRINT.authored) !== fingerprintOf(then, FINGERPRINT.authored)
}

/** The most former owners, and the most objects that it was made for, that are kept. */
const MAX_FOUND_BY = 4

/**
 * The keys by which `ownedBy` finds an object besides its owners: former owners, the node on which it freed room, its
 * CustomResourceDefinition that is being deleted, and the objects that its controller made it for.
 */
export function foundBy(
  identity: ObjectIdentity,
  { facts, gone, madeFor }: Pick<KnownVersion, 'facts' | 'gone'> & { readonly madeFor: readonly string[] },
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): NonNullable<ObjectFacts['foundBy']> {
  const had = [
    ...(before?.owners ?? []).map(({ uid }) => ({ uid, as: 'departed' })),
    ...(before?.foundBy ?? []).filter(({ as }) => as === 'departed'),
  ]
  const departed = had.filter(({ uid }) => facts.owners.every((owner) => owner.uid !== uid))
  const isFreed = gone || hasMadeRoom(facts, before) || before?.foundBy?.some(({ as }) => as === 'freed')
  const nodes = isFreed === true ? facts.references.filter(({ field }) => field === 'node') : []
  const freed = nodes.flatMap(({ name }) => {
    const node = objects.named('nodes', '', name)
    return node === undefined ? [] : [{ uid: node.identity.uid, as: 'freed' }]
  })
  const definition = gone ? definitionOf(identity, objects) : undefined
  const ended = definition !== undefined && isDeleted(definition.versions[0])
  const instances = ended ? [{ uid: definition.identity.uid, as: 'defined' }] : []
  const earlier = (before?.foundBy ?? []).filter(({ as }) => as === MADE_FOR).map(({ uid }) => uid)
  const primaries = [...new Set([...madeFor, ...earlier])].slice(0, MAX_FOUND_BY)
  const made = primaries.map((uid) => ({ uid, as: MADE_FOR }))
  return [...departed.slice(0, MAX_FOUND_BY), ...freed, ...instances, ...made]
}

function definitionOf(
  { apiVersion, resource }: ObjectIdentity,
  objects: ClusterObjects,
): KnownObject | undefined {
  if (!isCustomResource(apiVersion)) return undefined
  const group = apiVersion.slice(0, apiVersion.indexOf('/'))
  return objects.named('customresourcedefinitions', '', `${resource}.${group}`)
}
