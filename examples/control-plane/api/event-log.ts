import type { WatchEvent } from './api-client.ts'
import { ApiError } from './api-error.ts'
import type { KubeObject, Resource } from './kube-objects.ts'

interface Logged {
  readonly version: number
  readonly resource: Resource
  readonly event: WatchEvent<KubeObject>
}

/** What happened to the objects, the latest so many events; watches read it at their own pace. */
export class EventLog {
  readonly #length: number
  readonly #listeners = new Set<() => void>()
  #events: Logged[] = []
  #compactedTo: number

  constructor(length: number, firstVersion: number) {
    this.#length = length
    this.#compactedTo = firstVersion
  }

  append(version: number, resource: Resource, event: WatchEvent<KubeObject>): void {
    this.#events.push({ version, resource, event })
    if (this.#events.length > 2 * this.#length) {
      const kept = this.#events.slice(-this.#length)
      this.#compactedTo = (kept[0]?.version ?? version) - 1
      this.#events = kept
    }
    for (const listener of [...this.#listeners]) listener()
  }

  /** The events of a resource after a version. Throws Expired when they are no longer all there. */
  after(resource: Resource, version: number): readonly Logged[] {
    if (version < this.#compactedTo) throw new ApiError('Expired', `too old resource version: ${version}`)
    let from = this.#events.length
    while (from > 0 && (this.#events[from - 1]?.version ?? 0) > version) from--
    return this.#events.slice(from).filter((logged) => logged.resource === resource)
  }

  /** Resolves at the next event of any resource; rejects when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const heard = Promise.withResolvers<undefined>()
    const listener = () => heard.resolve(undefined)
    const stop = () => heard.reject(signal.reason as Error)
    this.#listeners.add(listener)
    signal.addEventListener('abort', stop, { once: true })
    try {
      await heard.promise
    } finally {
      this.#listeners.delete(listener)
      signal.removeEventListener('abort', stop)
    }
  }
}
