import {
  ANY_RESOURCE,
  foundUnder,
  type KnownObject,
  type KnownVersion,
  MADE_FOR,
} from '../../model/inference-store.ts'
import {
  type ContentReference,
  fingerprintOf,
  isCustomResource,
  isSelectedBy,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import { groupOf, labelledFor, namedByLabels, namedIn, objectOf, resourcesOf } from './named-objects.ts'
import { closedNodeOf } from './closed-nodes.ts'
import { trimmedFor } from './history.ts'
import { justBegun } from './just-begun.ts'
import { type FoundPrimary, namingWithOwners } from './primaries.ts'
import {
  actorForOwner,
  candidate,
  higher,
  isDeleted,
  isDoneTogether,
  isJustBefore,
  isNewsOfOthers,
  isStillToBeDone,
  lastActedFor,
  MAX_OBJECTS,
  newestContent,
  type News,
  newsFor,
  REACTS_WITHIN_NS,
  type ReadContext,
  type RelatedObject,
  tellsRevision,
} from './read-context.ts'
import { kindsBeside, siblingKinds, wasJustDeleted } from './sibling-kinds.ts'
import type { Relation } from './relations.ts'
import { isOfOwner, relatives } from './relatives.ts'
import { isOfRoom, roomFor } from './rooms.ts'
import { isEviction } from './write-part.ts'
import { SERVICE_ACCOUNT } from './writers.ts'

/** What custom resources select by labels. */
const SELECTABLE = ['deployments', 'statefulsets', 'daemonsets', 'services', 'pods']

const MADE_FOR_IT = foundUnder(ANY_RESOURCE, MADE_FOR)

/** Resources that annotations such as `reflects: shop/settings` may name, besides the annotated object's own resource. */
const COPIED = ['secrets', 'configmaps']

/** The objects that a relation names for one write. */
export function relatedObjects(
  { reads, content }: Pick<Relation, 'reads' | 'content'>,
  reading: ReadContext,
  readOf: (uid: string) => KnownVersion | undefined,
): RelatedObject[] {
  const news = newsFor(reading, content === true, readOf)
  if (isOfOwner(reads)) return relatives(reads, reading, news)
  if (isOfRoom(reads)) return roomFor(reads, reading, news)
  const { write, part, before, objects, by, below } = reading
  const { uid, namespace, resource, name } = write.object
  const { newest, changedAfter, facts, since, ownedAfter, changedIn } = news
  /** The version up to which the writer knew what its object names; if it never wrote the object, the version of the object's content. */
  const lookedLast = (): bigint => (since(uid) === 0n ? (before?.contentVersion ?? 0n) : since(uid))
  /** The version of an object's last change. For existing objects other than custom resources only content counts. */
  const changeOf = (object: KnownObject): bigint => {
    const read = newest(object)
    const isContent = !isCustomResource(object.identity.apiVersion) && read?.gone === false
    return (isContent ? read.contentVersion : undefined) ?? read?.version ?? 0n
  }
  /** The version after which content is news: the highest of the owners' contentVersion and of what the writer last knew. */
  const contentSince = (): bigint =>
    (facts?.owners ?? []).reduce(
      (least, owner) => higher(least, readOf(owner.uid)?.contentVersion ?? 0n),
      since(uid),
    )
  /** Whether an object changed. A GitOps controller writes a status at every poll, so only the content of its objects counts. */
  const changedAsRead = (object: KnownObject, after: bigint): boolean =>
    ((tellsRevision(object) ? newestContent(object, reading) : newest(object))?.version ?? 0n) > after
  /** The version after which a source is news: when the writer last wrote the object, or an object of this name was deleted. */
  const appliedLast = (): bigint => {
    const [end] = part === 'creation' ? (objects.lastGone(resource, namespace, name)?.versions ?? []) : []
    return higher(since(uid), end?.gone === true ? end.version : 0n)
  }
  /**
   * The version after which changes are news for a primary object: the highest of its own newest version and of what the writer knew when
   * it last wrote it, or the object. Writes of other objects count only for a creation: one change may make a writer write several.
   */
  const actedLastFor = (primary: KnownObject): bigint =>
    [since(primary.identity.uid), newest(primary)?.version ?? 0n].reduce(
      higher,
      part === 'creation' ? lastActedFor(reading, facts) : since(uid),
    )
  /** The version after which changes of what is copied are news. A copy made in a newer namespace follows from the namespace. */
  const copiedLast = (): bigint => {
    const [there] = part === 'creation' ? (objects.named('namespaces', '', namespace)?.versions ?? []) : []
    return there === undefined ? lookedLast() : higher(there.contentVersion ?? there.version, lookedLast())
  }
  const hasJustChanged = (object: KnownObject, withinNs?: bigint): boolean => {
    const content = newestContent(object, reading)
    const isJust =
      write.request === undefined ? isNewsOfOthers(object, reading, withinNs) : isJustBefore(write, content)
    return isJust && (content?.version ?? 0n) > lookedLast()
  }
  /** The objects that labels name and, for a creation, the namespace if that is newer than all of them. */
  const madeUnderGroup = (): RelatedObject[] => {
    const contentOf = (object: KnownObject): bigint => newestContent(object, reading)?.version ?? 0n
    const named = namedByLabels(facts?.references ?? [], objects)
    const there =
      part === 'creation' && named.length > 0 ? objects.named('namespaces', '', namespace) : undefined
    const isNewer = there !== undefined && named.every(({ object }) => contentOf(object) < contentOf(there))
    return [...named, ...(isNewer ? candidate(there, 'namespace') : [])]
  }
  /** What the content of the object refers to, or referred to before the write. */
  const referred = (): RelatedObject[] =>
    namedIn(
      [...(facts?.references ?? []), ...leftOut(facts, before?.facts)],
      write.object,
      by,
      objects,
    ).filter(({ object }) => object.identity.uid !== uid)
  const namedAs = (...fields: string[]): RelatedObject[] =>
    (facts?.references ?? [])
      .filter(({ field }) => fields.includes(field))
      .flatMap((reference) => candidate(objectOf(reference, namespace, objects)))
  switch (reads.kind) {
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
    case 'named since':
      return namedAs(reads.field).filter(({ object }) =>
        changedAfter(object, before?.contentVersion ?? below),
      )
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
          // A Pod that could still be listed but is not has other labels now: its last change of content.
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
      // That the writer itself deleted an object is no reason to create the next one of that name.
      return candidate(objects.lastGone(resource, namespace, name)).filter(
        ({ object: { identity, versions } }) =>
          since(identity.uid) === 0n || versions.some((one) => one.begun && isDeleted(one)),
      )
    case 'namespace':
      return candidate(objects.named('namespaces', '', namespace))
    case 'new kin':
      if (!isCustomResource(write.object.apiVersion)) return []
      return objects
        .kindsOf(groupOf(write.object))
        .flatMap((of) => changedIn(of, namespace))
        .filter(
          (object) =>
            since(object.identity.uid) === 0n && isJustBefore(write, newestContent(object, reading)),
        )
        .slice(0, MAX_OBJECTS)
        .flatMap((object) => candidate(object, 'same API group'))
    case 'new namespace':
      // People create objects in namespaces that they have just created, and a watch alone does not tell people from controllers.
      if (write.request === undefined && part === 'creation' && !reading.isCustomController) return []
      return candidate(objects.named('namespaces', '', namespace)).filter(
        ({ object }) => hasJustChanged(object) && changedAfter(object, before?.contentVersion ?? 0n),
      )
    case 'settings':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'settings')
        .flatMap((reference) => {
          // People mount settings that somebody has just made. A program that rolls out for them reads what was mounted before.
          const withinNs = isNamedIn(before?.facts, reference) ? REACTS_WITHIN_NS : undefined
          return candidate(objectOf(reference, namespace, objects)).filter(({ object }) =>
            hasJustChanged(object, withinNs),
          )
        })
    case 'just begun':
      return justBegun(reading, news)
    case 'successor':
      return candidate(trimmedFor(write.object, facts, write.seenNs, objects)?.successor)
    case 'closed node': {
      const closed = isEviction(write, facts) ? closedNodeOf(objects.get(uid), facts, objects) : undefined
      return closed === undefined
        ? []
        : [{ object: closed.node, fits: ({ version }) => version === closed.closing.version }]
    }
    case 'selected':
      return changedIn(reads.resource, namespace)
        .filter((object) => isSelected(object, [facts, before?.facts], below))
        .map((object) => ({ object }))
    case 'selected by it':
      if (facts?.selects === undefined) return []
      return SELECTABLE.flatMap((of) => changedIn(of, namespace)).flatMap((object): RelatedObject[] => {
        const last = changesOf(object, since(uid), below).find((at) => isSelected(object, [facts], at + 1n))
        return last === undefined
          ? []
          : [{ object, fits: ({ version }) => version === last, foundBy: 'selector' }]
      })
    case 'changed': {
      const within = reads.isBeside === true ? namespace : ''
      const changed = changedIn(reads.resource, within, higher(since(uid), before?.contentVersion ?? 0n))
      return changed.filter((object) => mayBeFor(facts, object, below)).map((object) => ({ object }))
    }
    case 'users': {
      const references = (facts?.references ?? []).filter(({ field }) => field === reads.of)
      const used =
        reads.of === undefined
          ? [write.object]
          : references.flatMap((one) => objectOf(one, namespace, objects)?.identity ?? [])
      return used
        .flatMap((one) => objects.naming(reads.field, reads.resource, one, MAX_OBJECTS))
        .filter((object) => changedAfter(object, lookedLast()))
        .map((object) => ({ object }))
    }
    case 'counted':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'counted')
        .flatMap((one) => changedIn(one.resource, namespace))
        .slice(0, MAX_OBJECTS)
        .map((object) => ({ object }))
    case 'referred':
      return referred().filter(({ object }) => changeOf(object) > lookedLast())
    case 'applied from': {
      const appliers = namedAs('applied from')
      const news = appliers.filter(({ object }) => changedAsRead(object, appliedLast()))
      return news.length > 0 || appliers.length === 0 || part !== 'creation'
        ? news
        : candidate(objects.lastGone(resource, namespace, name))
    }
    case 'primaries':
      return reading
        .primaries()
        .filter(
          ({ object, isIndirect }) =>
            object.identity.uid !== uid &&
            (isIndirect === true
              ? (newestContent(object, reading)?.version ?? 0n) > since(uid)
              : changedAsRead(object, tellsRevision(object) ? appliedLast() : since(uid))),
        )
    case 'named by primaries':
      return primariesOfWrite(reading).flatMap(({ object: primary }) => {
        const after = actedLastFor(primary)
        return (newest(primary)?.facts.references ?? [])
          .filter(({ field }) => field === 'refers to')
          .flatMap((reference) => namedBy(primary.identity, reference, reading))
          .filter(({ object: { identity } }) => identity.uid !== uid && identity.uid !== primary.identity.uid)
          .filter(({ object }) => changedAfter(object, after))
          .slice(0, MAX_OBJECTS)
      })
    case 'selected namespace': {
      const selecting = primariesOfWrite(reading).filter(
        ({ object: { identity } }) => identity.namespace === '' && identity.uid !== uid,
      )
      const selected = candidate(objects.named('namespaces', '', namespace))
      return selecting.flatMap(({ object: primary }) =>
        selected.filter(({ object }) => changedAfter(object, actedLastFor(primary))),
      )
    }
    case 'annotated':
      return (facts?.references ?? [])
        .filter((one) => one.field === 'labelled' && one.namespace !== namespace)
        .flatMap((one) =>
          COPIED.concat(resource).flatMap((of) =>
            candidate(objects.named(of, one.namespace, one.name), one.says),
          ),
        )
        .filter(({ object }) => object.identity.uid !== uid && changedAfter(object, copiedLast()))
    case 'remaining':
      return (before?.facts.references ?? [])
        .filter(({ field }) => field === 'remaining')
        .flatMap((one) => changedIn(one.resource, name))
        .filter((object) => newest(object)?.gone === true)
        .map((object) => ({ object }))
    case 'made for it':
      if (!objects.primariesOf(by).includes(resource)) return []
      return labelledFor(write.object, objects)
        .filter((object) => object.identity.uid !== uid && changedAfter(object, since(uid)))
        .map((object) => ({ object }))
    case 'named just before':
      return [
        ...[...madeUnderGroup(), ...referred()],
        ...(part === 'authored' ? namedAs('claim', 'volume') : []),
      ].filter(({ object }) => isNewsOfOthers(object, reading))
    case 'naming just before':
      return namingWithOwners(write.object, facts, objects).filter(({ object }) =>
        write.request === undefined && part === 'deletion'
          ? isStillToBeDone(object, reading)
          : isNewsOfOthers(object, reading),
      )
    case 'restored':
      return candidate(objects.lastGone(resource, namespace, name)).filter(({ object }) => {
        const end = newest(object)
        const isWanted = reading
          .primaries()
          .every(({ object: primary }) => (newest(primary)?.contentVersion ?? 0n) < (end?.version ?? 0n))
        const isSeen = reading.isCustomController || isJustBefore(write, end)
        return end?.gone === true && isWanted && isSeen && since(object.identity.uid) > 0n
      })
    case 'made for the same':
      return madeForTheSame(reading, news)
    case 'done just before':
      return doneJustBefore(reading, news)
    case 'kin': {
      const last = lastActedFor(reading, facts)
      if (last === 0n && (part !== 'creation' || reading.primaries().length > 0)) return []
      const isNews = (object: KnownObject): boolean =>
        last === 0n ? isNewsOfOthers(object, reading) : (newest(object)?.contentVersion ?? 0n) > last
      const isNewsOfSibling = (object: KnownObject): boolean =>
        isNewsOfOthers(object, reading) || wasJustDeleted(object, reading)
      return [
        ...kindsBeside(reading).flatMap((of) => changedIn(of, namespace, last).filter(isNews)),
        ...siblingKinds(reading).flatMap((of) => changedIn(of, namespace, last).filter(isNewsOfSibling)),
      ]
        .slice(0, MAX_OBJECTS)
        .flatMap((object) => candidate(object, 'same API group'))
    }
    case 'defined': {
      const gone = ownedAfter(
        uid,
        `${name.slice(0, name.indexOf('.'))} defined`,
        higher(since(uid), before?.version ?? 0n),
      )
      return gone.slice(0, 1).map((object) => ({ object }))
    }
  }
}

/** The objects for which a write was made: owners, and the primary objects of the writer that the object belongs to, or is. */
function madeFor(reading: ReadContext): readonly KnownObject[] {
  const { write, by, before, objects } = reading
  const owners = ((write.facts ?? before?.facts)?.owners ?? []).flatMap(({ uid }) => objects.get(uid) ?? [])
  const belongsTo = primariesOfWrite(reading).filter(({ isIndirect }) => isIndirect !== true)
  const own = objects.primariesOf(by).includes(write.object.resource)
    ? objects.get(write.object.uid)
    : undefined
  const all = [...owners, ...belongsTo.map(({ object }) => object), ...(own === undefined ? [] : [own])]
  return [...new Map(all.map((one) => [one.identity.uid, one])).values()]
}

/** Other objects that were made for the same object, and that somebody else changed since the writer last acted for that object. */
function madeForTheSame(
  reading: ReadContext,
  { newest, since, ownedAfter, changedAfter }: News,
): RelatedObject[] {
  const { by, write, objects } = reading
  return madeFor(reading).flatMap(({ identity }) => {
    const { uid, name } = identity
    const after = [since(uid), since(uid, actorForOwner(by)), since(write.object.uid)].reduce(higher)
    const labelled = labelledFor(identity, objects).filter(
      (object) => object.identity.uid !== write.object.uid && changedAfter(object, after),
    )
    return [...ownedAfter(uid, MADE_FOR_IT, after), ...labelled]
      .filter((object) => (newest(object)?.version ?? 0n) > since(object.identity.uid))
      .flatMap((object) => candidate(object, `made for ${name}`))
  })
}

/** What the writer last wrote for the same owner or primary object, if that was just before: one reconcile writes several objects. */
function doneJustBefore(reading: ReadContext, { since, ownedAfter }: News): RelatedObject[] {
  const { by, write } = reading
  return madeFor(reading).flatMap(({ identity: { uid } }) => {
    const last = since(uid, actorForOwner(by))
    if (last <= since(write.object.uid)) return []
    return [ANY_RESOURCE, MADE_FOR_IT].flatMap((of) =>
      ownedAfter(uid, of, last - 1n).flatMap((object): RelatedObject[] => {
        const done = object.versions.find(({ version }) => version === last)
        const isTogether = done !== undefined && isDoneTogether(write, done)
        return isTogether ? [{ object, fits: ({ version }) => version === last }] : []
      }),
    )
  })
}

/** The primary objects of a write. If a creation has none, its owners that are custom resources: the writer seems to reconcile these. */
function primariesOfWrite({ write, part, primaries, objects }: ReadContext): readonly FoundPrimary[] {
  const known = primaries()
  if (known.length > 0 || part !== 'creation') return known
  return (write.facts?.owners ?? [])
    .flatMap(({ uid }) => objects.get(uid) ?? [])
    .filter(({ identity }) => isCustomResource(identity.apiVersion))
    .map((object) => ({ object, foundBy: 'owner' }))
}

/** What a primary object names: in its own namespace if it is in one, else in that of the written object or of the controller. */
function namedBy(
  primary: ObjectIdentity,
  reference: ContentReference,
  { write, by, objects }: ReadContext,
): RelatedObject[] {
  const account = SERVICE_ACCOUNT.exec(write.request?.actor.user ?? '')?.[1] ?? ''
  const places = primary.namespace === '' ? [write.object.namespace, account] : [primary.namespace]
  return resourcesOf(reference, primary, by, objects).flatMap((resource) =>
    places.flatMap((place) =>
      candidate(objectOf({ ...reference, resource }, place, objects), reference.says),
    ),
  )
}

/** The versions in (after, below) with which somebody changed the content or the labels, newest first. */
function changesOf({ versions }: KnownObject, after: bigint, below: bigint): bigint[] {
  return versions.flatMap(({ version, contentVersion, begun }) => {
    const isChange = begun === true || version === contentVersion
    return isChange && version > after && version < below ? [version] : []
  })
}

/** Whether a node has, or had before its last change, the labels of a Pod's `nodeSelector`. True for other kinds and without a selector. */
function mayBeFor(pod: ObjectFacts | undefined, object: KnownObject, below: bigint): boolean {
  const asked = pod?.prints.selector?.split(',').map((one) => one.split('=')) ?? []
  if (object.identity.resource !== 'nodes' || asked.length === 0) return true
  const labels = Object.fromEntries(asked) as Record<string, string>
  return isSelected(object, [{ selects: [{ labels, rules: [] }] }], below)
}

/** The object matches the selector below a version, or matched it before its last change. */
function isSelected(
  { versions }: KnownObject,
  selecting: readonly (Pick<ObjectFacts, 'selects'> | undefined)[],
  below: bigint,
): boolean {
  const lately = versions.filter(({ version }) => version < below).slice(0, 2)
  return selecting
    .flatMap((facts) => facts?.selects ?? [])
    .some((selector) => lately.some(({ facts: { labels = {} } }) => isSelectedBy(labels, selector)))
}

/** Entries that were added to a list or removed from it. `says` is empty for removed ones. */
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

function seriesOf(object: ObjectIdentity): ObjectIdentity {
  return { ...object, name: object.name.replace(/-\d+$/, '') }
}

/** The references that a write removed from a custom resource. */
function leftOut(facts: ObjectFacts | undefined, before: ObjectFacts | undefined): ContentReference[] {
  return (before?.references ?? []).filter((one) => one.field === 'refers to' && !isNamedIn(facts, one))
}

function isNamedIn(
  facts: ObjectFacts | undefined,
  { field, resource, namespace, name }: ContentReference,
): boolean {
  const isSame = (one: ContentReference): boolean =>
    one.field === field && one.resource === resource && one.namespace === namespace && one.name === name
  return facts?.references.some(isSame) === true
}

/** Whether an object was deleted after `known`, a version of another object, was made. */
function wentAfter(end: KnownVersion | undefined, known: KnownVersion | undefined): boolean {
  return end?.gone === true && end.version > (known?.version ?? 0n)
}
