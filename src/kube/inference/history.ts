import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import type { ObjectFacts, ObjectIdentity } from '../../model/kubernetes-objects.ts'
import { nanosOfMs, parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import { primariesNaming } from './primaries.ts'
import { isDeleted } from './read-context.ts'
import { controller, isOfKubernetes, programOf, TOOLS, UNKNOWN, type Writer } from './writers.ts'

const LAST = 2n ** 62n
const MAX_IN_SERIES = 128

/** How soon after a program has written the newest of a series it deletes the oldest, by the times in managedFields. */
const TRIMS_WITHIN_NS = nanosOfMs(5_000)

/** A number at the end of a name, or what the API server generates for it. */
const COUNTED = /^(.*?)(?:[-.]?v?\d[\da-z]*|-[bcdfghjklmnpqrstvwxz2456789]{5})(?:-\d+)*$/

export interface Trimmed {
  /** The manager that made all objects of the series. */
  readonly maker: string
  /** The object of the series that the maker wrote last. */
  readonly successor: KnownObject
}

/**
 * For an object that a program deletes because it keeps only the last few of a series (`backup-7`, `backup-8`): the newer one that the
 * program has just written. Undefined unless the object is the oldest that its maker made of the series. People rarely delete just then.
 */
export function trimmedFor(
  { uid, resource, namespace, name }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  nowNs: UnixNanos,
  objects: ClusterObjects,
): Trimmed | undefined {
  const [series, maker] = [seriesOf(name), firstManager(facts)]
  if (series === undefined || maker === undefined || isOfKubernetes(maker)) return undefined
  if ((TOOLS.test(maker) && maker !== KEEPS_RELEASES) || isRunning(resource, facts)) return undefined
  const others = objects
    .changedIn(resource, namespace, 0n, LAST, MAX_IN_SERIES)
    .filter(({ identity, versions: [newest] }) => {
      if (identity.uid === uid || seriesOf(identity.name) !== series || isDeleted(newest)) return false
      return programOf(firstManager(newest?.facts) ?? '') === programOf(maker)
    })
  const made = madeAt(objects.get(uid))
  if (made === undefined || others.some((one) => (madeAt(one) ?? 0n) < made)) return undefined
  const [successor] = others.filter((one) => isWrittenLately(one, maker, nowNs))
  return successor && { maker, successor }
}

/** helm keeps the last ten releases as Secrets. It is the only tool of people that deletes so. */
const KEEPS_RELEASES = 'helm'

const seriesOf = (name: string): string | undefined => COUNTED.exec(name)?.[1]

/** Whether it is a Pod that still runs: programs delete only finished ones for their age. */
const isRunning = (resource: string, facts: ObjectFacts | undefined): boolean =>
  resource === 'pods' && facts?.prints.replicas === '1'

const madeAt = (object: KnownObject | undefined): bigint | undefined => object?.versions.at(-1)?.version

function isWrittenLately({ versions: [newest] }: KnownObject, maker: string, nowNs: UnixNanos): boolean {
  const own = newest?.facts.managers.filter(({ manager }) => programOf(manager) === programOf(maker))
  return own?.some(({ time }) => (parseRfc3339(time) ?? 0n) + TRIMS_WITHIN_NS > nowNs) === true
}

/** The manager with the earliest entry for content: the creator. Others may have written an object before a list first shows it. */
export function firstManager(facts: ObjectFacts | undefined): string | undefined {
  const authors = facts?.managers.filter(({ subresource }) => subresource === '') ?? []
  const [first, ...others] = authors
  return others.reduce((earliest, one) => (one.time < (earliest?.time ?? '') ? one : earliest), first)
    ?.manager
}

/** How long after the end of its lifetime a program may still delete an object for that reason. */
const NOTICES_WITHIN_NS = nanosOfMs(120_000)
/** The most owners and primary objects of which one may say how long the object lives. */
const MAX_KEEPERS = 4

/** The object whose fields limit the lifetime of another one, if that lifetime has just ended: that object itself, or one of `keepers`. */
export function expiredBy(
  object: KnownObject | undefined,
  facts: ObjectFacts | undefined,
  keepers: readonly KnownObject[],
  nowNs: UnixNanos,
): KnownObject | undefined {
  const isOver = (endNs: bigint): boolean => endNs <= nowNs && nowNs < endNs + NOTICES_WITHIN_NS
  if (object === undefined || facts === undefined) return undefined
  if (facts.prints.endsAt !== undefined && isOver(BigInt(facts.prints.endsAt))) return object
  const madeNs = firstSigned(object.versions.at(-1))
  if (madeNs === undefined) return undefined
  return keepers.slice(0, MAX_KEEPERS).find(({ versions: [newest] }) => {
    const { keepsFor } = newest?.facts.prints ?? {}
    return keepsFor !== undefined && isOver(madeNs + BigInt(keepsFor))
  })
}

/** The earliest time in managedFields. */
function firstSigned(version: KnownVersion | undefined): UnixNanos | undefined {
  const times = version?.facts.managers.flatMap(({ time }) => parseRfc3339(time) ?? []) ?? []
  return times.length === 0 ? undefined : times.reduce((one, other) => (other < one ? other : one))
}

/** The objects whose fields may limit the lifetime of an object: its owners, and the primary objects for which its maker made it. */
export function keepersOf(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  objects: ClusterObjects,
): KnownObject[] {
  const owners = (facts?.owners ?? []).flatMap(({ uid }) => objects.get(uid) ?? [])
  const maker = programOf(firstManager(facts) ?? '')
  const primaries = primariesNaming(object, facts, maker, objects).filter((one) => one.isIndirect !== true)
  return [...owners, ...primaries.map((one) => one.object)]
}

/** The program that keeps only the last few of a series, if the object is the oldest of one. */
export function whoTrims(
  object: ObjectIdentity,
  known: ObjectFacts | undefined,
  nowNs: UnixNanos,
  objects: ClusterObjects,
): Writer | undefined {
  const trimmed = trimmedFor(object, known, nowNs, objects)
  return trimmed && controller(trimmed.maker)
}

/** The program that deletes an object whose lifetime has ended. */
export function whoKeepsNoLonger(
  object: ObjectIdentity,
  known: ObjectFacts | undefined,
  nowNs: UnixNanos,
  objects: ClusterObjects,
): Writer | undefined {
  const keeper = expiredBy(objects.get(object.uid), known, keepersOf(object, known, objects), nowNs)
  if (keeper === undefined) return undefined
  const [program] = objects.lookingAfter(keeper.identity.resource)
  const maker = firstManager(known)
  return controller(program ?? (maker === undefined || TOOLS.test(maker) ? UNKNOWN : maker))
}

/** How soon a program deletes what it has marked, by the times in managedFields. */
const MARKS_WITHIN_NS = 2_000_000_000n

/** The program that has just changed an object that another program made, such as by an annotation: it marks what it deletes. */
export function whoMarked(known: ObjectFacts | undefined, nowNs: UnixNanos): Writer | undefined {
  const maker = firstManager(known)
  const lately = known?.managers.filter(
    ({ subresource, time }) => subresource === '' && (parseRfc3339(time) ?? 0n) + MARKS_WITHIN_NS > nowNs,
  )
  const [marking, ...others] = new Set(lately?.map(({ manager }) => manager))
  const isProgram = marking !== undefined && !TOOLS.test(marking) && !isOfKubernetes(marking)
  return isProgram && others.length === 0 && marking !== maker ? controller(marking) : undefined
}
