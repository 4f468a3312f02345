import { createHash } from 'node:crypto'
import { annotationOf, annotationsOf, recordIn, type KubernetesObject } from '../objects/kubernetes-object.ts'
import { isActedOn } from './set-fields.ts'

/** The Deployment controller gives its ReplicaSets the annotations of the Deployment. */
const COPIES_ANNOTATIONS = 'kube-controller-manager'
const REVISION = 'deployment.kubernetes.io/revision'
/** Those of Kubernetes itself, which say nothing of changes. */
const STATUS_WRITERS = new Set(['kube-controller-manager', 'kube-scheduler', 'kubelet'])

/** What tells one version of an object from the next, and who wrote it. */
export interface VersionFacts {
  readonly version: string | undefined
  readonly cpid: string | undefined
  /** Undefined where objects of this kind count none, as ConfigMaps. */
  readonly generation: number | undefined
  /** A digest of all but metadata and status. */
  readonly content: string
  /** A digest of the labels, finalizers and owners. */
  readonly handles: string
  readonly writers: readonly Writer[]
  /** When Kubernetes itself wrote its status last, and when anybody wrote it last, as far as seconds tell. */
  readonly statusTime: string | undefined
  readonly lastTime: string
  /** Whether another object is what made it. */
  readonly isOwned: boolean
  /** Whether somebody asked for its deletion, which waits for finalizers. */
  readonly isTerminating: boolean
  /** Whether its status says that what is wanted of it was acted on. */
  readonly isActedOn: boolean
}

type Entry = ReturnType<typeof recordIn>

/** An entry of managedFields that is about more than metadata and status. */
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
 * Whether a writer that carries no CPID made a version. `before` is the version that was known before it, if any: its CPID
 * stands there still, though the object is another.
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
 * Where nothing is known of earlier versions, as after a restart. A version whose status says that it was acted on is that of the status,
 * and no author's; but what another object made is acted on by controllers of another kind than the one that made it.
 */
function isFoundByAnother(now: VersionFacts): boolean {
  if (now.isActedOn && !now.isOwned) return false
  return now.cpid === undefined ? !now.isOwned : hasLaterWriter(now)
}

/** Whether two versions of an object hold the same, but for annotations and status. Deployments count a generation for annotations too. */
export function holdsTheSame(before: VersionFacts, now: VersionFacts): boolean {
  return before.content === now.content && before.handles === now.handles
}

/** Whether nothing but the status of an object, and what the Deployment controller writes with it, is another. */
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

/** Whether somebody who carries CPIDs made a version; of the first that is known, whether nobody wrote after whoever wrote the CPID. */
export function isByMarker(before: VersionFacts | undefined, now: VersionFacts): boolean {
  if (now.cpid === undefined || isOfUnpatched(now)) return false
  if (before !== undefined) return now.cpid !== before.cpid
  const { writers, lastTime, statusTime } = now
  return statusTime !== lastTime && writers.some(({ marks, time }) => marks && time === lastTime)
}

/** Whether it was made by a controller that says nothing of changes: it carries no CPID, or one that was copied. */
export function isOfUnpatched({ isOwned, cpid, writers }: VersionFacts): boolean {
  const marking = writers.filter(({ marks }) => marks)
  const isCopied = marking.length > 0 && marking.every(({ manager }) => manager === COPIES_ANNOTATIONS)
  return isOwned && (cpid === undefined || isCopied)
}

/**
 * Those whose entry is new or of another time, since one that lost a field to another writer keeps its time; where none is,
 * as within a second, those who wrote last.
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

/** The manager that made a version without a CPID; undefined where managedFields name none, or several that may have. */
export function foreignWriter(before: VersionFacts | undefined, now: VersionFacts): string | undefined {
  const writers = before === undefined ? lastWriters(now) : writersOf(before, now)
  const [manager = '', ...others] = new Set(writers.map((writer) => writer.manager))
  return manager === '' || others.length > 0 ? undefined : manager
}

/** Where nothing is known of earlier versions: whether somebody wrote after the one that wrote the CPID. */
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

/** The generated models of the client have dates, other clients text. What is neither is of no time. */
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
