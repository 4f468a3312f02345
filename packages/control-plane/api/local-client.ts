import type { Chance, Range } from '../chance.ts'
import type { Clock } from '../clock.ts'
import type { ApiClient, DeleteOptions, Listing, Location, WatchEvent } from './api-client.ts'
import { ApiError } from './api-error.ts'
import type { Draft, KubeObject, Resource, Resources } from './kube-objects.ts'
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
  /** Is told of each write that the API server accepted, when its answer is there. */
  onAccepted?: (write: AcceptedWrite) => void
}

/** What an audit log would tell of a write. */
export interface AcceptedWrite {
  readonly did: 'create' | 'update' | 'updateStatus' | 'delete'
  readonly resource: Resource
  /** What was sent; undefined with a deletion. */
  readonly sent: Sent | undefined
  readonly options: DeleteOptions
  /** As it is with the write; with a version from before where the write changed nothing. */
  readonly object: KubeObject
  readonly startMs: number
  readonly committedMs: number
  readonly endMs: number
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
    return this.#write('create', resource, draft, () => this.#store.create(resource, draft) as Resources[R])
  }

  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    const sent = object as Sent
    return this.#write('update', resource, sent, () => this.#store.update(resource, sent) as Resources[R])
  }

  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    const sent = object as Sent
    const write = () => this.#store.updateStatus(resource, sent) as Resources[R]
    return this.#write('updateStatus', resource, sent, write)
  }

  async delete(resource: Resource, at: Location, options: DeleteOptions = {}): Promise<void> {
    const write = () => this.#store.delete(resource, at, options)
    await this.#write('delete', resource, undefined, write, options)
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
  async #write<T extends KubeObject>(
    did: AcceptedWrite['did'],
    resource: Resource,
    sent: Sent | undefined,
    write: () => T,
    options: DeleteOptions = {},
  ): Promise<T> {
    const { clock, chance, writeMs, onAccepted } = this.#connection
    const [ms, startMs] = [chance.between(writeMs), clock.nowMs()]
    await clock.sleep(ms / 2)
    const object = write()
    const committedMs = clock.nowMs()
    await clock.sleep(ms / 2)
    const times = { startMs, committedMs, endMs: clock.nowMs() }
    onAccepted?.({ did, resource, sent, options, object, ...times })
    return object
  }

  #takes(what: 'readMs' | 'watchMs', signal?: AbortSignal): Promise<void> {
    const { clock, chance } = this.#connection
    return clock.sleep(chance.between(this.#connection[what]), signal)
  }
}
