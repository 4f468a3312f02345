import { createHash } from 'node:crypto'
import { annotationOf, annotationsOf, recordIn, type KubernetesObject } from '../objects/kubernetes-object.ts'
import { isActedOn } from './set-fields.ts'

/** The Deployment controller gives its ReplicaSets the annotations of the Deployment. */
const COPIES_ANNOTATIONS = 'kube-controller-manager'
const REVISION = 'deployment.kubernetes.io/revision'
/** Managers of Kubernetes itself, which carry no CPIDs. */
const STATUS_WRITERS = new Set(['kube-controller-manager', 'kube-scheduler', 'kubelet'])

/** Facts of one version of an object, to compare it with the next and to find its writer. */
export interface VersionFacts {
  readonly version: string | undefined
  readonly cpid: string | undefined
  /** Undefined for kinds without generations, such as ConfigMaps. */
  readonly generation: number | undefined
  /** A digest of all but metadata and status. */
  readonly content: string
  /** A digest of the labels, finalizers and owners. */
  readonly handles: string
  readonly writers: readonly Writer[]
  /** When Kubernetes itself last wrote its status, and when anybody last wrote it, in whole seconds. */
  readonly statusTime: string | undefined
  readonly lastTime: string
  /** Whether it has an owner. */
  readonly isOwned: boolean
  /** Whether it is being deleted and waits for finalizers. */
  readonly isTerminating: boolean
  /** Whether `observedGeneration` has reached the generation. */
  readonly isActedOn: boolean
}

type Entry = ReturnType<typeof recordIn>

/** An entry of managedFields with more than metadata and status. */
interface Writer {
  readonly name: string
  readonly manager: string
  readonly time: string
  /** Whether it wrote the CPID. */
  readonly marks: boolean
}

export function factsOf(object: KubernetesObject, cpidKey: string): VersionFacts {
  const metadata = recordIn(object.metadata)
  const { generation, ownerReferences, managedFields, deletionTimestamp } = metadata
  const count = typeof generation === 'number' ? generation : undefined
  const entries = Array.isArray(managedFields) ? managedFields.map(recordIn) : []
  return {
    version: object.metadata?.resourceVersion,
    cpid: annotationOf(object, cpidKey),
    generation: count,
    content: contentOf(object),
    handles: digestOf([metadata['labels'], metadata['finalizers'], ownerReferences]),
    writers: entries.flatMap((entry) => writerOf(entry, cpidKey)),
    statusTime: lastOf(entries.filter(isStatusByKubernetes)),
    lastTime: lastOf(entries) ?? '',
    isOwned:
      Array.isArray(ownerReferences) && ownerReferences.some((one) => recordIn(one)['controller'] === true),
    isTerminating: deletionTimestamp !== undefined && deletionTimestamp !== null,
    isActedOn: isActedOn(object, count),
  }
}

/**
 * Whether a writer without CPIDs made a version. `before` is the previously known version, if any; such a writer leaves its CPID on
 * the object.
 */
export function isByAnother(before: VersionFacts | undefined, now: VersionFacts): boolean {
  if (before === undefined) return isFoundByAnother(now)
  if (now.cpid !== undefined && now.cpid !== before.cpid) return false
  const isOther =
    now.generation === undefined || before.generation === undefined
      ? now.content !== before.content
      : now.generation > before.generation
  if (!isOther) return false
  if (now.cpid === undefined) return !now.isOwned
  return !writersOf(before, now).some(({ marks }) => marks)
}

/**
 * The same without an earlier version, as after a restart. A version that was acted on was last written for its status, not by an author.
 * That does not hold for owned objects, since other controllers than their creator act on them.
 */
function isFoundByAnother(now: VersionFacts): boolean {
  if (now.isActedOn && !now.isOwned) return false
  return now.cpid === undefined ? !now.isOwned : hasLaterWriter(now)
}

/** Whether two versions are equal except for annotations and status. Not by generation, which Deployments count for annotations too. */
export function holdsTheSame(before: VersionFacts, now: VersionFacts): boolean {
  return before.content === now.content && before.handles === now.handles
}

/** Whether two versions differ only in status, and in the annotation that the Deployment controller writes with it. */
export function isTheSame(before: KubernetesObject, now: KubernetesObject, cpidKey: string): boolean {
  const [then, after] = [before, now].map((one) => factsOf(one, cpidKey)) as [VersionFacts, VersionFacts]
  if (before.metadata?.uid !== now.metadata?.uid || then.generation !== after.generation) return false
  return (
    holdsTheSame(then, after) &&
    then.isTerminating === after.isTerminating &&
    notesOf(before) === notesOf(now)
  )
}

function notesOf(object: KubernetesObject): string {
  const others = Object.entries(annotationsOf(object)).filter(([key]) => key !== REVISION)
  return JSON.stringify(others.toSorted())
}

/** Whether Kubernetes itself made a version, by writing the status alone. */
export function isStatusAlone(before: VersionFacts, now: VersionFacts): boolean {
  const { statusTime } = now
  if (statusTime === undefined || now.cpid !== before.cpid || now.isTerminating !== before.isTerminating)
    return false
  return holdsTheSame(before, now) && statusTime === now.lastTime
}

/** Whether a writer with CPIDs made a version. For the first known version: whether nobody wrote after the writer of the CPID. */
export function isByMarker(before: VersionFacts | undefined, now: VersionFacts): boolean {
  if (now.cpid === undefined || isOfUnpatched(now)) return false
  if (before !== undefined) return now.cpid !== before.cpid
  const { writers, lastTime, statusTime } = now
  return statusTime !== lastTime && writers.some(({ marks, time }) => marks && time === lastTime)
}

/** Whether an unpatched controller created the object: it carries no CPID, or a copied one. */
export function isOfUnpatched({ isOwned, cpid, writers }: VersionFacts): boolean {
  const marking = writers.filter(({ marks }) => marks)
  const isCopied = marking.length > 0 && marking.every(({ manager }) => manager === COPIES_ANNOTATIONS)
  return isOwned && (cpid === undefined || isCopied)
}

/**
 * The writers with a new entry or a new time (an entry that lost a field to another writer keeps its time). If there is none, as
 * within one second, the last writers.
 */
function writersOf(before: VersionFacts, now: VersionFacts): readonly Writer[] {
  const earlier = new Map(before.writers.map(({ name, time }) => [name, time]))
  const changed = now.writers.filter(({ name, time }) => earlier.get(name) !== time)
  return changed.length > 0 ? changed : lastWriters(now)
}

function lastWriters(now: VersionFacts): readonly Writer[] {
  const last = now.writers.reduce((latest, { time }) => (time > latest ? time : latest), '')
  return now.writers.filter(({ time }) => time === last)
}

/** The manager that made a version without a CPID; undefined if managedFields name none or several candidates. */
export function foreignWriter(before: VersionFacts | undefined, now: VersionFacts): string | undefined {
  const writers = before === undefined ? lastWriters(now) : writersOf(before, now)
  const [manager = '', ...others] = new Set(writers.map((writer) => writer.manager))
  return manager === '' || others.length > 0 ? undefined : manager
}

/** Whether another writer wrote after the writer of the CPID; for use without an earlier version. */
function hasLaterWriter({ writers }: VersionFacts): boolean {
  const marked = writers.filter(({ marks }) => marks).map(({ time }) => time)
  if (marked.length === 0) return false
  const last = marked.reduce((latest, time) => (time > latest ? time : latest))
  return writers.some(({ marks, time }) => !marks && time > last)
}

function isStatusByKubernetes({ manager, subresource }: Entry): boolean {
  return subresource === 'status' && STATUS_WRITERS.has(textIn(manager))
}

function lastOf(entries: readonly Entry[]): string | undefined {
  const times = entries.map(timeOf)
  return times.length === 0 ? undefined : times.reduce((latest, time) => (time > latest ? time : latest))
}

/** The time of an entry: a Date in the client's generated models, text in other clients; empty otherwise. */
function timeOf({ time }: Entry): string {
  return time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : textIn(time)
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function writerOf(entry: Entry, cpidKey: string): Writer[] {
  const { manager, operation, subresource, fieldsV1 } = entry
  const fields = recordIn(fieldsV1)
  const annotations = recordIn(recordIn(fields['f:metadata'])['f:annotations'])
  const marks = Object.hasOwn(annotations, `f:${cpidKey}`)
  const isSubstance = Object.keys(fields).some((name) => name !== 'f:metadata' && name !== 'f:status')
  if (!marks && (!isSubstance || subresource === 'status')) return []
  const name = [manager, operation, subresource].map(textIn).join(' ')
  return [{ name, manager: textIn(manager), time: timeOf(entry), marks }]
}

function contentOf(object: KubernetesObject): string {
  const content = { ...object } as Record<string, unknown>
  for (const name of ['metadata', 'status', 'kind', 'apiVersion']) Reflect.deleteProperty(content, name)
  return digestOf(content)
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}
