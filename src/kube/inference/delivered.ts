import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import type { WritePart } from './write-part.ts'
import type { Writer } from './writers.ts'

/** The prefix of users that are service accounts. These may write on behalf of a person. */
const SERVICE_ACCOUNT = 'system:serviceaccount:'

/**
 * Adds the actor, revision and author that an object of a GitOps tool names. A controller that finds a revision by itself begins a change,
 * and so does a service account that writes on behalf of a person.
 */
export function onBehalf(
  writer: Writer,
  { facts }: ClusterWrite,
  part: WritePart,
  before: KnownVersion | undefined,
  object: KnownObject | undefined,
): Writer {
  if (facts === undefined || fingerprintOf(facts, 'revision') === undefined) return writer
  if (part === 'deletion' || part === 'removal') return writer
  const now = (print: string): string => fingerprintOf(facts, print) ?? ''
  const then = (print: string): string => (before && fingerprintOf(before.facts, print)) ?? ''
  const isNew = (print: string): boolean => now(print) !== '' && now(print) !== then(print)
  const isAsked = isNew('by') || (now('by') !== '' && isNew('sync'))
  if (isAsked && (writer.user === undefined || writer.user.startsWith(SERVICE_ACCOUNT)))
    return { ...writer, role: 'operator', actor: now('by'), ...revised(now('sync')) }
  const isFound = isNew('found') && now('found') !== then('stored')
  const isAnnounced = isFound && wasAnnounced(now('found'), then('stored'), object)
  if (!isFound && !isNew('applied')) return writer
  const revision = isFound ? now('found') : now('applied')
  const author = isFound ? now('author') : ''
  const told = { actor: revision, ...revised(revision), ...(author !== '' && { author }) }
  if (writer.role === 'operator') return { ...writer, ...revised(revision) }
  const begins =
    isFound && part === 'status' && then('stored') !== '' && !isAnnounced && !isAskedFor(before, object)
  return { ...writer, ...told, ...(begins && { role: 'operator' }) }
}

const revised = (revision: string): Pick<Writer, 'revision'> => (revision === '' ? {} : { revision })

/** Whether a source had announced a revision before it stores it now, whatever it reported in between. */
function wasAnnounced(found: string, stored: string, object: KnownObject | undefined): boolean {
  for (const { facts } of object?.versions ?? []) {
    if (fingerprintOf(facts, 'stored') !== stored) return false
    if (fingerprintOf(facts, 'found') === found) return true
  }
  return false
}

/**
 * Whether the object's controller has not yet handled a request to reconcile that a person made, or a program that applied a change to the
 * object. A receiver of webhooks only notifies: its request belongs to the same change as the version before, and does not count.
 */
function isAskedFor(before: KnownVersion | undefined, object: KnownObject | undefined): boolean {
  if (before === undefined || object === undefined) return false
  const asked = fingerprintOf(before.facts, 'asked')
  if (asked === fingerprintOf(before.facts, 'handled')) return false
  const earlier = object.versions.filter(({ version }) => version <= before.version)
  const at = earlier.findIndex(({ facts }) => fingerprintOf(facts, 'asked') !== asked)
  const [first, asking] = [earlier[at], earlier[at - 1]]
  return first === undefined || asking === undefined || asking.begun === true || asking.cpid !== first.cpid
}
