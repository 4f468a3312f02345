import type { KubernetesObject } from 'causeway-instrumentation'
import type { KubeObject, Resource } from '../../../packages/control-plane/api/kube-objects.ts'
import type { DoWork, Work } from '../../../packages/control-plane/runtime/work.ts'
import type { Written } from '../../../packages/control-plane/runtime/traced-work.ts'

/** A write as it truly was, whoever made it and whatever was sent about it. */
export interface TrueWrite {
  component: string
  did: Written['did']
  resource: string
  /** The versions of objects that it followed from. */
  readonly observed: ReadonlySet<string>
  /** The objects that it followed from, as they were read. */
  readonly read: readonly KubeObject[]
  /** What an operator did, when this is where it began: `kubectl scale`, for example. */
  operation: Operation | undefined
  /** Operations that it follows from although nothing that was observed says so. */
  readonly unseen: Operation[]
  /** The CPID that the writer says it wrote for; undefined when nobody instrumented it. */
  cpid: string | undefined
  /** The object as it was then; undefined with a deletion. */
  written: KubeObject | undefined
}

export interface Operation {
  reason: string
  number: number
}

interface Deletion {
  deed: TrueWrite
  /** The version of the store before and after; the object's own lies between. */
  before: number
  after: number
}

/** Looks on at all work and knows what truly follows from what: a write follows from all that was observed for it. */
export class Truth {
  readonly deeds: TrueWrite[] = []
  readonly operations: Operation[] = []
  readonly #versionNow: () => number
  readonly #byVersion = new Map<string, TrueWrite>()
  readonly #versionsOf = new Map<string, number[]>()
  readonly #deletions = new Map<string, Deletion[]>()
  readonly #told = new Map<string, string>()
  readonly #causes = new Map<string, ReadonlySet<Operation>>()

  constructor(versionNow: () => number) {
    this.#versionNow = versionNow
  }

  /** Takes what instrumented work says it wrote. */
  told(component: string, { did, object, cpid }: Written): void {
    this.#told.set(`${component} ${did} ${object}`, cpid)
  }

  around(component: string, doWork: DoWork): DoWork {
    return (name, play) => doWork(name, (work) => play(this.#watched(component, work)))
  }

  /** The operations that a write truly follows from; to be asked when all is over. */
  causesOf(deed: TrueWrite): ReadonlySet<Operation> {
    const causes = new Set(deed.operation === undefined ? deed.unseen : [deed.operation])
    for (const version of deed.observed) for (const cause of this.#causesOfVersion(version)) causes.add(cause)
    return causes
  }

  /** Says of a component that all it does after an operation follows from that, whatever it observed. */
  alsoFollows(component: string, operation: Operation): void {
    const begins = this.deeds.findIndex((deed) => deed.operation === operation)
    for (const deed of this.deeds.slice(begins)) if (deed.component === component) deed.unseen.push(operation)
  }

  #watched(component: string, work: Work): Work {
    const observed = new Set<string>()
    const read: KubeObject[] = []
    let operation: Operation | undefined
    const note = (
      did: TrueWrite['did'],
      resource: Resource,
      at: KubernetesObject,
      written?: KubeObject,
    ): TrueWrite => {
      const object = `${resource}/${at.metadata?.namespace ?? ''}/${at.metadata?.name ?? ''}`
      const cpid = this.#told.get(`${component} ${did} ${object}`)
      const deed: TrueWrite = {
        component,
        did,
        resource,
        observed: new Set(observed),
        read: [...read],
        operation,
        unseen: [],
        cpid,
        written,
      }
      this.deeds.push(deed)
      if (written !== undefined) this.#learn(written, deed)
      return deed
    }
    return {
      begin: (reason, object) => {
        operation = { reason, number: this.operations.length }
        this.operations.push(operation)
        work.begin(reason, object)
      },
      observe: (...objects) => {
        for (const object of objects) {
          if (object === undefined) continue
          observed.add(versionOf(object))
          read.push(object)
        }
        work.observe(...objects)
      },
      create: async (resource, draft) => {
        const written = await work.create(resource, draft)
        note('created', resource, written, written)
        return written
      },
      update: async (resource, object) => {
        const written = await work.update(resource, object)
        if (versionOf(written) !== versionOf(object)) note('updated', resource, written, written)
        return written
      },
      updateStatus: async (resource, object) => {
        const written = await work.updateStatus(resource, object)
        const isNew = versionOf(written) !== versionOf(object)
        if (isNew) note('updated the status of', resource, written, written)
        return written
      },
      delete: async (resource, object, gracePeriodSeconds) => {
        const before = this.#versionNow()
        await work.delete(resource, object, gracePeriodSeconds)
        const deed = note('deleted', resource, object)
        const deletions = this.#deletions.get(object.metadata.uid) ?? []
        this.#deletions.set(object.metadata.uid, [...deletions, { deed, before, after: this.#versionNow() }])
      },
      step: (name, play) => work.step(name, play),
    }
  }

  #learn(object: KubeObject, deed: TrueWrite): void {
    const { uid, resourceVersion } = object.metadata
    this.#byVersion.set(versionOf(object), deed)
    const versions = this.#versionsOf.get(uid)
    if (versions === undefined) this.#versionsOf.set(uid, [Number(resourceVersion)])
    else versions.push(Number(resourceVersion))
  }

  #causesOfVersion(version: string): ReadonlySet<Operation> {
    const known = this.#causes.get(version)
    if (known !== undefined) return known
    const deed = this.#byVersion.get(version)
    const causes = deed === undefined ? this.#causesOfDeleted(version) : this.causesOf(deed)
    this.#causes.set(version, causes)
    return causes
  }

  /** Nobody is told the versions that a deletion gives: what an object was before, and those who deleted it. */
  #causesOfDeleted(version: string): ReadonlySet<Operation> {
    const [uid = '', text = ''] = version.split('@')
    const number = Number(text)
    const causes = new Set<Operation>()
    const earlier = (this.#versionsOf.get(uid) ?? []).filter((one) => one < number)
    const last = earlier.length === 0 ? undefined : this.#byVersion.get(`${uid}@${Math.max(...earlier)}`)
    if (last !== undefined) for (const cause of this.causesOf(last)) causes.add(cause)
    for (const { deed, before } of this.#deletions.get(uid) ?? []) {
      if (before < number) for (const cause of this.causesOf(deed)) causes.add(cause)
    }
    return causes
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid}@${metadata.resourceVersion}`
}
