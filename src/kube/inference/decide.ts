import { hash } from 'node:crypto'
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
import { type Cpid, cpidOfBytes, parseCpid } from '../../model/merge-graph.ts'
import type { WriteCause } from '../../model/seen-write.ts'
import type { ReportedWrite } from '../../model/reported-writes.ts'
import { announcedChange, isSameWrite } from './announced-change.ts'
import { onBehalf } from './delivered.ts'
import { changedFields } from './changed-fields.ts'
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
  withKnownIdentity,
  withOwnRequest,
} from './unversioned-requests.ts'
import { sourcesOfCarriedCpid } from './sources-of-carried-cpid.ts'
import { inferWriter } from './write-attribution.ts'
import { completesEviction, endingOf, partOfWrite, type WritePart } from './write-part.ts'
import { isOfKubernetes, programOf, type Writer } from './writers.ts'

/** The decision about a write. It never changes. */
export interface Decision {
  readonly key: WriteKey
  readonly write: ClusterWrite
  /** The version that the write made; if no source reports it, the lowest it can have made. */
  readonly version: bigint | undefined
  readonly part: WritePart
  readonly writer: Writer
  /** The change that the version belongs to. */
  readonly cpid: Cpid
  /** The changes that it merges. Empty if it begins a change; undefined if it continues an existing one. */
  readonly sources: readonly Cpid[] | undefined
  /** The sources of the CPID that this version is the first to carry, in case its mergelog is lost. Undefined if they are not known. */
  readonly carriedSources?: readonly Cpid[] | undefined
  /** The span by which the writer reports this write itself. Inference then makes no span of its own. */
  readonly toldBy?: ReportedWrite | undefined
  /** It completes a deletion that somebody else began. What follows from it belongs to both changes. */
  readonly completes?: CompletedDeletion | undefined
  /** Changes that it is known to include. */
  readonly includes: readonly Cpid[]
  readonly reads: readonly ReadVersion[]
  readonly cause: WriteCause
  /** Why a controller began a change by itself. */
  readonly self?: SelfBegun | undefined
  /** Changes of the object that this write fully overwrites before any controller acted on them. */
  readonly superseded: readonly KnownVersion[]
  /** Versions between this one and the last known one were not seen. */
  readonly gap: boolean
  /** The least number of versions that probably were not seen. */
  readonly missed: number
  /** The owner of the object, if known. */
  readonly owner: ObjectIdentity | undefined
  /** The fields that an author's write changed, in words. */
  readonly changed: readonly string[]
}

interface CompletedDeletion extends MergedContexts {
  readonly sources: readonly Cpid[]
  /** The version that began the deletion. */
  readonly version: bigint
}

const LAST = 2n ** 62n

/** Decides what a write follows from, and records the version it made. Undefined for heartbeats and for writes already decided. */
export function decide(
  told: ClusterWrite,
  objects: ClusterObjects,
  changes: Changes,
  settings: InferenceSettings,
): Decision | undefined {
  const reported = withOwnRequest(withKnownIdentity(told, objects), objects)
  const object = objects.get(reported.object.uid)
  if (isDecided(reported, object, objects)) return undefined
  // No source has reported the object, so nothing can be said of its binding or status.
  const isUnknown = object === undefined && reported.version === undefined
  if (isUnknown && ['binding', 'status'].includes(reported.request?.subresource ?? '')) return undefined
  if (isOnlyTried(reported, object)) return undefined
  const below = reported.version ?? (isBinding(reported) ? boundBy(object) : undefined) ?? LAST
  const before = object && newestBelow(object, below)
  // Nobody deletes again, by a collection, what is going already.
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
  let primaries: readonly FoundPrimary[] | undefined
  const { reads, upTo, isWhole } = readVersions(
    {
      write,
      part,
      by,
      primaries: () =>
        (primaries ??= primariesNaming(write.object, write.facts ?? before?.facts, by, objects)),
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
  const self =
    writer.role === 'controller' ? selfBegun({ write, part, writer, before, reads, objects }) : undefined
  const gap = hasGap(write, part, before)
  // What a list shows is the work of several writes, each of which may have read something else.
  // Nor does a watch alone tell whether an owner had other versions while its own watch was away.
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
  const madeFor = (primaries ?? [])
    .filter(
      ({ isIndirect, object: { identity } }) => isIndirect !== true && identity.uid !== write.object.uid,
    )
    .map(({ object: { identity } }) => identity.uid)
  note(write, { ...decision, ...decision.completes, begins, madeFor }, before, objects)
  if (write.version !== undefined) noteActed(decision, madeFor, objects, upTo)
  notePrimaries(write, part, writer, before, objects)
  const { apiVersion, resource } = write.object
  if (isCustomResource(apiVersion))
    for (const group of [apiVersion.split('/', 1).join(), EVERY_GROUP]) objects.noteKind(group, resource)
  return { ...decision, superseded }
}

/** A deletion whose object is still there: a dry run, of which an audit log without bodies says nothing. */
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

/** One request may make several versions. It has read none of them. */
function isOfRequestBefore({ request }: ClusterWrite, before: KnownVersion | undefined): boolean {
  return request !== undefined && before?.readableNs !== undefined && before.readableNs === request.startNs
}

/** The write was reported again, or too late by another source. A decision never changes. */
function isDecided(write: ClusterWrite, object: KnownObject | undefined, objects: ClusterObjects): boolean {
  const { version, request } = write
  // A list may show by an absence what a request has already reported.
  if (write.gone && request === undefined && object?.versions[0]?.gone === true) return true
  if (object?.versions.some((known) => known.version === version)) return true
  if (version !== undefined && version <= (object?.forgotten ?? -1n)) return true
  if (version === undefined && isBinding(write) && isBindingKnown(object)) return true
  return request?.tellsVersion === false && !objects.isFirstReport(requestKey(request, write.object))
}

/** The client can choose the Audit-ID, so it only tells apart requests for one object. */
function requestKey(
  { auditId = '', verb }: ApiRequest,
  { resource, namespace, name }: ObjectIdentity,
): string {
  return [auditId, verb, resource, namespace, name].join(' ')
}

/** A list may skip versions, a request may name a read version that was never seen, and a generation counts what authors wrote. */
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
    // Somebody who runs a controller by hand runs it under their own name.
    const isFollowing = toldBy !== undefined && reads.some(({ known }) => known.cpid === told)
    // A status carries no CPID: its writer names the change of the object, whatever the status sums up.
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
  // A write that removes the last finalizer of a deleted object completes that deletion.
  if (begins && part === 'removal' && before?.cpid !== undefined) {
    const sources = [began, before.cpid].sort()
    const completes = { cpid: derivedCpid('merge', key), sources, includes: sources, version: before.version }
    return { cpid: began, sources: [], completes, includes: [], reads: [], cause: 'operator' }
  }
  if (begins) return { cpid: began, sources: [], includes: [], reads: [], cause: 'operator' }
  if (self !== undefined) return { cpid: began, sources: [], includes: [], reads: [], cause: 'self', self }
  const cause = isCertain && reads.length > 0 && reads.every(({ exact }) => exact) ? 'exact' : 'inferred'
  const own = reads.find(({ identity }) => identity.uid === write.object.uid)
  const versions = reads.map(({ known }) => known)
  const merged = mergeContexts(versions, own?.known, changes, key)
  if (merged !== undefined) return { ...merged, reads, cause }
  const ofItself: SelfBegun = { reason: reasonOfItsOwn(write, part), setUp: undefined }
  return { cpid: began, sources: [], includes: [], reads, cause: 'self', self: ofItself }
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

/** Each write in a cluster makes a version above all versions made before it. */
function versionOf(
  { version, after = -1n }: ClusterWrite,
  before: KnownVersion | undefined,
): bigint | undefined {
  if (version !== undefined || before === undefined) return version
  return (after > before.version ? after : before.version) + 1n
}

/** Records what a custom controller reconciles: objects whose status it writes or that it holds, and owners of what it creates. */
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
  readonly part?: WritePart
  /** What its writer looks after and made it for. */
  readonly madeFor?: readonly string[]
}

function note(
  write: ClusterWrite,
  { cpid, includes, begins, part, madeFor = [] }: Noted,
  before: KnownVersion | undefined,
  objects: ClusterObjects,
): void {
  const { object, facts, gone, request } = write
  const at = versionOf(write, before)
  const known = facts ?? (isBinding(write) ? boundSomewhere(before?.facts) : before?.facts)
  if (known === undefined || at === undefined) return
  // What was not requested yet cannot have been read.
  const readableNs = request?.startNs
  const isSame = before !== undefined && hasContentOf(before, { facts: known, gone }, object)
  const contentVersion = isSame && !(begins === true && part === 'status') ? before.contentVersion : at
  const found = foundBy(object, { facts: known, gone, madeFor }, before?.facts, objects)
  const seen = found.length === 0 ? known : { ...known, foundBy: found }
  const begun = begins === true
  objects.add(object, { version: at, cpid, facts: seen, gone, includes, readableNs, contentVersion, begun })
}

/** Resources whose objects others select by labels. */
const SELECTED = ['pods', 'replicasets']

/**
 * A generation counts changes of what an author wants. For Kubernetes' own kinds, a person's change of labels and annotations changes
 * nothing that is wanted. Controllers signal each other by annotations.
 */
function hasContentOf(
  before: KnownVersion,
  { facts, gone }: Pick<KnownVersion, 'facts' | 'gone'>,
  { apiVersion, resource }: ObjectIdentity,
): boolean {
  if (gone !== before.gone || facts.deleting !== before.facts.deleting) return false
  const isCounted = facts.generation > 0 && !SELECTED.includes(resource) && facts.owners.length === 0
  if (isCounted && !isCustomResource(apiVersion)) return facts.generation === before.facts.generation
  // The status names the revision that is applied.
  return [FINGERPRINT.authored, 'revision'].every(
    (print) => fingerprintOf(facts, print) === fingerprintOf(before.facts, print),
  )
}

/** What a controller does to an owned object, it does for the owner; and for what it looks after that it acted upon. */
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

/** The most included changes that a version keeps. */
const MAX_INCLUDED = 64

/** The change of a version whose writer had read others. */
interface MergedContexts {
  readonly cpid: Cpid
  /** The changes that it merges; undefined if it continues one of those that were read. */
  readonly sources: readonly Cpid[] | undefined
  /** Changes that it is known to include. */
  readonly includes: readonly Cpid[]
}

/**
 * Algorithm 1 of the paper over the versions that were read, with the merge graph for "descends from". `before` is the version of the
 * written object among them. What its change is known to include is not looked up again, so an object's history costs nothing. Undefined
 * if none of the versions belongs to a change.
 */
export function mergeContexts(
  reads: readonly KnownVersion[],
  before: KnownVersion | undefined,
  changes: Pick<Changes, 'newest'>,
  key: WriteKey,
): MergedContexts | undefined {
  const cpids = [...new Set(reads.flatMap(({ cpid }) => cpid ?? []))]
  const own = before?.cpid
  const known = new Set(own === undefined ? [] : before?.includes)
  const open = cpids.filter((cpid) => cpid === own || !known.has(cpid))
  const newest = open.length < 2 ? open : changes.newest(open)
  const [only] = newest
  if (only === undefined) return undefined
  const isMerge = newest.length > 1
  const cpid = isMerge ? derivedCpid('merge', key) : only
  const above = new Set([...cpids, ...known])
  above.delete(cpid)
  return {
    cpid,
    sources: isMerge ? newest.sort() : undefined,
    includes: [...above].slice(0, MAX_INCLUDED),
  }
}

/** Identifies one write in one cluster, whichever source reports it and however often. */
interface WriteKey {
  readonly cluster: string
  readonly uid: string
  /** The resourceVersion; if none is known, what identifies the request. */
  readonly version: string
}

function keyOfWrite(cluster: string, { object, version, request }: ClusterWrite): WriteKey {
  const known = version === undefined ? `${request?.verb ?? ''} ${request?.auditId ?? ''}` : String(version)
  return { cluster, uid: object.uid, version: known }
}

/**
 * The CPID of a change that a write begins or merges into: version 8 of RFC 9562, from SHA-256. Its derivation must never change once
 * released.
 */
export function derivedCpid(kind: 'root' | 'merge', key: WriteKey): Cpid {
  const bytes = digest(kind, key).subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return cpidOfBytes(bytes)
}

/** The ids of a write's span, in a trace of its own. */
export function derivedSpanIds(
  key: WriteKey,
  kind: 'span' | 'superseded' | 'completed' = 'span',
): { traceId: Buffer; spanId: bigint } {
  const bytes = digest(kind, key)
  const spanId = bytes.readBigInt64BE(16)
  return { traceId: bytes.subarray(0, 16), spanId: spanId === 0n ? 1n : spanId }
}

function digest(kind: string, { cluster, uid, version }: WriteKey): Buffer {
  return hash('sha256', [kind, cluster, uid, version].join('\0'), 'buffer')
}
