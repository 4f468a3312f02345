import {
  type Changes,
  type ClusterObjects,
  EVERY_GROUP,
  type KnownObject,
  type KnownVersion,
} from '../../model/inference-store.ts'
import {
  FINGERPRINT,
  fingerprintOf,
  type ObjectFacts,
  type ObjectIdentity,
  isCustomResource,
} from '../../model/kubernetes-objects.ts'
import type { ApiRequest, ClusterWrite } from '../../model/kubernetes-observations.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import type { WriteCause } from '../../model/seen-write.ts'
import type { ReportedWrite } from '../../model/reported-writes.ts'
import { announcedChange, isSameWrite } from './announced-change.ts'
import { onBehalf } from './delivered.ts'
import { changedFields } from './changed-fields.ts'
import { ofClock } from './clocks.ts'
import { type MergedContexts, mergeContexts } from './merge-contexts.ts'
import { ANYBODY, overwrittenBefore, supersededBy } from './overwritten.ts'
import type { InferenceSettings } from './inference-settings.ts'
import { type FoundPrimary, primariesNaming, takesHold } from './primaries.ts'
import { isReaction } from './reactions.ts'
import { type ReadVersion, readVersions } from './read-versions.ts'
import { actorForOwner, isDeleted, newestBelow, ownerOf } from './read-context.ts'
import { foundBy } from './relatives.ts'
import { reasonOfItsOwn, type SelfBegun, selfBegun } from './self-begun.ts'
import {
  boundBy,
  boundSomewhere,
  isBinding,
  isBindingKnown,
  isToldBinding,
  missedVersions,
  withKnownFacts,
} from './unversioned-requests.ts'
import { sourcesOfCarriedCpid } from './sources-of-carried-cpid.ts'
import { inferWriter } from './write-attribution.ts'
import { derivedCpid, type WriteKey } from './write-key.ts'
import { completesEviction, endingOf, partOfWrite, type WritePart } from './write-part.ts'
import { isOfKubernetes, programOf, type Writer } from './writers.ts'

/** The decision about a write. It never changes. */
export interface Decision {
  readonly key: WriteKey
  readonly write: ClusterWrite
  /** The resourceVersion that the write made; if unknown, the lowest possible one. Undefined if the object is unknown as well. */
  readonly version: bigint | undefined
  readonly part: WritePart
  readonly writer: Writer
  /** The change that the version belongs to. */
  readonly cpid: Cpid
  /** The CPIDs that `cpid` merges. Empty if the write begins a change; undefined if it continues an existing one. */
  readonly sources: readonly Cpid[] | undefined
  /** The sources of `cpid` if this version is the first to carry it, in case its mergelog is lost. Undefined if not known. */
  readonly carriedSources?: readonly Cpid[] | undefined
  /** The span by which the writer reports this write itself. Inference then makes no span of its own. */
  readonly toldBy?: ReportedWrite | undefined
  /** Set if an operator's write completes an earlier deletion. What follows from the write belongs to both changes. */
  readonly completes?: CompletedDeletion | undefined
  /** Changes from which `cpid` is known to descend. */
  readonly includes: readonly Cpid[]
  readonly reads: readonly ReadVersion[]
  readonly cause: WriteCause
  /** Why a controller began a change by itself. */
  readonly self?: SelfBegun | undefined
  /** Versions made by operators whose changes this write fully overwrites before any controller acted on them. */
  readonly superseded: readonly KnownVersion[]
  /** Whether versions between the last known one and this one may be missing. */
  readonly gap: boolean
  /** A lower bound on how many versions are probably missing; 0 without a gap. */
  readonly missed: number
  /** The identity of the controller owner, else of the first owner; undefined if not known. */
  readonly owner: ObjectIdentity | undefined
  /** The changed fields as text, such as `spec.replicas: 2 → 5`. */
  readonly changed: readonly string[]
}

interface CompletedDeletion extends MergedContexts {
  readonly sources: readonly Cpid[]
  /** The version just before the write, in which the object is already being deleted. */
  readonly version: bigint
}

const LAST = 2n ** 62n

/** Decides what a write follows from, and records its version. Undefined if there is nothing to decide, as for heartbeats and repeats. */
export function decide(
  told: ClusterWrite,
  objects: ClusterObjects,
  changes: Changes,
  settings: InferenceSettings,
): Decision | undefined {
  const reported = withKnownFacts(told, objects)
  const object = objects.get(reported.object.uid)
  if (isDecided(reported, object, objects)) return undefined
  // No source has reported the object, so nothing can be said of its binding or status.
  const isUnknown = object === undefined && reported.version === undefined
  if (isUnknown && ['binding', 'status'].includes(reported.request?.subresource ?? '')) return undefined
  if (isOnlyTried(reported, object)) return undefined
  const below = reported.version ?? (isBinding(reported) ? boundBy(object) : undefined) ?? LAST
  const before = object && newestBelow(object, below)
  // The deletion of a collection did not delete this object if the object was being deleted before.
  const write =
    reported.isOfCollection === true && isDeleted(before) ? { ...reported, request: undefined } : reported
  const part = partOfWrite(write, before?.facts)
  if (write.listed === 'first' && object === undefined) {
    note(write, { cpid: parseCpid(write.facts?.cpid ?? ''), includes: [] }, undefined, objects)
    return undefined
  }
  if (part === 'heartbeat' || isToldBinding(write, before)) {
    if (before !== undefined) note(write, before, before, objects)
    return undefined
  }
  const wrote = inferWriter(write, part, before?.facts, { objects, settings })
  const writer = onBehalf(wrote, write, part, before, object)
  const isCustomController = writer.role === 'controller' && !isOfKubernetes(writer.service)
  const isPlainController = writer.role === 'unknown' && writer.service !== 'unknown'
  const by = programOf(writer.service)
  let found: readonly FoundPrimary[] | undefined
  const primaries = () => (found ??= primariesNaming(write.object, write.facts ?? before?.facts, by, objects))
  const { reads, upTo, isWhole } = readVersions(
    {
      write,
      part,
      by,
      primaries,
      isCustomController,
      isPlainController,
      before,
      objects,
      below,
      tooLate: new Set(),
    },
    settings.relations,
  )
  const key = keyOfWrite(settings.cluster, write)
  const { cluster } = settings
  const asked = { write, part, writer, before, reads, objects, cluster, primaries }
  const self = writer.role === 'controller' ? (selfBegun(asked) ?? ofClock(asked)) : undefined
  const gap = hasGap(write, part, before)
  // A listed version can result from several writes, which read different versions. A watch alone may have missed versions of an owner.
  const isTold = write.request !== undefined && !gap && !isOfRequestBefore(write, before)
  const isCertain = isWhole && isTold && isToldByContent(part, writer)
  const decision = {
    ...{ key, write, version: versionOf(write, before), part, writer, gap },
    missed: gap ? missedVersions(write, before) : 0,
    owner: ownerOf(write.facts ?? before?.facts, objects),
    changed: changedFields(before?.facts, write.facts),
    ...follows({ write, part, writer, reads, object, objects, before, key, isCertain, self }, changes),
  }
  const begins = decision.cause === 'operator'
  const superseded = begins ? whatIsSuperseded(write, object, objects) : []
  const madeFor = (found ?? [])
    .filter(
      ({ isIndirect, object: { identity } }) => isIndirect !== true && identity.uid !== write.object.uid,
    )
    .map(({ object: { identity } }) => identity.uid)
  const isPerson = begins && writer.role === 'operator' && write.request !== undefined
  const isSure = !gap && (isPerson || decision.cause === 'exact')
  const isNewContent = begins || (decision.cause === 'self' && !isOfKubernetes(writer.service))
  note(write, { ...decision, ...decision.completes, begins, isNewContent, isSure, madeFor }, before, objects)
  if (write.version !== undefined) noteActed(decision, madeFor, objects, upTo)
  notePrimaries(write, part, writer, before, objects)
  const { apiVersion, resource } = write.object
  if (isCustomResource(apiVersion))
    for (const group of [apiVersion.split('/', 1).join(), EVERY_GROUP]) objects.noteKind(group, resource)
  return { ...decision, superseded }
}

/** A deletion after which the object exists without a deletionTimestamp: a dry run, which an audit log without bodies does not show. */
function isOnlyTried(
  { version, isUnseen, gone, request }: ClusterWrite,
  object: KnownObject | undefined,
): boolean {
  const [newest] = object?.versions ?? []
  const isDeletion = version === undefined && request?.verb === 'delete' && request.subresource === ''
  return isUnseen === true && isDeletion && !gone && newest !== undefined && !isDeleted(newest)
}

/** Changes of an object that a write fully overwrites and that no controller has acted on. */
function whatIsSuperseded(
  { object: { uid }, version, facts, gone }: ClusterWrite,
  object: KnownObject | undefined,
  objects: ClusterObjects,
): KnownVersion[] {
  if (object === undefined || version === undefined || facts === undefined) return []
  const made = { version, cpid: undefined, facts, gone, includes: [] }
  return supersededBy(made, object, objects.lastActed(uid, ANYBODY))
}

/** Controllers of Kubernetes for which it is known what they read when they create and delete objects. */
const KNOWN_READERS = new Set([
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'job-controller',
  'generic-garbage-collector',
])

/**
 * Whether the content of a write can identify everything that was read for it. A status sums up other objects, a binding compares all
 * nodes, and what other controllers read is not known.
 */
function isToldByContent(part: WritePart, { service }: Writer): boolean {
  return (part === 'creation' || part === 'authored' || part === 'deletion') && KNOWN_READERS.has(service)
}

/** The request of this write also made the version before. A request has read none of the versions that it makes. */
function isOfRequestBefore({ request }: ClusterWrite, before: KnownVersion | undefined): boolean {
  return request !== undefined && before?.readableNs !== undefined && before.readableNs === request.startNs
}

/** The write was reported again, or too late by another source. A decision never changes. */
function isDecided(write: ClusterWrite, object: KnownObject | undefined, objects: ClusterObjects): boolean {
  const { version, request } = write
  // An object that a list lacks may have been deleted by a request that was reported before.
  if (write.gone && request === undefined && object?.versions[0]?.gone === true) return true
  if (object?.versions.some((known) => known.version === version)) return true
  if (version !== undefined && version <= (object?.forgotten ?? -1n)) return true
  if (version === undefined && isBinding(write) && isBindingKnown(object)) return true
  return request?.tellsVersion === false && !objects.isFirstReport(requestKey(request, write.object))
}

/** A client can choose the Audit-ID, so it identifies a request only together with the verb and the object. */
function requestKey(
  { auditId = '', verb }: ApiRequest,
  { resource, namespace, name }: ObjectIdentity,
): string {
  return [auditId, verb, resource, namespace, name].join(' ')
}

/** Whether versions may be missing: after a list, if the request read an unknown version, or if generation skips a value. */
function hasGap(
  { listed, request, facts, version }: ClusterWrite,
  part: WritePart,
  before: KnownVersion | undefined,
): boolean {
  if (listed !== undefined) return true
  if (before === undefined) return part !== 'creation'
  const read = request?.readVersion ?? 0n
  if (read > before.version && read < (version ?? read)) return true
  return facts !== undefined && facts.generation > before.facts.generation + 1
}

interface Following {
  write: ClusterWrite
  part: WritePart
  writer: Writer
  reads: readonly ReadVersion[]
  object: KnownObject | undefined
  before: KnownVersion | undefined
  objects: ClusterObjects
  key: WriteKey
  isCertain: boolean
  self: SelfBegun | undefined
}

function follows(
  { write, part, writer, reads: read, object, objects, before, key, isCertain, self }: Following,
  changes: Changes,
): Pick<
  Decision,
  'cpid' | 'sources' | 'carriedSources' | 'toldBy' | 'completes' | 'includes' | 'reads' | 'cause' | 'self'
> {
  const begins =
    writer.role === 'operator' ||
    (writer.role === 'unknown' && !isReaction({ write, part, writer, reads: read, before, object, objects }))
  const reads = begins
    ? read
    : [...read, ...overwrittenBefore(write, read, programOf(writer.service), objects)]
  const toldBy = changes.ownReportOf?.(write, endingOf(part))
  const carried = ownCpid(write.facts, before?.facts, reads)
  const said = toldBy?.cpid ?? carried ?? (begins ? announcedChange(write, object) : undefined)
  const told = said !== undefined && changes.mayJoin(said) ? said : undefined
  if (told !== undefined) {
    // A developer who runs a controller locally writes as a person; what the controller read shows that the write is a reaction.
    const isFollowing = toldBy !== undefined && reads.some(({ known }) => known.cpid === told)
    // A status brings no CPID of its own: its span names the change of the object, whatever the status sums up.
    const cause = begins && !isFollowing ? 'operator' : part === 'status' ? 'inferred' : 'exact'
    const derivedFrom = (uid: string, at: bigint) => derivedCpid('root', { ...key, uid, version: String(at) })
    const carrying = { write, before, reads, begins, derivedFrom }
    const carriedSources = told === carried ? sourcesOfCarriedCpid(told, carrying) : undefined
    return { cpid: told, sources: undefined, carriedSources, toldBy, includes: [], reads, cause }
  }
  const isSecondVersion = begins && part === 'removal' && isOfRequestBefore(write, before)
  if (isSecondVersion || completesEviction(write, part, before)) {
    const marks = reads.filter(({ identity }) => identity.uid === write.object.uid)
    const mark = marks[0]?.known
    const context = mark && mergeContexts([mark], mark, changes, key)
    if (context !== undefined) return { ...context, reads: marks, cause: 'inferred' }
  }
  const began = derivedCpid('root', key)
  // An operator who removes the last finalizer completes the deletion that another write began.
  if (begins && part === 'removal' && before?.cpid !== undefined) {
    const sources = [began, before.cpid].sort()
    const completes = { cpid: derivedCpid('merge', key), sources, includes: sources, version: before.version }
    return { cpid: began, sources: [], completes, includes: [], reads: [], cause: 'operator' }
  }
  if (begins) return { cpid: began, sources: [], includes: [], reads: [], cause: 'operator' }
  if (self !== undefined) return { cpid: began, sources: [], includes: [], reads: [], cause: 'self', self }
  const cause = isCertain && reads.length > 0 && reads.every(isCertainRead) ? 'exact' : 'inferred'
  const own = reads.find(({ identity }) => identity.uid === write.object.uid)
  const versions = reads.map(({ known }) => known)
  const merged = mergeContexts(versions, own?.known, changes, key)
  if (merged !== undefined) return { ...merged, reads, cause }
  const ofItself: SelfBegun = { reason: reasonOfItsOwn(write, part), setUp: undefined }
  return { cpid: began, sources: [], includes: [], reads, cause: 'self', self: ofItself }
}

/** Whether it is certain that the version was read, and, if it drives the write, which change gave it its content. */
function isCertainRead({ known, exact, isPassive, actedOn = known.version }: ReadVersion): boolean {
  return exact && (isPassive === true || (known.isCertain === true && actedOn === known.contentVersion))
}

/** The CPID that an instrumented writer put on this version: neither one that was already there nor one copied from an owner. */
function ownCpid(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  reads: readonly ReadVersion[],
): Cpid | undefined {
  if (facts?.cpid === undefined || (before !== undefined && isSameWrite(facts, before))) return undefined
  const { cpid } = facts
  const owners = new Set(facts.owners.map(({ uid }) => uid))
  const isCopy = reads.some(({ identity, known }) => owners.has(identity.uid) && known.facts.cpid === cpid)
  return isCopy ? undefined : parseCpid(cpid)
}

/** The resourceVersion of the write. If unknown, the lowest possible one, above those of all earlier writes in the cluster. */
function versionOf(
  { version, after = -1n }: ClusterWrite,
  before: KnownVersion | undefined,
): bigint | undefined {
  if (version !== undefined || before === undefined) return version
  return (after > before.version ? after : before.version) + 1n
}

/** Records a custom controller's resources: those whose status it writes or on which it sets finalizers, and owners of what it creates. */
function notePrimaries(
  { object, facts }: ClusterWrite,
  part: WritePart,
  { role, service }: Writer,
  before: KnownVersion | undefined,
  objects: ClusterObjects,
): void {
  if (role === 'operator' || isOfKubernetes(service)) return
  const note = ({ apiVersion, resource }: ObjectIdentity): void => {
    if (isCustomResource(apiVersion) || resource === 'ingresses')
      objects.notePrimary(programOf(service), resource)
  }
  const looksAfter = part === 'status' || (part === 'authored' && takesHold(object, facts, before?.facts))
  if (looksAfter && role === 'controller') note(object)
  if (part !== 'creation') return
  for (const { uid } of facts?.owners ?? []) {
    const owner = objects.get(uid)
    if (owner !== undefined) note(owner.identity)
  }
}

interface Noted extends Pick<KnownVersion, 'cpid' | 'includes'> {
  readonly begins?: boolean
  /** Whether the version has new content even if it differs from the one before only in its status. */
  readonly isNewContent?: boolean
  /** Whether it is certain which change the write belongs to. */
  readonly isSure?: boolean
  readonly part?: WritePart
  /** The uids of the writer's primary objects for which it made this one. */
  readonly madeFor?: readonly string[]
}

function note(
  write: ClusterWrite,
  { cpid, includes, begins, isNewContent, isSure, part, madeFor = [] }: Noted,
  before: KnownVersion | undefined,
  objects: ClusterObjects,
): void {
  const { object, facts, gone, request } = write
  const at = versionOf(write, before)
  const known = facts ?? (isBinding(write) ? boundSomewhere(before?.facts) : before?.facts)
  if (known === undefined || at === undefined) return
  // A request that began before this one cannot have read the version that this one makes.
  const readableNs = request?.startNs
  const isSame = before !== undefined && hasContentOf(before, { facts: known, gone }, object)
  const isKept = isSame && !(isNewContent === true && part === 'status')
  const contentVersion = isKept ? before.contentVersion : at
  const isCertain = isKept ? before.isCertain : isSure
  const found = foundBy(object, { facts: known, gone, madeFor }, before?.facts, objects)
  const seen = found.length === 0 ? known : { ...known, foundBy: found }
  const begun = begins === true
  const version = { version: at, cpid, facts: seen, gone, includes }
  objects.add(object, { ...version, readableNs, contentVersion, begun, isCertain })
}

/** Resources whose objects others select by labels. */
const SELECTED = ['pods', 'replicasets']

/**
 * Whether a version has the same content as the one before. For built-in objects without an owner, an equal generation is enough: their
 * labels and annotations are no content. Elsewhere they are, since controllers signal each other by annotations.
 */
function hasContentOf(
  before: KnownVersion,
  { facts, gone }: Pick<KnownVersion, 'facts' | 'gone'>,
  { apiVersion, resource }: ObjectIdentity,
): boolean {
  if (gone !== before.gone || facts.deleting !== before.facts.deleting) return false
  const isCounted = facts.generation > 0 && !SELECTED.includes(resource) && facts.owners.length === 0
  if (isCounted && !isCustomResource(apiVersion)) return facts.generation === before.facts.generation
  // A new revision in the status of a GitOps object also counts as new content.
  return [FINGERPRINT.authored, 'revision'].every(
    (print) => fingerprintOf(facts, print) === fingerprintOf(before.facts, print),
  )
}

/** Records that the writer has acted on the object, its owners, and the primary objects that it read or made it for. */
function noteActed(
  { write, part, writer: { service }, reads }: Pick<Decision, 'write' | 'part' | 'writer' | 'reads'>,
  madeFor: readonly string[],
  objects: ClusterObjects,
  upTo = write.version ?? 0n,
): void {
  const { object, facts } = write
  const by = programOf(service)
  objects.noteActed(object.uid, by, upTo)
  if (part === 'status' || part === 'binding' || part === 'removal') return
  const lookedAfter = objects.primariesOf(by)
  const owners = (facts?.owners ?? []).map(({ uid }) => uid)
  const primaries = reads
    .filter(({ identity, foundBy }) => foundBy !== undefined && lookedAfter.includes(identity.resource))
    .map(({ identity }) => identity.uid)
  for (const uid of new Set([...owners, ...primaries, ...madeFor]))
    objects.noteActed(uid, actorForOwner(by), upTo)
}

function keyOfWrite(cluster: string, { object, version, request }: ClusterWrite): WriteKey {
  const known = version === undefined ? `${request?.verb ?? ''} ${request?.auditId ?? ''}` : String(version)
  return { cluster, uid: object.uid, version: known }
}
