import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import {
  type ContentReference,
  fingerprintOf,
  isCustomResource,
  isSelectedBy,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { primariesNaming } from './primaries.ts'
import type { Relation } from './relations.ts'
import type { WritePart } from './write-part.ts'

/** What is known of a write when it is asked what was read for it. */
export interface ReadContext {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly by: string
  /** The writer is a controller, and none of Kubernetes itself. */
  readonly isCustomController: boolean
  /** The version before, with what the writer knew of the object. */
  readonly before: KnownVersion | undefined
  readonly objects: ClusterObjects
  /** Only versions below that count. */
  readonly below: bigint
  /** Versions below that came too late to be read are noted here: they are news when the writer writes next. */
  readonly tooLate: Set<bigint>
}

/** How many objects of one relation are looked at. */
export const MAX_OBJECTS = 64

/** Under which name it is noted that a controller did something to what an object owns. */
export function actorForOwner(by: string): string {
  return `${by} for its owner`
}

export interface RelatedObject {
  readonly object: KnownObject
  /** What the written object says of it, where that tells its version. */
  readonly fits?: (version: KnownVersion) => boolean
  /** Where one names the other, if it was found by that: `spec.issuerRef.name`, `labels app.kubernetes.io/instance`, `owner`. */
  readonly foundBy?: string
}

/** The objects that a relation names, for one write. */
export function relatedObjects(
  { reads, content }: Pick<Relation, 'reads' | 'content'>,
  reading: ReadContext,
  readOf: (uid: string) => KnownVersion | undefined,
): RelatedObject[] {
  const { write, part, before, objects, by, below } = reading
  const newest = (object: KnownObject): KnownVersion | undefined =>
    content === true ? newestContent(object, reading) : newestRead(object, reading)
  const changedAfter = (object: KnownObject, after: bigint): boolean =>
    (newest(object)?.version ?? 0n) > after
  const { uid, namespace, resource, name } = write.object
  const facts = write.facts ?? before?.facts
  const since = (of: string, as = by): bigint => objects.lastActed(of, as)
  const ownedAfter = (owner: string, of: string, after: bigint): KnownObject[] =>
    objects
      .ownedBy(owner, of, after, below, MAX_OBJECTS)
      .filter((object) => object.identity.uid !== uid && changedAfter(object, after))
  const changedIn = (of: string, within: string, after = since(uid)): KnownObject[] =>
    objects
      .changedIn(of, within, after, below, MAX_OBJECTS)
      .filter((object) => object.identity.uid !== uid && changedAfter(object, after))
  /** Since when it has done nothing for an owner, or since the version of it that it read, if that is longer ago. */
  const sinceOwner = (owner: string): bigint => lower(since(owner, actorForOwner(by)), readOf(owner)?.version)
  const othersOfOwners = (after: (owner: string) => bigint): KnownObject[] =>
    (facts?.owners ?? []).flatMap((owner) => ownedAfter(owner.uid, resource, after(owner.uid)))
  /** Pods of the namespace that have no node yet, the newest first. */
  const unscheduled = (): KnownObject[] =>
    changedIn('pods', namespace, before?.contentVersion ?? 0n).filter((object) => {
      const read = newest(object)
      return read?.gone === false && fingerprintOf(read.facts, 'node') === ''
    })
  /** When it looked at what its object names; where it has never written it, what is older than its content is no news. */
  const lookedLast = (): bigint => (since(uid) === 0n ? (before?.contentVersion ?? 0n) : since(uid))
  /** Of what is no custom resource only the content counts. */
  const changeOf = (object: KnownObject): bigint => {
    const read = newest(object)
    const isContent = !isCustomResource(object.identity.apiVersion) && read?.gone === false
    return (isContent ? read.contentVersion : undefined) ?? read?.version ?? 0n
  }
  /** Since when the content of something is news for a write: its owner's content, and the writer's last look. */
  const contentSince = (): bigint =>
    (facts?.owners ?? []).reduce(
      (least, owner) => higher(least, readOf(owner.uid)?.contentVersion ?? 0n),
      since(uid),
    )
  /** Whoever applies what is in git says in a status each time that it has looked: only what it applies counts. */
  const changedAsRead = (object: KnownObject, after: bigint): boolean =>
    ((tellsRevision(object) ? newestContent(object, reading) : newest(object))?.version ?? 0n) > after
  /** Since when what is applied is news: the last time that the object was written, or went. */
  const appliedLast = (): bigint => {
    const [end] = part === 'creation' ? (objects.lastGone(resource, namespace, name)?.versions ?? []) : []
    return higher(since(uid), end?.gone === true ? end.version : 0n)
  }
  switch (reads.kind) {
    case 'owner':
      return (facts?.owners ?? []).flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'dependents': {
      const changed = ownedAfter(uid, reads.resource, since(uid))
      // What changed while it wrote last, it may have read only now.
      const latest = changed.length > 0 ? changed : objects.ownedBy(uid, reads.resource, 0n, below, 1)
      return latest.map((object) => ({ object }))
    }
    case 'leaving':
      // Several that go at once are made anew at once, before their owner counts them again.
      return othersOfOwners(sinceOwner)
        .filter((object) => isGoing(newest(object)))
        .map((object) => ({ object }))
    case 'fellows':
      return othersOfOwners(() => since(uid))
        .filter((object) => isInUse(newest(object)))
        .map((object) => ({ object }))
    case 'departed': {
      // A ReplicaSet's status counts its own.
      const owners = write.object.resource === 'pods' ? (facts?.owners ?? []).map((one) => one.uid) : [uid]
      return owners.flatMap((owner) => {
        const after = owner === uid ? since(uid) : sinceOwner(owner)
        return ownedAfter(owner, 'pods departed', after)
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
    case 'predecessor':
      return candidate(objects.lastGone(resource, namespace, name)).filter(({ object }) => {
        const [last] = object.versions
        const isOf = (owner: string): boolean => last?.facts.owners.some((one) => one.uid === owner) ?? false
        return facts?.owners.some(
          ({ uid: owner }) => isOf(owner) && isMissed(newest(object), objects.get(owner), readOf(owner)),
        )
      })
    case 'named':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((reference) => {
          const named = candidate(objectOf(reference, namespace, objects))
          if (content === true) return named.filter(({ object }) => changedAfter(object, contentSince()))
          return isNamedIn(before?.facts, reference)
            ? named.filter(({ object }) => changedAfter(object, since(uid)))
            : named
        })
    case 'ended':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((one) => candidate(objects.lastGone(one.resource, one.namespace, one.name)))
        .filter(({ object }) => wentAfter(newest(object), before))
    case 'entries': {
      const shown = (version: KnownVersion): string | undefined =>
        version.gone ? '' : fingerprintOf(version.facts, reads.print)
      return changedEntries(reads.field, facts, before?.facts).flatMap(({ reference, says }) =>
        candidate(objectOf(reference, namespace, objects)).map(({ object }) => {
          // What is listed no more though it could be has other labels.
          const read = says === '' ? newest(object) : undefined
          const isUnselected = read !== undefined && shown(read) !== ''
          const fits = (version: KnownVersion): boolean =>
            isUnselected ? version.version === read.contentVersion : shown(version) === says
          return { object, fits }
        }),
      )
    }
    case 'naming':
      return objects
        .naming(
          reads.field,
          reads.resource,
          reads.isSeries ? seriesOf(write.object) : write.object,
          MAX_OBJECTS,
        )
        .map((object) => ({ object }))
    case 'namesake':
      return candidate(objects.lastGone(resource, namespace, name))
    case 'namespace':
      return candidate(objects.named('namespaces', '', namespace))
    case 'selected':
      return changedIn(reads.resource, namespace)
        .filter((object) => isSelected(object, [facts, before?.facts], below))
        .map((object) => ({ object }))
    case 'changed':
      return changedIn(reads.resource, '', higher(since(uid), before?.contentVersion ?? 0n)).map(
        (object) => ({
          object,
        }),
      )
    case 'counted':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'counted')
        .flatMap((one) => changedIn(one.resource, namespace))
        .slice(0, MAX_OBJECTS)
        .map((object) => ({ object }))
    case 'quota':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const read = readOf(owner)
        if (read === undefined || fingerprintOf(read.facts, 'refused') === '') return []
        return changedIn('resourcequotas', namespace, sinceOwner(owner)).map((object) => ({ object }))
      })
    case 'referred':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'refers to')
        .flatMap((reference) => candidate(objectOf(reference, namespace, objects), reference.says))
        .filter(({ object }) => object.identity.uid !== uid && changeOf(object) > lookedLast())
    case 'applied from': {
      const appliers = (facts?.references ?? [])
        .filter(({ field }) => field === 'applied from')
        .flatMap((reference) => candidate(objectOf(reference, namespace, objects)))
      const news = appliers.filter(({ object }) => changedAsRead(object, appliedLast()))
      return news.length > 0 || appliers.length === 0 || part !== 'creation'
        ? news
        : candidate(objects.lastGone(resource, namespace, name))
    }
    case 'primaries':
      return primariesNaming(write.object, facts, by, objects).filter(
        ({ object }) =>
          object.identity.uid !== uid &&
          changedAsRead(object, tellsRevision(object) ? appliedLast() : since(uid)),
      )
    case 'remaining':
      return (before?.facts.references ?? [])
        .filter(({ field }) => field === 'remaining')
        .flatMap((one) => changedIn(one.resource, name))
        .filter((object) => newest(object)?.gone === true)
        .map((object) => ({ object }))
    case 'kin': {
      const last = lastActedFor(reading, facts)
      return last === 0n
        ? []
        : kindsBeside(objects, by)
            .flatMap((of) => changedIn(of, namespace, last))
            .filter((object) => (newest(object)?.contentVersion ?? 0n) > last)
            .slice(0, MAX_OBJECTS)
            .flatMap((object) => candidate(object, 'same API group'))
    }
    case 'freed':
      return nodesOf(facts).flatMap((node) => {
        const there = objectOf(node, '', objects)
        if (there === undefined) return []
        const gone = ownedAfter(there.identity.uid, 'pods freed', since(uid))
        return gone.slice(0, 1).map((object) => ({ object }))
      })
    case 'preemptor':
      return nodesOf(facts).flatMap((node) => {
        const named = { ...node, apiVersion: 'v1', uid: '' }
        const nominated = objects
          .naming('nominated', 'pods', named, MAX_OBJECTS)
          .filter((object) => object.identity.uid !== uid)
        const [waiting] = nominated.length > 0 ? [] : unscheduled()
        return [...nominated, ...(waiting === undefined ? [] : [waiting])].map((object) => ({ object }))
      })
  }
}

function tellsRevision({ versions: [newest] }: KnownObject): boolean {
  return newest !== undefined && fingerprintOf(newest.facts, 'revision') !== undefined
}

/** When a controller did something last for an object or its owners. */
export function lastActedFor(
  { write: { object }, by, objects }: ReadContext,
  facts: ObjectFacts | undefined,
): bigint {
  const owners = (facts?.owners ?? []).map(({ uid }) => uid)
  const acted = [object.uid, ...owners].flatMap((uid) => [
    objects.lastActed(uid, by),
    objects.lastActed(uid, actorForOwner(by)),
  ])
  return acted.reduce(higher, 0n)
}

/** Custom resources of the API groups of what a controller looks after, which it does not look after itself: its settings, as it were. */
function kindsBeside(objects: ClusterObjects, by: string): string[] {
  const primaries = objects.primariesOf(by)
  const groups = new Set(primaries.flatMap((resource) => objects.groupsOf(resource)))
  return [...groups].flatMap((group) => objects.kindsOf(group)).filter((one) => !primaries.includes(one))
}

function nodesOf(facts: ObjectFacts | undefined): ContentReference[] {
  return facts?.references.filter(({ field }) => field === 'node') ?? []
}

/** Selected as it was below a version, or as it was before it changed last. */
function isSelected(
  { versions }: KnownObject,
  selecting: readonly (ObjectFacts | undefined)[],
  below: bigint,
): boolean {
  const lately = versions.filter(({ version }) => version < below).slice(0, 2)
  return selecting
    .flatMap((facts) => facts?.selects ?? [])
    .some((selector) => lately.some(({ facts: { labels = {} } }) => isSelectedBy(labels, selector)))
}

/** It has an owner that it had not before it changed last. */
function isNewlyOwned({ versions }: KnownObject, owner: string, below: bigint): boolean {
  const [now, then] = versions.filter(({ version }) => version < below)
  const isOwned = (version: KnownVersion | undefined): boolean =>
    version?.facts.owners.some(({ uid }) => uid === owner) === true
  return now?.gone === false && isOwned(now) && then !== undefined && !isOwned(then)
}

function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

/** The version since which the newest that can have been read is in content as it is; of those that are kept, the nearest. */
export function newestContent(object: KnownObject, reading: ReadContext): KnownVersion | undefined {
  const newest = newestRead(object, reading)
  const since = newest?.contentVersion
  if (newest === undefined || since === undefined) return newest
  return object.versions.find(({ version }) => version === since) ?? object.versions.at(-1)
}

function lower(one: bigint, other = one): bigint {
  return one < other ? one : other
}

/** Entries that a list has now and had not, or had and has not; `says` is empty for those. */
function changedEntries(
  field: string,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): { reference: ContentReference; says: string }[] {
  const entriesOf = (of: ObjectFacts | undefined): Map<string, ContentReference> =>
    new Map(of?.references.filter((one) => one.field === field).map((one) => [one.uid ?? one.name, one]))
  const [now, then] = [entriesOf(facts), entriesOf(before)]
  const fresh = [...now].flatMap(([key, reference]) =>
    reference.says === then.get(key)?.says ? [] : [{ reference, says: reference.says ?? '' }],
  )
  const left = [...then].flatMap(([key, reference]) => (now.has(key) ? [] : [{ reference, says: '' }]))
  return [...fresh, ...left].slice(0, MAX_OBJECTS)
}

function objectOf(
  { uid, resource, namespace, name }: ContentReference,
  ofWrite: string,
  objects: ClusterObjects,
): KnownObject | undefined {
  const known = uid === undefined ? undefined : objects.get(uid)
  return (
    known ??
    objects.named(resource, namespace, name) ??
    objects.named(resource, ofWrite, name) ??
    objects.named(resource, '', name)
  )
}

function candidate(object: KnownObject | undefined, foundBy?: string): RelatedObject[] {
  return object === undefined ? [] : [{ object, ...(foundBy !== undefined && { foundBy }) }]
}

function seriesOf(object: ObjectIdentity): ObjectIdentity {
  return { ...object, name: object.name.replace(/-\d+$/, '') }
}

function isNamedIn(
  facts: ObjectFacts | undefined,
  { field, resource, namespace, name }: ContentReference,
): boolean {
  const isSame = (one: ContentReference): boolean =>
    one.field === field && one.resource === resource && one.namespace === namespace && one.name === name
  return facts?.references.some(isSame) === true
}

/** An object went since its owner's author last wrote: it was wanted still, whatever status the owner got meanwhile. */
function isMissed(
  end: KnownVersion | undefined,
  owner: KnownObject | undefined,
  read: KnownVersion | undefined,
): boolean {
  if (end?.gone !== true) return false
  const then = owner && newestBelow(owner, end.version)
  return end.version > (read?.version ?? 0n) || then?.facts.generation === read?.facts.generation
}

/** An object went, and later than a version of another was made. */
function wentAfter(end: KnownVersion | undefined, known: KnownVersion | undefined): boolean {
  return end?.gone === true && end.version > (known?.version ?? 0n)
}

/** Something of it is there or wanted. */
function isInUse(version: KnownVersion | undefined): boolean {
  if (version === undefined || version.gone) return false
  return ['size', 'replicas'].some((print) => (fingerprintOf(version.facts, print) ?? '0') !== '0')
}

function isGoing(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

/** Of another object than the one that is written, the newest version that can have been read. */
function newestRead({ versions }: KnownObject, reading: ReadContext): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading))
}

/**
 * It was there when the request began, as far as anybody tells; without that, it is enough that it came before the write. A version below
 * that was asked for after the request had ended shows that the two API servers' clocks differ, and nothing else.
 */
export function mayHaveRead({ version, readableNs = 0n }: KnownVersion, reading: ReadContext): boolean {
  const { request } = reading.write
  if (version >= reading.below) return false
  if (request === undefined || readableNs <= request.startNs || readableNs > request.endNs) return true
  reading.tooLate.add(version)
  return false
}

export function newestBelow({ versions }: KnownObject, below: bigint): KnownVersion | undefined {
  return versions.find(({ version }) => version < below)
}
