import { EventEmitter, once } from 'node:events'
import { randomUUID } from 'node:crypto'
import type { KubeObject, Metadata } from './kube-objects.ts'

export interface Listing {
  resourceVersion: number
  items: KubeObject[]
}

export type StoreFault = 'NotFound' | 'AlreadyExists' | 'Conflict'

const FIRST_VERSION = 1000

/** The objects of a very small cluster, by path such as `v1/pods/default/web-1`. Every write has a new version. */
export class ObjectStore {
  #version = FIRST_VERSION
  readonly #objects = new Map<string, KubeObject>()
  readonly #changes = new EventEmitter().setMaxListeners(0)

  /** The objects of a collection such as `v1/pods/default` that are newer than a version. */
  list(collection: string, newerThan = 0): Listing {
    const items = [...this.#objects]
      .filter(([path, { metadata }]) => {
        return path.startsWith(`${collection}/`) && Number(metadata.resourceVersion) > newerThan
      })
      .map(([, object]) => object)
    return { resourceVersion: this.#version, items }
  }

  /** Resolves with what is newer than a version as soon as there is something; rejects when the signal aborts. */
  async watch(collection: string, newerThan: number, signal: AbortSignal): Promise<Listing> {
    for (;;) {
      const listing = this.list(collection, newerThan)
      if (listing.items.length > 0) return listing
      await once(this.#changes, 'change', { signal })
    }
  }

  create(collection: string, draft: KubeObject): KubeObject | StoreFault {
    const path = `${collection}/${draft.metadata.name}`
    if (this.#objects.has(path)) return 'AlreadyExists'
    return this.#put(path, draft, { uid: randomUUID() })
  }

  /** Replaces an object that is still at the version it was read at. */
  replace(path: string, object: KubeObject): KubeObject | StoreFault {
    const current = this.#objects.get(path)
    if (current === undefined) return 'NotFound'
    const { uid, resourceVersion } = current.metadata
    return object.metadata.resourceVersion === resourceVersion ? this.#put(path, object, { uid }) : 'Conflict'
  }

  #put(path: string, object: KubeObject, kept: Pick<Metadata, 'uid'>): KubeObject {
    this.#version += 1
    const metadata = { ...object.metadata, ...kept, resourceVersion: String(this.#version) }
    const stored = { ...object, metadata }
    this.#objects.set(path, stored)
    this.#changes.emit('change')
    return stored
  }
}
