import { hash } from 'node:crypto'
import type { Changes, ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
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
import { announcedChange, isSameWrite } from './announced-change.ts'
import { onBehalf } from './delivered.ts'
import { ANYBODY, overwrittenBefore, supersededBy } from './overwritten.ts'
import { takesHold } from './primaries.ts'
import { type ReadVersion, readVersions } from './read-versions.ts'
import { actorForOwner, newestBelow } from './related-objects.ts'
import type { Relation } from './relations.ts'
import { type SelfBegun, selfBegun } from './self-begun.ts'
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
import { type AttributionSettings, inferWriter } from './write-attribution.ts'
import { completesEviction, partOfWrite, type WritePart } from './write-part.ts'
import { isOfKubernetes, programOf, type Writer } from './writers.ts'

export interface InferenceSettings extends AttributionSettings {
  readonly cluster: string
  readonly relations: readonly Relation[]
}

/** What is decided about a write; it never changes. */
export interface Decision {
  readonly key: WriteKey
  readonly write: ClusterWrite
  /** The version that it made; where none is told, the lowest that it can have made. */
  readonly version: bigint | undefined
  readonly part: WritePart
  readonly writer: Writer
  /** The change that the version comes from. */
  readonly cpid: Cpid
  /** The changes that it merges; none where it begins one; undefined where it is one that was there. */
  readonly sources: readonly Cpid[] | undefined
  /** It ends a deletion that somebody else began: what follows from it comes from both. */
  readonly completes?: CompletedDeletion | undefined
  /** Changes that it is known to come from. */
  readonly includes: readonly Cpid[]
  readonly reads: readonly ReadVersion[]
  readonly cause: WriteCause
  /** Why it began a change, where a controller did. */
  readonly self?: SelfBegun | undefined
  /** Changes of the object of which nothing is left with it, before any controller acted on them. */
  readonly superseded: readonly KnownVersion[]
  /** Versions between this one and the last that is known were not seen. */
  readonly gap: boolean
  /** How many there are likely to be, at least. */
  readonly missed: number
}

interface CompletedDeletion extends MergedContexts {
  readonly sources: readonly Cpid[]
  /** The version with which it was begun. */
  readonly version: bigint
}

const LAST = 2n ** 62n

/** Decides what a write follows from, and notes the version that it made; undefined for a heartbeat, and for one decided before. */
export function decide(
  told: ClusterWrite,
  objects: ClusterObjects,
  changes: Changes,
  settings: InferenceSettings,
): Decision | undefined {
  const write = withOwnRequest(withKnownIdentity(told, objects), objects)
  const object = objects.get(write.object.uid)
  if (isDecided(write, object, objects)) return undefined
  // Nobody told of the object, so nothing can be told of its binding or status.
  const isUnknown = object === undefined && write.version === undefined
  if (isUnknown && ['binding', 'status'].includes(write.request?.subresource ?? '')) return undefined
  const below = write.version ?? (isBinding(write) ? boundBy(object) : undefined) ?? LAST
  const before = object && newestBelow(object, below)
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
  const { reads, upTo, isWhole } = readVersions(
    {
      write,
      part,
      by: programOf(writer.service),
      isCustomController,
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
    ...follows({ write, part, writer, reads, object, objects, before, key, isCertain, self }, changes),
  }
  const begins = decision.cause === 'operator'
  const superseded = begins ? whatIsSuperseded(write, object, objects) : []
  note(write, { ...decision, ...decision.completes, begins }, before, objects)
  if (write.version !== undefined) noteActed(write, part, writer, objects, upTo)
  notePrimaries(write, part, writer, before, objects)
  const { apiVersion, resource } = write.object
  if (isCustomResource(apiVersion)) objects.noteKind(groupOf(apiVersion), resource)
  return { ...decision, superseded }
}

/** Changes of an object of which nothing is left with a write, unless somebody has acted on them. */
function whatIsSuperseded(
  { object: { uid }, version, facts, gone }: ClusterWrite,
  object: KnownObject | undefined,
  objects: ClusterObjects,
): KnownVersion[] {
  if (object === undefined || version === undefined || facts === undefined) return []
  const made = { version, cpid: undefined, facts, gone, includes: [] }
  return supersededBy(made, object, objects.lastActed(uid, ANYBODY))
}

/** Of Kubernetes' own controllers it is known what they read for what they make and delete. */
const KNOWN_READERS = new Set([
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'job-controller',
  'generic-garbage-collector',
])

/**
 * Whether what a write says can tell all that was read for it. A status sums up others, a binding compares all nodes, and of other
 * controllers nobody knows what else they read.
 */
function isToldByContent(part: WritePart, { service }: Writer): boolean {
  return (part === 'creation' || part === 'authored' || part === 'deletion') && KNOWN_READERS.has(service)
}

/** One request may make several versions: it read none of them. */
function isOfRequestBefore({ request }: ClusterWrite, before: KnownVersion | undefined): boolean {
  return request !== undefined && before?.readableNs !== undefined && before.readableNs === request.startNs
}

/** The same was told again, or by another source too late: what is decided never changes. */
function isDecided(write: ClusterWrite, object: KnownObject | undefined, objects: ClusterObjects): boolean {
  const { version, request } = write
  // A list may show by its lack what a request has told already.
  if (write.gone && request === undefined && object?.versions[0]?.gone === true) return true
  if (object?.versions.some((known) => known.version === version)) return true
  if (version !== undefined && version <= (object?.forgotten ?? -1n)) return true
  if (version === undefined && isBinding(write) && isBindingKnown(object)) return true
  return request?.tellsVersion === false && !objects.isFirstTold(requestKey(request, write.object))
}

/** An Audit-ID can be chosen by whoever asks: it tells requests for one object apart, no more. */
function requestKey(
  { auditId = '', verb }: ApiRequest,
  { resource, namespace, name }: ObjectIdentity,
): string {
  return [auditId, verb, resource, namespace, name].join(' ')
}

/** A list may leave versions out; a request may say that it read one that nobody saw; a generation counts what authors wrote. */
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
): Pick<Decision, 'cpid' | 'sources' | 'completes' | 'includes' | 'reads' | 'cause' | 'self'> {
  const begins =
    writer.role === 'operator' || (writer.role === 'unknown' && !reactsToOthers(write, part, read))
  const reads = begins
    ? read
    : [...read, ...overwrittenBefore(write, read, programOf(writer.service), objects)]
  const said =
    ownCpid(write.facts, before?.facts, reads) ?? (begins ? announcedChange(write, object) : undefined)
  const told = said !== undefined && changes.mayJoin(said) ? said : undefined
  if (told !== undefined)
    return { cpid: told, sources: undefined, includes: [], reads, cause: begins ? 'operator' : 'exact' }
  if (completesEviction(write, part, before)) {
    const marks = reads.filter(({ identity }) => identity.uid === write.object.uid)
    const mark = marks[0]?.known
    const context = mark && mergeContexts([mark], mark, changes, key)
    if (context !== undefined) return { ...context, reads: marks, cause: 'inferred' }
  }
  const began = derivedCpid('root', key)
  // Whoever takes away what held a deleted object ends what was begun with its deletion.
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
  const unknown: SelfBegun = { reason: 'unknown', setUp: undefined }
  return { cpid: began, sources: [], includes: [], reads, cause: 'self', self: unknown }
}

/** Somebody nobody can name reacts where there is something to react to; else it is a person. */
function reactsToOthers(write: ClusterWrite, part: WritePart, reads: readonly ReadVersion[]): boolean {
  if (part === 'status' || part === 'removal' || part === 'binding') return true
  const others = reads.filter(({ identity }) => identity.uid !== write.object.uid)
  return part === 'deletion'
    ? others.some(({ known }) => known.gone || known.facts.deleting)
    : others.length > 0
}

/** The CPID that an instrumented writer put on this version: not one that was there, nor one copied from an owner. */
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

/** Every write of a cluster makes a version above all that were made before it. */
function versionOf(
  { version, after = -1n }: ClusterWrite,
  before: KnownVersion | undefined,
): bigint | undefined {
  if (version !== undefined || before === undefined) return version
  return (after > before.version ? after : before.version) + 1n
}

function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0))
}

/** What a custom controller looks after: objects whose status it writes or that it holds, and owners of what it makes. */
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

/** More owners that it had are not remembered. */
const MAX_FOUND_BY = 4

interface Noted extends Pick<KnownVersion, 'cpid' | 'includes'> {
  readonly begins?: boolean
  readonly part?: WritePart
}

function note(
  write: ClusterWrite,
  { cpid, includes, begins, part }: Noted,
  before: KnownVersion | undefined,
  objects: ClusterObjects,
): void {
  const { object, facts, gone, request } = write
  const at = versionOf(write, before)
  const known = facts ?? (isBinding(write) ? boundSomewhere(before?.facts) : before?.facts)
  if (known === undefined || at === undefined) return
  // What nobody had asked for yet, nobody had read.
  const readableNs = request?.startNs
  const isSame = before !== undefined && hasContentOf(before, { facts: known, gone }, object)
  const contentVersion = isSame && !(begins === true && part === 'status') ? before.contentVersion : at
  const found = foundBy({ facts: known, gone }, before?.facts, objects)
  const seen = found.length === 0 ? known : { ...known, foundBy: found }
  const begun = begins === true
  objects.add(object, { version: at, cpid, facts: seen, gone, includes, readableNs, contentVersion, begun })
}

/** Others select Pods by their labels. */
const SELECTED = 'pods'

/**
 * A generation counts what an author wants: labels and annotations of Kubernetes' own kinds change nothing that is wanted, as far as people
 * write them. Controllers tell one another by annotations.
 */
function hasContentOf(
  before: KnownVersion,
  { facts, gone }: Pick<KnownVersion, 'facts' | 'gone'>,
  { apiVersion, resource }: ObjectIdentity,
): boolean {
  if (gone !== before.gone || facts.deleting !== before.facts.deleting) return false
  const isCounted = facts.generation > 0 && resource !== SELECTED && facts.owners.length === 0
  if (isCounted && !isCustomResource(apiVersion)) return facts.generation === before.facts.generation
  // The status says which revision is applied.
  return [FINGERPRINT.authored, 'revision'].every(
    (print) => fingerprintOf(facts, print) === fingerprintOf(before.facts, print),
  )
}

/** What others find it by, beside what it says: owners that it had, and the node that it left. */
function foundBy(
  { facts, gone }: Pick<KnownVersion, 'facts' | 'gone'>,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): NonNullable<ObjectFacts['foundBy']> {
  const had = [
    ...(before?.owners ?? []).map(({ uid }) => ({ uid, as: 'departed' })),
    ...(before?.foundBy ?? []).filter(({ as }) => as === 'departed'),
  ]
  const departed = had.filter(({ uid }) => facts.owners.every((owner) => owner.uid !== uid))
  const nodes = gone ? facts.references.filter(({ field }) => field === 'node') : []
  const freed = nodes.flatMap(({ name }) => {
    const node = objects.named('nodes', '', name)
    return node === undefined ? [] : [{ uid: node.identity.uid, as: 'freed' }]
  })
  return [...departed.slice(0, MAX_FOUND_BY), ...freed]
}

/** What a controller does to what an object owns, it does for that object. */
function noteActed(
  { object, version = 0n, facts }: ClusterWrite,
  part: WritePart,
  { service }: Writer,
  objects: ClusterObjects,
  upTo = version,
): void {
  const by = programOf(service)
  objects.noteActed(object.uid, by, upTo)
  if (part === 'status' || part === 'binding' || part === 'removal') return
  for (const owner of facts?.owners ?? []) objects.noteActed(owner.uid, actorForOwner(by), upTo)
}

/** How many changes a version remembers to come from. */
const MAX_INCLUDED = 64

/** The change of a version that somebody wrote who had read others. */
interface MergedContexts {
  readonly cpid: Cpid
  /** The changes that it merges; undefined where it is one of those that were read. */
  readonly sources: readonly Cpid[] | undefined
  /** Changes that it is known to come from. */
  readonly includes: readonly Cpid[]
}

/**
 * Algorithm 1 of the paper over the versions that were read, with the merge graph for "descends from". `before` is the version of
 * the written object among them: what its change is known to come from is not looked for again, so that what an object has
 * gone through before costs nothing. Undefined where none of them is of a change.
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

/** What makes one write of one cluster known again, whoever tells of it, and however often. */
interface WriteKey {
  readonly cluster: string
  readonly uid: string
  /** The resourceVersion; where none is known, what the request is known by. */
  readonly version: string
}

function keyOfWrite(cluster: string, { object, version, request }: ClusterWrite): WriteKey {
  const known = version === undefined ? `${request?.verb ?? ''} ${request?.auditId ?? ''}` : String(version)
  return { cluster, uid: object.uid, version: known }
}

/** The CPID that a write begins or merges into: version 8 of RFC 9562, out of SHA-256. Once released it never changes. */
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

/** How inference decides, in all clusters that are watched. */
export interface InferenceRules extends Omit<InferenceSettings, 'cluster'> {
  /** How long streams of other resources may take to catch up. */
  readonly windowMs: number
  /** How long it is waited for who wrote, where a source tells. */
  readonly whoWaitMs: number
  /** What is seen of each cluster that is configured. */
  readonly clusters: Readonly<Record<string, ClusterSources>>
}

export interface ClusterSources {
  /** The versions of its objects. */
  readonly versions: boolean
  /** A receiver watches them, whose streams have to catch up first after a start; not unless given. */
  readonly isFollowed?: boolean
  /** The requests that make them. */
  readonly requests: boolean
  /** The requests that are about to be done: they say who, and come before the versions. Not unless given. */
  readonly admissions?: boolean
}
