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
/** For how long a mark stands for the write that follows it, which had no place for one. */
const ANNOUNCED_MS = 10_000

interface Remembered {
  readonly uid: string
  readonly facts: VersionFacts
  /** The version itself, which the informer holds as well. */
  readonly object: KubernetesObject
  /** Whether it was given its CPID alone, as where a deletion is marked, and was left so, but for its status. */
  readonly isMarked: boolean
  /** The last version of which a span tells: this process wrote it, or somebody who carries CPIDs did. */
  readonly told: string | undefined
  /** Until when a write that says nothing is that of the mark, in milliseconds since 1970. */
  readonly announcedUntilMs: number
}

/**
 * What an informer told of each object: who changed it, where that can be seen, and what became of it. One for each object
 * there is, and some of those that are gone.
 */
export class ObjectMemory {
  readonly #instrumentation: Instrumentation
  readonly #type: ObjectType
  /** By namespace and name, as the informer has them: another one may have come instead, unseen. */
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
    // What is in a namespace goes some seconds after the namespace began to.
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

  /** The last that is told of an object. */
  noteDeleted(object: KubernetesObject): void {
    const uid = object.metadata?.uid
    if (uid === undefined) return
    const { known } = internalsOf(this.#instrumentation)
    const place = placeOf(object)
    const before = this.#rememberedAt(place, uid)
    // Whoever ended a deletion that waited may have said what it came from.
    const ended = before?.facts.isTerminating === true ? known.ofCurrent(uid) : undefined
    const context = ended ?? known.ofDeletion(uid) ?? this.#deletionOf(object, before)
    this.#objects.delete(place)
    this.#tombstones.set(place, object)
    known.forgetCurrent(uid)
    if (context === undefined) return
    known.noteVersion(object, context)
    known.noteDeletion(uid, context)
  }

  /** Where the object of that name is another by now, nobody was told of the end of the first. */
  #rememberedAt(place: string, uid: string): Remembered | undefined {
    const there = this.#objects.get(place)
    if (there === undefined || there.uid === uid) return there
    internalsOf(this.#instrumentation).known.forgetCurrent(there.uid)
    return undefined
  }

  /** What became of an object that is not there. */
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

  /** It is of the change before, whose span it is not. */
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

  /** It went with others that this process deleted by one call. */
  #collectionsDeletion(object: KubernetesObject): TraceContext | undefined {
    const nowMs = internalsOf(this.#instrumentation).nowMs()
    const isOf = this.isOf.bind(this)
    return deletedCollectionsOf(this.#instrumentation).of(object, isOf, nowMs)
  }

  #isNamespace({ kind }: KubernetesObject): boolean {
    return kind === 'Namespace' || this.#type.resource === 'namespaces'
  }

  /** What garbage collection takes goes because its owner went. */
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

  /** Whoever deletes it said so, or nobody knows who; what a controller made it deletes too, for reasons of its own. */
  #ownDeletion(object: KubernetesObject, before: Remembered | undefined): TraceContext | undefined {
    const { readCarried } = internalsOf(this.#instrumentation)
    if (before === undefined) return this.#isNamespace(object) ? this.#begin(object, 'delete') : undefined
    if (isOfUnpatched(before.facts)) return undefined
    if (before.facts.isTerminating || before.isMarked)
      return this.#contextBefore(object) ?? readCarried(object)
    return this.#begin(object, 'delete')
  }

  /**
   * Begins a change of a writer that says nothing of changes. Every process that sees the version, also after a restart,
   * gives it the same CPID; it is the one that Causeway gives a write that it sees from outside.
   */
  #begin(object: KubernetesObject, verb: 'write' | 'delete', writer?: string): TraceContext {
    const { cluster, tell, tracer, referenceTo, nowMs } = internalsOf(this.#instrumentation)
    const { uid = '', resourceVersion = '' } = object.metadata ?? {}
    const cpid = derivedRoot(cluster, uid, resourceVersion)
    const context = { cpid, ancestors: [] }
    const atMs = nowMs()
    const detail = { object: referenceTo(object, this.#type), reason: 'unattributed writer', writer }
    // Most of what an informer lists concerns nobody.
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
 * Tells, as a span without length, that somebody who says nothing of changes made a version. What follows hangs below it; else it
 * would hang below the write before, which is of another change. With `status`, of the status alone, `after` the version that it follows from.
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
  // The version of the core group stands alone.
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
