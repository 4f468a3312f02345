import type { FieldManager, ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import type { WritePart } from './write-part.ts'
import { TOOLS } from './writers.ts'

/** The manager that scaled, if replicas changed: an entry for `scale` may have no time and then stays the same with each scaling. */
export function whoScales(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): string | undefined {
  if (facts === undefined || facts.prints.scale === before?.prints.scale) return undefined
  const [one, ...others] = facts.managers.filter(
    ({ subresource, time }) => subresource === 'scale' && time === '',
  )
  return others.length === 0 ? one?.manager : undefined
}

/** How far the API server's clock may be behind the clock of `seenNs`. Times in managedFields are cut to the second. */
const SIGNED_WITHIN_NS = 3_000_000_000n

/**
 * Whether no entry in managedFields is as new as the version: the writer has only removed fields, which leaves no entry. Setting or
 * changing a field leaves one.
 */
export function isUnsigned(
  { facts, listed, seenNs }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
): boolean {
  if (facts === undefined || before === undefined || listed !== undefined || facts.managers.length === 0)
    return false
  if (part !== 'authored' && part !== 'scale' && part !== 'status') return false
  if (newManager(facts, before, part) !== undefined) return false
  const times = facts.managers.map(({ time }) => parseRfc3339(time))
  // Scaling by an autoscaler leaves an entry without a time.
  return times.every((time) => time !== undefined && time + SIGNED_WITHIN_NS < seenNs)
}

/** The manager of a new entry. If a list shows content that an author wrote, an entry of a status may be even newer. */
export function newManager(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  part: WritePart,
): FieldManager | undefined {
  const known = new Set(before?.managers.map(keyOf))
  const fresh = facts?.managers.filter((entry) => !known.has(keyOf(entry)))
  const author =
    part === 'authored' ? fresh?.findLast(({ subresource }) => subresource !== 'status') : undefined
  return author ?? fresh?.at(-1)
}

/** A manager that sets more fields within the second of its entry makes that entry longer. Undefined if several entries got longer. */
export function extendedManager(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  part: WritePart,
): FieldManager | undefined {
  const extents = new Map(before?.managers.map((one) => [keyOf(one), one.extent]))
  const longer = facts?.managers.filter((one) => {
    const then = extents.get(keyOf(one))
    return then !== undefined && one.extent !== undefined && one.extent > then
  })
  const authors = longer?.filter(({ subresource }) => (subresource === 'status') === (part === 'status'))
  return authors?.length === 1 ? authors[0] : undefined
}

/**
 * The manager of the latest entry for content: if it writes twice within a second, the entry stays the same. Undefined if several managers
 * have that time and not all of them are tools of people.
 */
export function sameManager(facts: ObjectFacts | undefined, part: WritePart): string | undefined {
  if (facts === undefined || (part !== 'authored' && part !== 'scale')) return undefined
  const authors = facts.managers.filter(({ subresource }) => subresource !== 'status')
  const latest = authors.reduce((time, one) => (one.time > time ? one.time : time), '')
  const [one, ...others] = new Set(
    authors.filter(({ time }) => time === latest).map(({ manager }) => manager),
  )
  const areTools = one !== undefined && [one, ...others].every((manager) => TOOLS.test(manager))
  return others.length === 0 || areTools ? one : undefined
}

/**
 * The manager that wrote the status of an object just before: if it writes twice within a second, its entry stays the same. Undefined if
 * others wrote the status within that second.
 */
export function sameReporter({ facts, seenNs }: ClusterWrite, part: WritePart): string | undefined {
  if (facts === undefined || part !== 'status') return undefined
  const reporters = facts.managers.filter(({ subresource }) => subresource === 'status')
  const all = reporters.length > 0 ? reporters : facts.managers
  const latest = all.reduce((time, one) => (one.time > time ? one.time : time), '')
  const [one, ...others] = new Set(all.filter(({ time }) => time === latest).map(({ manager }) => manager))
  const isLate = (parseRfc3339(latest) ?? 0n) + SIGNED_WITHIN_NS < seenNs
  return isLate || others.length > 0 ? undefined : one
}

function keyOf({ manager, operation, subresource, time }: FieldManager): string {
  return `${manager} ${operation} ${subresource} ${time}`
}
