import { parseCpid, type Cpid } from '../model/cpid.ts'
import { announcedChange } from './announced-change.ts'
import type { ObjectFacts, ObjectIdentity } from '../model/kubernetes/object-facts.ts'
import type { Request, Write } from '../model/kubernetes/write.ts'
import { readVersions, type ReadVersion } from './read-versions.ts'
import { forOwned, newestBelow } from './related-objects.ts'
import type {
  Changes,
  ClusterObjects,
  KnownObject,
  KnownVersion,
} from '../model/kubernetes/cluster-objects.ts'
import { derivedCpid, keyOfWrite, type WriteKey } from './derive-change-ids.ts'
import { completesEviction } from './evictions.ts'
import { mergeContexts } from './merge-contexts.ts'
import { partOfWrite, type Part } from './part-of-write.ts'
import type { Relation } from './relations.ts'
import { whoWrote, type WhoSettings, type Writer } from './who-wrote.ts'

export interface InferenceSettings extends WhoSettings {
  readonly cluster: string
  readonly relations: readonly Relation[]
}

/** What is decided about a write; it never changes. */
export interface Decision {
  readonly key: WriteKey
  readonly write: Write
  /** The version that it made; where none is told, the lowest that it can have made. */
  readonly version: bigint | undefined
  readonly part: Part
  readonly writer: Writer
  /** The change that the version comes from. */
  readonly cpid: Cpid
  /** The changes that it merges; none where it begins one; undefined where it is one that was there. */
  readonly sources: readonly Cpid[] | undefined
  /** Changes that it is known to come from. */
  readonly includes: readonly Cpid[]
  readonly reads: readonly ReadVersion[]
  readonly cause: 'operator' | 'exact' | 'inferred'
  /** Versions between this one and the last that is known were not seen. */
  readonly gap: boolean
}

const LAST = 2n ** 62n

/** Decides what a write follows from, and notes the version that it made; undefined for a heartbeat, and for one decided before. */
export function decide(
  write: Write,
  objects: ClusterObjects,
  changes: Changes,
  settings: InferenceSettings,
): Decision | undefined {
  const object = objects.get(write.object.uid)
  if (isDecided(write, object, objects)) return undefined
  const below = write.version ?? LAST
  const before = object && newestBelow(object, below)
  const part = partOfWrite(write, before?.facts)
  if (write.listed === 'first' && object === undefined) {
    note(write, { cpid: parseCpid(write.facts?.cpid ?? ''), includes: [] }, undefined, objects)
    return undefined
  }
  if (part === 'heartbeat') {
    if (before !== undefined) note(write, before, before, objects)
    return undefined
  }
  const writer = whoWrote(write, part, before?.facts, { objects, settings })
  const { reads, upTo, isWhole } = readVersions(
    { write, part, by: writer.service, before, objects, below, tooLate: new Set() },
    settings.relations,
  )
  const key = keyOfWrite(settings.cluster, write)
  const gap = hasGap(write, part, before)
  // What a list shows is the work of several writes, each of which may have read something else.
  const isCertain = isWhole && !gap
  const decision = {
    ...{ key, write, version: versionOf(write, before), part, writer, gap },
    ...follows({ write, part, writer, reads, object, before, key, isCertain }, changes),
  }
  note(write, decision, before, objects)
  if (write.version !== undefined) noteActed(write, part, writer, objects, upTo)
  return decision
}

/** The same was told again, or by another source too late: what is decided never changes. */
function isDecided(write: Write, object: KnownObject | undefined, objects: ClusterObjects): boolean {
  const { version, request } = write
  // A list may show by its lack what a request has told already.
  if (write.gone && request === undefined && object?.versions[0]?.gone === true) return true
  if (object?.versions.some((known) => known.version === version)) return true
  if (version !== undefined && version <= (object?.forgotten ?? -1n)) return true
  return request?.tellsVersion === false && !objects.isFirstTold(requestKey(request, write.object))
}

/** An Audit-ID can be chosen by whoever asks: it tells requests for one object apart, no more. */
function requestKey({ auditId = '', verb }: Request, { resource, namespace, name }: ObjectIdentity): string {
  return [auditId, verb, resource, namespace, name].join(' ')
}

/** A list may leave versions out; a request may say that it read one that nobody saw; a generation counts what authors wrote. */
function hasGap(
  { listed, request, facts, version }: Write,
  part: Part,
  before: KnownVersion | undefined,
): boolean {
  if (listed !== undefined) return true
  if (before === undefined) return part !== 'creation'
  const read = request?.readVersion ?? 0n
  if (read > before.version && read < (version ?? read)) return true
  return facts !== undefined && facts.generation > before.facts.generation + 1
}

interface Following {
  write: Write
  part: Part
  writer: Writer
  reads: readonly ReadVersion[]
  object: KnownObject | undefined
  before: KnownVersion | undefined
  key: WriteKey
  isCertain: boolean
}

function follows(
  { write, part, writer, reads, object, before, key, isCertain }: Following,
  changes: Changes,
): Pick<Decision, 'cpid' | 'sources' | 'includes' | 'reads' | 'cause'> {
  const begins =
    writer.role === 'operator' || (writer.role === 'unknown' && !reactsToOthers(write, part, reads))
  const said =
    ownCpid(write.facts, before?.facts, reads) ?? (begins ? announcedChange(write, object) : undefined)
  const own = said !== undefined && changes.mayJoin(said) ? said : undefined
  if (own !== undefined)
    return { cpid: own, sources: undefined, includes: [], reads, cause: begins ? 'operator' : 'exact' }
  if (completesEviction(write, part, before)) {
    const marks = reads.filter(({ identity }) => identity.uid === write.object.uid)
    const mark = marks[0]?.known
    const context = mark && mergeContexts([mark], mark, changes, key)
    if (context !== undefined) return { ...context, reads: marks, cause: 'exact' }
  }
  if (begins)
    return { cpid: derivedCpid('root', key), sources: [], includes: [], reads: [], cause: 'operator' }
  const cause = isCertain && reads.length > 0 && reads.every(({ exact }) => exact) ? 'exact' : 'inferred'
  const self = reads.find(({ identity }) => identity.uid === write.object.uid)
  const versions = reads.map(({ known }) => known)
  const merged = mergeContexts(versions, self?.known, changes, key)
  if (merged !== undefined) return { ...merged, reads, cause }
  return { cpid: derivedCpid('root', key), sources: [], includes: [], reads, cause: 'inferred' }
}

/** Somebody nobody can name reacts where there is something to react to; else it is a person. */
function reactsToOthers(write: Write, part: Part, reads: readonly ReadVersion[]): boolean {
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
  const cpid = facts?.cpid
  if (cpid === undefined || cpid === before?.cpid) return undefined
  const owners = new Set(facts?.owners.map(({ uid }) => uid))
  const isCopy = reads.some(({ identity, known }) => owners.has(identity.uid) && known.facts.cpid === cpid)
  return isCopy ? undefined : parseCpid(cpid)
}

/** Every write of a cluster makes a version above all that were made before it. */
function versionOf({ version, after = -1n }: Write, before: KnownVersion | undefined): bigint | undefined {
  if (version !== undefined || before === undefined) return version
  return (after > before.version ? after : before.version) + 1n
}

function note(
  write: Write,
  { cpid, includes }: Pick<KnownVersion, 'cpid' | 'includes'>,
  before: KnownVersion | undefined,
  objects: ClusterObjects,
): void {
  const { object, facts, gone, request } = write
  const at = versionOf(write, before)
  const known = facts ?? before?.facts
  if (known === undefined || at === undefined) return
  // What nobody had asked for yet, nobody had read.
  const readableNs = request?.startNs
  objects.add(object, { version: at, cpid, facts: known, gone, includes, readableNs })
}

/** What a controller does to what an object owns, it does for that object. */
function noteActed(
  { object, version = 0n, facts }: Write,
  part: Part,
  { service }: Writer,
  objects: ClusterObjects,
  upTo = version,
): void {
  objects.noteActed(object.uid, service, upTo)
  if (part === 'status' || part === 'binding' || part === 'removal') return
  for (const owner of facts?.owners ?? []) objects.noteActed(owner.uid, forOwned(service), upTo)
}
