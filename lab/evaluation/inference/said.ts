import { SpanKind } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import {
  CPID_ID,
  CPID_NEW,
  CPID_OBSERVED,
  CPID_SOURCES,
  CPID_WROTE,
  MERGELOG_EVENT,
} from '../../../src/model/attributes.ts'
import { fieldPrints } from '../../../src/kube/objects/field-prints.ts'
import { fieldsOf } from '../../../src/model/kubernetes-objects.ts'
import type { Shown, ShownWrite } from './as-shown.ts'

/** What its writer said of a write. */
export interface ReportedWrite {
  /** The piece of work that it was written in, by its span. */
  readonly work: string | undefined
  /** The writes that began the changes which it is of, by its CPID: of all that was read. */
  readonly rootsOfAllRead: readonly ShownWrite[]
  /** The same of what counts as a cause. */
  readonly roots: readonly ShownWrite[]
  /** The write that it hangs below (docs/linking.md, rule 4); undefined for what nobody in the run wrote. */
  readonly parent: ShownWrite | undefined
  /** `<uid>@<version>` of all that was read for it. */
  readonly observed: ReadonlySet<string>
}

/** They keep in mind by name what has gone. */
const OF_OWNED: readonly string[] = ['deployment-controller', 'replicaset-controller']
const TAKES_AWAY: readonly string[] = ['garbage-collector', 'endpoints-controller']

interface Told {
  readonly span: ReadableSpan
  readonly cpid: string
  readonly observed: readonly Version[]
}

interface Version {
  readonly uid: string
  readonly version: number
}

/** What the controllers themselves said of each write: in mergelogs, `cpid.id`, `cpid.observed` and `cpid.wrote`. */
export function reportedWrites({ spans, records }: Recorder, shown: Shown): Map<ShownWrite, ReportedWrite> {
  const told = tellers(spans, shown)
  const graph = new Map<string, readonly string[]>()
  for (const { eventName, attributes } of records) {
    if (eventName !== MERGELOG_EVENT) continue
    graph.set(attributes[CPID_NEW] as string, attributes[CPID_SOURCES] as string[])
  }
  const begun = new Map<string, ShownWrite>()
  for (const [write, { cpid }] of told) if (!begun.has(cpid)) begun.set(cpid, write)
  const writers = Map.groupBy(shown.writes, ({ accepted }) => accepted.object.metadata.uid)
  const said = new Map<ShownWrite, ReportedWrite>()
  const lastOf = new Map<string, ShownWrite>()
  /** Up to which version a component has acted on an object. */
  const lastRead = new Map<string, number>()
  /** What a piece of work has written, it goes on from. */
  const byWork = new Map<string, readonly ShownWrite[]>()
  for (const write of shown.writes) {
    const teller = told.get(write)
    if (teller === undefined) continue
    const { span, cpid, observed } = teller
    const work = workOf(span)
    const read = observed.flatMap((version) => {
      const writer = writerOf(version, shown, writers)
      return writer === undefined ? [] : whatEnded(writer, write, writers)
    })
    const last = lastOf.get(`${write.component} ${write.accepted.object.metadata.uid}`)
    const causes = [
      ...read.filter((one) => isCause(one, write) && isNews(one, write, last && said.get(last))),
      ...whatPeopleDeleted(read, write, shown),
    ]
    const overwritten = observed.flatMap((version) =>
      whatWasOverwritten(version, write, shown, writers, lastRead),
    )
    const before = (byWork.get(work ?? '') ?? []).filter((one) => isCause(one, write))
    byWork.set(work ?? '', [...(byWork.get(work ?? '') ?? []), write])
    lastOf.set(`${write.component} ${write.accepted.object.metadata.uid}`, write)
    const isOperator = write.component === 'kubectl'
    said.set(write, {
      work,
      // One that begins with a write which changed nothing cannot be seen from outside.
      rootsOfAllRead: rootsOf(cpid, graph).flatMap((root) => begun.get(root) ?? []),
      roots: isOperator
        ? [write]
        : [...new Set([...causes, ...before, ...overwritten].flatMap((one) => said.get(one)?.roots ?? []))],
      parent:
        whatIsWanted(write, observed, shown, writers) ??
        endingLast(
          causes.filter((one) => workOf(told.get(one)?.span) !== work),
          ({ accepted }) => accepted.committedMs,
        ),
      observed: new Set(observed.map((version) => keyOf(visible(version, shown)))),
    })
  }
  return said
}

/**
 * Whether something that was read counts as a cause of a write, as the contract has it: what is made or taken away follows from
 * its owner, not from what else that owns, but where it takes the place of what goes; and what another object owned that had
 * the same name before has nothing to do with it.
 */
function isCause(read: ShownWrite, write: ShownWrite): boolean {
  const { did, object } = write.accepted
  const [theirs, own] = [ownersOf(read), ownersOf(write)]
  const { uid } = read.accepted.object.metadata
  if (uid === object.metadata.uid || own.includes(uid) || theirs.length === 0) return true
  const isSibling = theirs.some((uid) => own.includes(uid))
  if (OF_OWNED.includes(write.component) && !isSibling && !theirs.includes(object.metadata.uid)) return false
  if (did !== 'create' && did !== 'delete') return true
  if (!isSibling) return true
  const takesPlace =
    write.accepted.resource === 'v1/pods' || read.accepted.object.metadata.name === object.metadata.name
  return did === 'create' && takesPlace && (read.gone || read.accepted.did === 'delete')
}

function ownersOf({ accepted }: ShownWrite): string[] {
  return accepted.object.metadata.ownerReferences?.map(({ uid }) => uid) ?? []
}

/** What has no owner and is made anew follows from who deleted it, unless what it is made for was changed after that. */
function whatPeopleDeleted(read: readonly ShownWrite[], write: ShownWrite, { writes }: Shown): ShownWrite[] {
  const { did, resource, object } = write.accepted
  if (did !== 'create' || write.component === 'kubectl' || ownersOf(write).length > 0) return []
  const { namespace, name } = object.metadata
  const last = writes.findLast(
    ({
      version,
      accepted: {
        resource: of,
        object: { metadata },
      },
    }) =>
      version < write.version &&
      of === resource &&
      metadata.namespace === namespace &&
      metadata.name === name,
  )
  if (last?.gone !== true || last.component !== 'kubectl') return []
  return read.some(({ component, version }) => component === 'kubectl' && version > last.version)
    ? []
    : [last]
}

/**
 * An operator's write that another overwrote before a component that reconciles the object had acted on it, as far as a field of it still
 * holds: that follows from both (docs/inference.md).
 */
function whatWasOverwritten(
  read: Version,
  write: ShownWrite,
  shown: Shown,
  writers: ReadonlyMap<string, readonly ShownWrite[]>,
  lastRead: Map<string, number>,
): ShownWrite[] {
  const { uid } = write.accepted.object.metadata
  if (write.component === 'kubectl' || (read.uid !== uid && !ownersOf(write).includes(read.uid))) return []
  const at = visible(read, shown).version
  const all = (writers.get(read.uid) ?? []).filter((one) => one.version <= at)
  const authored = all.filter(
    ({ component, accepted }) => component === 'kubectl' && accepted.did !== 'delete',
  )
  const newest = authored.at(-1)
  const key = `${write.component} ${read.uid}`
  const since = lastRead.get(key) ?? -1
  if (newest === undefined || newest.version <= since) return []
  lastRead.set(key, newest.version)
  return authored.slice(0, -1).filter((one) => one.version > since && holdsIn(one, all))
}

/** Whether a field that a write set is what it was in the last of those of its object. */
function holdsIn(one: ShownWrite, all: readonly ShownWrite[]): boolean {
  const [before, set, now] = [all[all.indexOf(one) - 1], one, all.at(-1)].map(fieldsIn)
  return [...(set ?? [])].some(([path, value]) => before?.get(path) !== value && now?.get(path) === value)
}

function fieldsIn(write: ShownWrite | undefined): Map<string, string> {
  const spec = write?.object.spec
  return fieldsOf(
    (typeof spec === 'object' && !Array.isArray(spec) && spec !== null && fieldPrints(spec)) || '',
  )
}

/** A ReplicaSet is changed for what its Deployment wants, however far that has come. */
function whatIsWanted(
  write: ShownWrite,
  observed: readonly Version[],
  shown: Shown,
  writers: ReadonlyMap<string, readonly ShownWrite[]>,
): ShownWrite | undefined {
  if (write.component !== 'deployment-controller' || write.accepted.did !== 'update') return undefined
  const [owner] = ownersOf(write)
  const read = observed.find(({ uid }) => uid === owner)
  if (owner === undefined || read === undefined) return undefined
  const at = visible(read, shown).version
  return writers
    .get(owner)
    ?.findLast(
      ({ version, component, accepted }) =>
        version <= at && component !== write.component && accepted.did !== 'updateStatus',
    )
}

/** What its writer had read already when it wrote the object last has caused nothing since; its owner and itself always count. */
function isNews(read: ShownWrite, write: ShownWrite, last: ReportedWrite | undefined): boolean {
  const { uid, ownerReferences = [] } = write.accepted.object.metadata
  const of = read.accepted.object.metadata.uid
  if (last === undefined || of === uid || ownerReferences.some((owner) => owner.uid === of)) return true
  return !last.observed.has(`${of}@${read.version}`)
}

/**
 * What is taken away because something else is gone follows from its end. A controller that learns of that from a list can only
 * say which version it knew last.
 */
function whatEnded(
  read: ShownWrite,
  write: ShownWrite,
  writers: ReadonlyMap<string, readonly ShownWrite[]>,
): ShownWrite {
  const [was, is] = [read.accepted.object.metadata, write.accepted.object.metadata]
  const takesAway = TAKES_AWAY.includes(write.component) && write.accepted.did === 'delete'
  const replaces = write.accepted.did === 'create' && read.accepted.resource === write.accepted.resource
  if ((!takesAway && !replaces) || was.uid === is.uid) return read
  return writers.get(was.uid)?.find((one) => one.gone && one.version < write.version) ?? read
}

function workOf(span: ReadableSpan | undefined): string | undefined {
  return span?.parentSpanContext?.spanId
}

export function endingLast<T>(all: readonly T[], endOf: (one: T) => number | bigint): T | undefined {
  return all.reduce<T | undefined>(
    (last, one) => (last === undefined || endOf(one) > endOf(last) ? one : last),
    undefined,
  )
}

/** Whose span tells of each write: it names the version, or of a deletion the object alone. */
function tellers(spans: readonly ReadableSpan[], { writes }: Shown): Map<ShownWrite, Told> {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]))
  const byVersion = new Map(writes.map((write) => [String(write.version), write]))
  const deletions = Map.groupBy(
    writes.filter(({ accepted }) => accepted.did === 'delete'),
    ({ component, accepted }) => `${component} ${accepted.object.metadata.uid}`,
  )
  const told = new Map<ShownWrite, Told>()
  for (const span of spans) {
    if (span.kind !== SpanKind.CLIENT) continue
    const [wrote] = (span.attributes[CPID_WROTE] as string[] | undefined) ?? []
    if (wrote === undefined) continue
    const { uid, version } = readReference(wrote)
    const component = String(span.resource.attributes['service.name'])
    const write = span.name.startsWith('delete ')
      ? deletions.get(`${component} ${uid}`)?.shift()
      : byVersion.get(String(version))
    if (write === undefined || told.has(write)) continue
    const work = byId.get(span.parentSpanContext?.spanId ?? '')
    const observed = ((work?.attributes[CPID_OBSERVED] as string[] | undefined) ?? []).map(readReference)
    told.set(write, { span, cpid: String(span.attributes[CPID_ID]), observed })
  }
  return told
}

function readReference(reference: string): Version {
  const query = new URLSearchParams(reference.split('?')[1])
  return { uid: query.get('uid') ?? '', version: Number(query.get('rv') ?? Number.NaN) }
}

/** The write of the highest version at or below the one that was read. */
function writerOf(
  version: Version,
  shown: Shown,
  writers: ReadonlyMap<string, readonly ShownWrite[]>,
): ShownWrite | undefined {
  const read = visible(version, shown).version
  return writers.get(version.uid)?.findLast((write) => write.version <= read)
}

/** A version that nothing but a CPID made is that before it. */
function visible({ uid, version }: Version, { left }: Shown): Version {
  let at: number | undefined = version
  while (at !== undefined && left.has(`${uid}@${at}`)) at = left.get(`${uid}@${at}`)
  return { uid, version: at ?? version }
}

function keyOf({ uid, version }: Version): string {
  return `${uid}@${version}`
}

function rootsOf(cpid: string, graph: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set([cpid])
  for (const one of seen) for (const source of graph.get(one) ?? []) seen.add(source)
  return [...seen].filter((one) => (graph.get(one)?.length ?? 0) === 0)
}
