import { ROOT_CONTEXT, type Tracer } from '@opentelemetry/api'
import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { internalsOf } from '../internals.ts'
import { BoundedMap } from '../known/bounded-map.ts'
import { reportOnUse } from '../known/report-on-use.ts'
import { type KubernetesObject, recordIn } from '../objects/kubernetes-object.ts'
import type { ObjectType } from '../objects/object-reference.ts'
import { deletedCollectionsOf } from './deleted-collections.ts'
import { derivedRoot } from './derived-root.ts'
import { heldObjectsOf } from './held-objects.ts'
import type { RequestTarget } from './request-target.ts'
import { noteSetFields } from './set-fields.ts'
import { noteStatusWrite } from './status-writes.ts'
import {
  factsOf,
  foreignWriter,
  holdsTheSame,
  isByAnother,
  isByMarker,
  isOfUnpatched,
  isStatusAlone,
  type VersionFacts,
} from './version-facts.ts'
import { CPID_OBSERVED, CPID_WROTE } from '../attributes.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'

const MOST_TOMBSTONES = 1_024
/** How long an annotation-only patch announces the write after it, which has no place for annotations. */
const ANNOUNCED_MS = 10_000

interface Remembered {
  readonly uid: string
  readonly facts: VersionFacts
  /** The version itself, which the informer holds as well. */
  readonly object: KubernetesObject
  /** Whether the last write only set the CPID, as before a deletion, and nothing but the status changed since. */
  readonly isMarked: boolean
  /** The last version that a span reports: written by this process, or by another writer with CPIDs. */
  readonly told: string | undefined
  /** Until when a write without a CPID belongs to the announced change, in milliseconds since 1970. */
  readonly announcedUntilMs: number
}

/**
 * What an informer delivered for each object: who changed it, if visible, and its deletion. Holds an entry for each existing object
 * and for some deleted ones.
 */
export class ObjectMemory {
  readonly #instrumentation: Instrumentation
  readonly #type: ObjectType
  /** By namespace and name, as in the informer: an object may be replaced by another of the same name unseen. */
  readonly #objects = new Map<string, Remembered>()
  readonly #tombstones = new BoundedMap<string, KubernetesObject>(MOST_TOMBSTONES)

  constructor(instrumentation: Instrumentation, type: ObjectType) {
    this.#instrumentation = instrumentation
    this.#type = type
    heldObjectsOf(instrumentation).follow(this)
  }

  isOf({ apiVersion, resource }: Pick<RequestTarget, 'apiVersion' | 'resource'>): boolean {
    const { referenceTo } = internalsOf(this.#instrumentation)
    return referenceTo({ metadata: { name: 'any' } }, this.#type) === `${apiVersion}/${resource}/any`
  }

  held(name: string, namespace: string | undefined): KubernetesObject | undefined {
    return this.#objects.get(`${namespace ?? ''}/${name}`)?.object
  }

  /** A new object, or another version of one. */
  see(object: KubernetesObject): void {
    const uid = object.metadata?.uid
    if (uid === undefined) return
    const { known, cpidKey, nowMs, referenceTo, acceptCarried } = internalsOf(this.#instrumentation)
    acceptCarried(object)
    const place = placeOf(object)
    this.#tombstones.delete(place)
    const facts = factsOf(object, cpidKey)
    const before = this.#rememberedAt(place, uid)
    if (before !== undefined && before.facts.version === facts.version) return
    const isNamespace = this.#isNamespace(object)
    const begins = facts.isTerminating && (before === undefined ? isNamespace : !before.facts.isTerminating)
    const deletion = known.ofDeletion(uid) ?? (begins ? this.#deletionOf(object, before) : undefined)
    if (deletion !== undefined) known.noteDeletion(uid, deletion)
    // The objects of a namespace are deleted some seconds after the namespace begins to terminate.
    if (isNamespace) known.noteEnd(object.metadata?.name ?? '', facts.isTerminating ? deletion : undefined)
    const own = known.ofVersion(object)
    known.noteCurrent(object, own ?? this.#contextOf(object, facts, before, deletion))
    const isUnchanged = before !== undefined && holdsTheSame(before.facts, facts)
    const isMarkedNow = isUnchanged && before.facts.cpid !== facts.cpid
    const isMarked = isMarkedNow || (isUnchanged && before.isMarked)
    const announcedUntilMs = isMarkedNow ? nowMs() + ANNOUNCED_MS : isMarked ? before.announcedUntilMs : 0
    const isTold = own !== undefined || isByMarker(before?.facts, facts)
    const told = isTold ? referenceTo(object, this.#type) : before?.told
    if (before !== undefined && own === undefined && isStatusAlone(before.facts, facts))
      this.#noteStatus(object, told)
    noteSetFields(object, before?.object, cpidKey)
    this.#objects.set(place, { uid, facts, object, isMarked, told, announcedUntilMs })
  }

  /** Takes the last version of a deleted object. */
  noteDeleted(object: KubernetesObject): void {
    const uid = object.metadata?.uid
    if (uid === undefined) return
    const { known } = internalsOf(this.#instrumentation)
    const place = placeOf(object)
    const before = this.#rememberedAt(place, uid)
    // The writer that removed the last finalizer may have set a CPID.
    const ended = before?.facts.isTerminating === true ? known.ofCurrent(uid) : undefined
    const context = ended ?? known.ofDeletion(uid) ?? this.#deletionOf(object, before)
    this.#objects.delete(place)
    this.#tombstones.set(place, object)
    known.forgetCurrent(uid)
    if (context === undefined) return
    known.noteVersion(object, context)
    known.noteDeletion(uid, context)
  }

  /** The entry of this object. If the name now belongs to another object, the deletion of the first was missed. */
  #rememberedAt(place: string, uid: string): Remembered | undefined {
    const there = this.#objects.get(place)
    if (there === undefined || there.uid === uid) return there
    internalsOf(this.#instrumentation).known.forgetCurrent(there.uid)
    return undefined
  }

  /** The last version of a deleted object. */
  tombstone(name: string, namespace: string | undefined): KubernetesObject | undefined {
    return this.#tombstones.get(`${namespace ?? ''}/${name}`)
  }

  #contextOf(
    object: KubernetesObject,
    facts: VersionFacts,
    before: Remembered | undefined,
    deletion: TraceContext | undefined,
  ): TraceContext | undefined {
    const { nowMs, readCarried } = internalsOf(this.#instrumentation)
    const isMarked = before?.facts.isTerminating === true && before.facts.cpid !== facts.cpid
    if (deletion !== undefined) return (isMarked ? readCarried(object) : undefined) ?? deletion
    const isAnnounced = before !== undefined && nowMs() < before.announcedUntilMs
    if (isByAnother(before?.facts, facts) && !isAnnounced)
      return this.#begin(object, 'write', foreignWriter(before?.facts, facts))
    return facts.cpid === before?.facts.cpid ? this.#contextBefore(object) : undefined
  }

  #contextBefore({ metadata }: KubernetesObject): TraceContext | undefined {
    return internalsOf(this.#instrumentation).known.ofCurrent(metadata?.uid ?? '')
  }

  /** Notes a status write by Kubernetes, which belongs to the previous change but not to its span. */
  #noteStatus(object: KubernetesObject, after: string | undefined): void {
    const { tracer, referenceTo, nowMs } = internalsOf(this.#instrumentation)
    const atMs = nowMs()
    noteStatusWrite(object, () => {
      const change = this.#instrumentation.extractFromObject(object)
      if (change === undefined) return
      reportForeignWrite(tracer(), 'write', change, referenceTo(object, this.#type), atMs, { after })
    })
  }

  #deletionOf(object: KubernetesObject, before: Remembered | undefined): TraceContext | undefined {
    const { known } = internalsOf(this.#instrumentation)
    const isMarked = before?.isMarked === true || before?.facts.isTerminating === true
    const ended = isMarked ? undefined : known.ofEnd(object.metadata?.namespace ?? '')
    const withOthers = before?.facts.isTerminating === true ? undefined : this.#collectionsDeletion(object)
    if (withOthers !== undefined) return withOthers
    return this.#ownersDeletion(object) ?? ended ?? this.#ownDeletion(object, before)
  }

  /** The change of a deletecollection of this process that deleted the object. */
  #collectionsDeletion(object: KubernetesObject): TraceContext | undefined {
    const nowMs = internalsOf(this.#instrumentation).nowMs()
    const isOf = this.isOf.bind(this)
    return deletedCollectionsOf(this.#instrumentation).of(object, isOf, nowMs)
  }

  #isNamespace({ kind }: KubernetesObject): boolean {
    return kind === 'Namespace' || this.#type.resource === 'namespaces'
  }

  /** The deletion of the owner: garbage collection deletes the object because of it. */
  #ownersDeletion(object: KubernetesObject): TraceContext | undefined {
    const { ownerReferences } = recordIn(object.metadata)
    if (!Array.isArray(ownerReferences)) return undefined
    const { known } = internalsOf(this.#instrumentation)
    for (const owner of ownerReferences) {
      const { uid } = recordIn(owner)
      const context = typeof uid === 'string' ? known.ofDeletion(uid) : undefined
      if (context !== undefined) return context
    }
    return undefined
  }

  /** The change that the deleter marked on the object, or a new root. None for objects of unpatched controllers, which delete them too. */
  #ownDeletion(object: KubernetesObject, before: Remembered | undefined): TraceContext | undefined {
    const { readCarried } = internalsOf(this.#instrumentation)
    if (before === undefined) return this.#isNamespace(object) ? this.#begin(object, 'delete') : undefined
    if (isOfUnpatched(before.facts)) return undefined
    if (before.facts.isTerminating || before.isMarked)
      return this.#contextBefore(object) ?? readCarried(object)
    return this.#begin(object, 'delete')
  }

  /**
   * Begins a change of a writer without CPIDs. Every process that sees the version, also after a restart, derives the same CPID, as
   * Causeway does for writes that it observes.
   */
  #begin(object: KubernetesObject, verb: 'write' | 'delete', writer?: string): TraceContext {
    const { cluster, tell, tracer, referenceTo, nowMs } = internalsOf(this.#instrumentation)
    const { uid = '', resourceVersion = '' } = object.metadata ?? {}
    const cpid = derivedRoot(cluster, uid, resourceVersion)
    const context = { cpid, ancestors: [] }
    const atMs = nowMs()
    const detail = { object: referenceTo(object, this.#type), reason: 'unattributed writer', writer }
    // Reported only on use: most objects of an informer's list cause nothing.
    reportOnUse(context, () => {
      tell({ cpid, sources: [] }, detail, atMs)
      reportForeignWrite(tracer(), verb, context, detail.object, atMs)
    })
    return context
  }
}

function placeOf({ metadata }: KubernetesObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}

/**
 * Reports a version by a writer without CPIDs as a span of zero duration, so that what follows is its child, and not a child of the
 * previous write, which belongs to another change. `status`: a status write; `after` is the version that it follows from.
 */
function reportForeignWrite(
  tracer: Tracer,
  verb: 'write' | 'delete',
  change: TraceContext,
  reference: string | undefined,
  atMs: number,
  status?: { readonly after: string | undefined },
): void {
  if (reference === undefined) return
  // An apiVersion of the core group has no group part.
  const resource = reference.split('/', /^v\d[^./]*\//.test(reference) ? 2 : 3)
  const at = new Date(atMs)
  const attributes = {
    ...changeAttributes(change),
    [CPID_WROTE]: [reference],
    ...(status?.after !== undefined && { [CPID_OBSERVED]: [status.after] }),
  }
  const name = `${verb} ${resource.join('/')}${status === undefined ? '' : '/status'}`
  const span = tracer.startSpan(name, { root: true, startTime: at, attributes }, ROOT_CONTEXT)
  span.end(at)
}
