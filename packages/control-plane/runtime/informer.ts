import type { ApiClient, Location } from '../api/api-client.ts'
import { isRefusal } from '../api/api-error.ts'
import type { KubeObject, Resource, Resources } from '../api/kube-objects.ts'
import type { Clock } from '../clock.ts'

interface Change<T> {
  /** As the informer knew it; undefined for an object it had not seen. */
  old: T | undefined
  /** Undefined for an object that is gone. */
  now: T | undefined
  /** The newest there is: of an object that is gone, as it was last. */
  latest: T
}

interface Watching {
  client: ApiClient
  clock: Clock
  signal: AbortSignal
}

const PAUSE_MS = 50

/**
 * The objects of one resource as the API server last told of them (client-go's shared informer): listed once, then
 * watched. It lags behind, also behind one's own writes. A watch that drops goes on from the last version seen; one that
 * has expired is begun again with a list, from which objects that vanished meanwhile are told too.
 */
export class Informer<R extends Resource> {
  readonly #resource: R
  readonly #watching: Watching
  readonly #handlers: ((change: Change<Resources[R]>) => void)[] = []
  readonly #synced = Promise.withResolvers<undefined>()
  #objects = new Map<string, Resources[R]>()
  /** Up to which version everything is known. */
  #seenVersion = 0

  constructor(resource: R, watching: Watching) {
    this.#resource = resource
    this.#watching = watching
  }

  /** Resolves when the first list is here. */
  get synced(): Promise<unknown> {
    return this.#synced.promise
  }

  get(key: string): Resources[R] | undefined {
    return this.#objects.get(key)
  }

  all(): Resources[R][] {
    return [...this.#objects.values()]
  }

  onChange(handler: (change: Change<Resources[R]>) => void): void {
    this.#handlers.push(handler)
  }

  /**
   * Takes in what a write of one's own returned, unless something newer is known, so that the next reconcile does not do
   * it again (client-go's mutation cache).
   */
  remember(object: Resources[R]): void {
    const version = versionOf(object)
    // One that is no longer there although the watch has come so far was deleted since.
    if (version > this.#seenVersion) this.#keep(object)
  }

  /** Keeps up until the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#watching
    let version: string | undefined
    while (!signal.aborted) {
      try {
        version ??= await this.#list()
        version = await this.#watch(version)
      } catch (error) {
        if (isRefusal(error, 'Expired')) version = undefined
      }
      await clock.sleep(PAUSE_MS, signal).catch(() => undefined)
    }
    this.#synced.resolve(undefined)
  }

  #keep(object: Resources[R]): void {
    const key = keyOf(object.metadata)
    const known = this.#objects.get(key)
    if (known === undefined || versionOf(object) > versionOf(known)) this.#objects.set(key, object)
  }

  async #list(): Promise<string> {
    const { items, resourceVersion } = await this.#watching.client.list(this.#resource)
    const known = this.#objects
    this.#objects = new Map(items.map((object) => [keyOf(object.metadata), object]))
    this.#seenVersion = Number(resourceVersion)
    for (const [key, old] of known) {
      if (versionOf(old) > this.#seenVersion) this.#objects.set(key, old)
      else if (!this.#objects.has(key)) this.#tell({ old, now: undefined, latest: old })
    }
    for (const [key, now] of this.#objects) {
      const old = known.get(key)
      const isSame = old?.metadata.uid === now.metadata.uid
      if (old !== undefined && !isSame) this.#tell({ old, now: undefined, latest: old })
      if (!isSame) this.#tell({ old: undefined, now, latest: now })
      else if (versionOf(old) !== versionOf(now)) this.#tell({ old, now, latest: now })
    }
    this.#synced.resolve(undefined)
    return resourceVersion
  }

  /** Returns where to go on when the watch ends. */
  async #watch(from: string): Promise<string> {
    const { client, signal } = this.#watching
    let version = from
    try {
      for await (const { type, object } of client.watch(this.#resource, from, signal)) {
        version = object.metadata.resourceVersion
        this.#seenVersion = versionOf(object)
        const key = keyOf(object.metadata)
        const old = this.#objects.get(key)
        if (old !== undefined && versionOf(old) > this.#seenVersion) continue
        if (type === 'DELETED') {
          this.#objects.delete(key)
          this.#tell({ old: old ?? object, now: undefined, latest: object })
        } else {
          this.#keep(object)
          this.#tell({ old, now: object, latest: object })
        }
      }
    } catch (error) {
      if (signal.aborted || isRefusal(error, 'Expired')) throw error
    }
    return version
  }

  #tell(change: Change<Resources[R]>): void {
    for (const handler of this.#handlers) handler(change)
  }
}

function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion)
}

/** What an object is called in an informer or a work queue. */
export function keyOf({ namespace, name }: Location): string {
  return `${namespace}/${name}`
}
