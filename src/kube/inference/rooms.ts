import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { type ContentReference, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import { objectOf } from './named-objects.ts'
import { isDeleted, MAX_OBJECTS, type News, type ReadContext, type RelatedObject } from './read-context.ts'
import type { Reads } from './reads.ts'
import { hasMadeRoom } from './relatives.ts'

const OF_ROOM = ['freed', 'joined', 'preemptor'] as const

type OfRoom = Extract<Reads, { kind: (typeof OF_ROOM)[number] }>

/** Whether a relation names what lets a Pod onto a node, or preempts it. */
export function isOfRoom(reads: Reads): reads is OfRoom {
  return OF_ROOM.some((kind) => kind === reads.kind)
}

/** The Pods that let a Pod onto a node by freeing room or by running there, or that preempt it. */
export function roomFor(
  reads: OfRoom,
  { write, before, objects, below }: ReadContext,
  { newest, facts, since, ownedAfter, changedIn }: News,
): RelatedObject[] {
  const { uid, namespace } = write.object
  /** Pods of every namespace that have no node yet and outrank this one, newest first; else those of its own namespace. */
  const unscheduled = (): KnownObject[] => {
    const after = before?.contentVersion ?? 0n
    const waitingIn = (of: string): KnownObject[] =>
      changedIn('pods', of, after).filter((object) => {
        const read = newest(object)
        return read?.gone === false && fingerprintOf(read.facts, 'node') === ''
      })
    const rank = rankOf(facts)
    const all = objects
      .changedIn('namespaces', '', 0n, below, MAX_OBJECTS)
      .flatMap(({ identity }) => waitingIn(identity.name))
      .filter((object) => rankOf(newest(object)?.facts) > rank)
      .sort((one, other) => ((newest(one)?.version ?? 0n) > (newest(other)?.version ?? 0n) ? -1 : 1))
    return all.length > 0 ? all : waitingIn(namespace)
  }
  switch (reads.kind) {
    case 'freed':
      return nodesOf(facts).flatMap((node) => {
        const there = objectOf(node, '', objects)
        if (there === undefined) return []
        const all = ownedAfter(there.identity.uid, 'pods freed', since(uid)).flatMap((object) => {
          const at = madeRoomAt(object, below)
          return at === undefined || at <= since(uid) ? [] : [{ object, at }]
        })
        const [last] = all.sort((one, other) => (one.at > other.at ? -1 : 1))
        return last === undefined
          ? []
          : [{ object: last.object, fits: ({ version }: KnownVersion) => version === last.at }]
      })
    case 'joined': {
      const there = changedIn('pods', namespace, before?.contentVersion ?? 0n).filter((object) => {
        const read = newest(object)
        return read !== undefined && !isDeleted(read) && fingerprintOf(read.facts, 'node') !== ''
      })
      const node = facts && fingerprintOf(facts, 'node')
      const near = there.filter((object) => newest(object)?.facts.prints.node === node)
      return [...near, ...there].slice(0, 1).map((object) => ({ object }))
    }
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

function nodesOf(facts: ObjectFacts | undefined): ContentReference[] {
  return facts?.references.filter(({ field }) => field === 'node') ?? []
}

function rankOf(pod: ObjectFacts | undefined): number {
  return Number(pod?.prints.priority ?? 0)
}

/** The last version below another one with which a Pod freed room on its node: it was deleted, ended, or its content changed. */
function madeRoomAt({ versions }: KnownObject, below: bigint): bigint | undefined {
  return versions.find((known, at) => {
    return known.version < below && (known.gone || hasMadeRoom(known.facts, versions[at + 1]?.facts))
  })?.version
}
