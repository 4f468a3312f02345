import type { Chance } from '../chance.ts'
import type { Clock } from '../clock.ts'
import type { DeleteOptions, Listing, Location, WatchEvent } from './api-client.ts'
import { ApiError } from './api-error.ts'
import { EventLog } from './event-log.ts'
import { hasSame, withoutStatus } from './same-content.ts'
import type { KubeObject, Metadata, Resource } from './kube-objects.ts'

/** What a client sends: an object or the draft of one. */
export type Sent = Omit<KubeObject, 'metadata' | 'spec' | 'status'> & {
  spec?: object | undefined
  status?: object | undefined
  metadata: Pick<Metadata, 'name' | 'namespace'> & Partial<Metadata>
}

interface StoreSettings {
  clock: Clock
  chance: Chance
  /** How many events a watch can go back. */
  historyLength: number
}

const FIRST_VERSION = 1000

/**
 * The objects of a cluster in memory, with the rules of the Kubernetes API server (API conventions: resource versions,
 * optimistic concurrency, generation, status subresource, graceful deletion). Objects are never changed, only replaced.
 */
export class ObjectStore {
  readonly events: EventLog
  readonly #settings: StoreSettings
  readonly #objects = new Map<Resource, Map<string, KubeObject>>()
  #version = FIRST_VERSION

  constructor(settings: StoreSettings) {
    this.#settings = settings
    this.events = new EventLog(settings.historyLength)
  }

  get(resource: Resource, at: Location): KubeObject {
    const found = this.#of(resource).get(keyOf(at))
    if (found === undefined) throw new ApiError('NotFound', `${resource} ${keyOf(at)} not found`)
    return found
  }

  list(resource: Resource): Listing<KubeObject> {
    return { resourceVersion: String(this.#version), items: [...this.#of(resource).values()] }
  }

  create(resource: Resource, sent: Sent): KubeObject {
    const { clock, chance } = this.#settings
    const key = keyOf(sent.metadata)
    if (sent.metadata.name === '') throw new ApiError('Invalid', `${resource}: metadata.name is required`)
    if (this.#of(resource).has(key)) throw new ApiError('AlreadyExists', `${resource} ${key} already exists`)
    const metadata: Omit<Metadata, 'resourceVersion'> = {
      ...sent.metadata,
      uid: chance.uuid(),
      generation: 1,
      creationTimestamp: new Date(clock.nowMs()).toISOString(),
    }
    return this.#put(resource, 'ADDED', { ...sent, metadata })
  }

  /** Takes all but the status. A new generation begins when the spec is another. */
  update(resource: Resource, sent: Sent): KubeObject {
    const stored = this.#unchanged(resource, sent)
    const { uid, creationTimestamp, deletionTimestamp, generation } = stored.metadata
    const isSameSpec = hasSame(stored.spec, sent.spec)
    const metadata = {
      ...sent.metadata,
      uid,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      generation: isSameSpec ? generation : generation + 1,
    }
    const next = { ...withoutStatus(sent), ...(stored.status && { status: stored.status }), metadata }
    return this.#replace(resource, stored, next)
  }

  /** Takes the status, and the annotations too, as the API server does for its own kinds. */
  updateStatus(resource: Resource, sent: Sent): KubeObject {
    const stored = this.#unchanged(resource, sent)
    const { annotations } = sent.metadata
    const metadata = { ...stored.metadata, ...(annotations && { annotations }) }
    return this.#replace(resource, stored, {
      ...stored,
      ...(sent.status && { status: sent.status }),
      metadata,
    })
  }

  /** Gives the object as it is with it: on its way out, or as it was last. */
  delete(resource: Resource, at: Location, { gracePeriodSeconds, uid }: DeleteOptions = {}): KubeObject {
    const stored = this.get(resource, at)
    if (uid !== undefined && uid !== stored.metadata.uid) {
      throw new ApiError('Conflict', `${resource} ${keyOf(at)} is another object now`)
    }
    if (resource === 'v1/pods' && gracePeriodSeconds !== 0 && isOnNode(stored)) {
      if (stored.metadata.deletionTimestamp !== undefined) return stored
      const deletionTimestamp = new Date(this.#settings.clock.nowMs()).toISOString()
      const metadata = { ...stored.metadata, deletionTimestamp }
      return this.#put(resource, 'MODIFIED', { ...stored, metadata })
    }
    return this.#put(resource, 'DELETED', stored)
  }

  #replace(resource: Resource, stored: KubeObject, next: KubeObject | Sent): KubeObject {
    return hasSame(stored, next) ? stored : this.#put(resource, 'MODIFIED', next)
  }

  /** The stored object, which must be the one that the sender read. */
  #unchanged(resource: Resource, { metadata }: Sent): KubeObject {
    const stored = this.get(resource, metadata)
    const { uid, resourceVersion } = stored.metadata
    if (metadata.uid !== undefined && metadata.uid !== uid) {
      throw new ApiError('Conflict', `${resource} ${keyOf(metadata)} is another object now`)
    }
    if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== resourceVersion) {
      throw new ApiError('Conflict', `${resource} ${keyOf(metadata)} has been modified; read it again`)
    }
    return stored
  }

  #put(resource: Resource, type: WatchEvent<KubeObject>['type'], next: object): KubeObject {
    this.#version++
    const { metadata, ...rest } = next as KubeObject
    const object = { ...rest, metadata: { ...metadata, resourceVersion: String(this.#version) } }
    const objects = this.#of(resource)
    if (type === 'DELETED') objects.delete(keyOf(metadata))
    else objects.set(keyOf(metadata), object)
    this.events.append(this.#version, resource, { type, object })
    return object
  }

  #of(resource: Resource): Map<string, KubeObject> {
    let objects = this.#objects.get(resource)
    if (objects === undefined) this.#objects.set(resource, (objects = new Map<string, KubeObject>()))
    return objects
  }
}

function keyOf({ namespace, name }: Location): string {
  return `${namespace}/${name}`
}

function isOnNode({ spec }: KubeObject): boolean {
  return spec !== undefined && 'nodeName' in spec && spec.nodeName !== undefined
}
