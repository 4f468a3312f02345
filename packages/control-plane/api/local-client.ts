import type { Chance, Range } from '../chance.ts'
import type { Clock } from '../clock.ts'
import type { ApiClient, DeleteOptions, Listing, Location, WatchEvent } from './api-client.ts'
import { ApiError } from './api-error.ts'
import type { Draft, Resource, Resources } from './kube-objects.ts'
import type { ObjectStore, Sent } from './object-store.ts'

/** How the way to the API server is. */
export interface Connection {
  clock: Clock
  chance: Chance
  /** How long a read takes, in milliseconds. */
  readMs: Range
  /** How long a write takes. */
  writeMs: Range
  /** How long an event is on its way to a watch. */
  watchMs: Range
  /** How probable it is that a watch drops after an event. */
  watchDrops: number
  /** How probable it is that a watch which begins is refused as too old. */
  watchExpires: number
}

/** A client in the process of the API server itself, as slow and unreliable as its connection says. */
export class LocalClient implements ApiClient {
  readonly #store: ObjectStore
  readonly #connection: Connection

  constructor(store: ObjectStore, connection: Connection) {
    this.#store = store
    this.#connection = connection
  }

  async get<R extends Resource>(resource: R, at: Location): Promise<Resources[R]> {
    await this.#takes('readMs')
    return this.#store.get(resource, at) as Resources[R]
  }

  async list<R extends Resource>(resource: R): Promise<Listing<Resources[R]>> {
    await this.#takes('readMs')
    return this.#store.list(resource) as Listing<Resources[R]>
  }

  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    return this.#write(() => this.#store.create(resource, draft) as Resources[R])
  }

  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    return this.#write(() => this.#store.update(resource, object as Sent) as Resources[R])
  }

  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    return this.#write(() => this.#store.updateStatus(resource, object as Sent) as Resources[R])
  }

  delete(resource: Resource, at: Location, options: DeleteOptions = {}): Promise<void> {
    return this.#write(() => this.#store.delete(resource, at, options))
  }

  async *watch<R extends Resource>(
    resource: R,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<Resources[R]>> {
    const { chance, watchDrops, watchExpires } = this.#connection
    if (chance.next() < watchExpires) throw new ApiError('Expired', 'the watch began too late; list again')
    for (let version = Number(resourceVersion); ;) {
      const happened = this.#store.events.after(resource, version)
      if (happened.length === 0) await this.#store.events.next(signal, resource)
      else await this.#takes('watchMs', signal)
      for (const logged of happened) {
        version = logged.version
        yield logged.event as WatchEvent<Resources[R]>
        if (chance.next() < watchDrops) return
      }
    }
  }

  /** A write is done when it is half-way; what the answer says may be old when it arrives. */
  async #write<T>(write: () => T): Promise<T> {
    const { clock, chance, writeMs } = this.#connection
    const ms = chance.between(writeMs)
    await clock.sleep(ms / 2)
    const outcome = write()
    await clock.sleep(ms / 2)
    return outcome
  }

  #takes(what: 'readMs' | 'watchMs', signal?: AbortSignal): Promise<void> {
    const { clock, chance } = this.#connection
    return clock.sleep(chance.between(this.#connection[what]), signal)
  }
}
