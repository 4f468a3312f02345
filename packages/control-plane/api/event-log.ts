import type { WatchEvent } from './api-client.ts'
import { ApiError } from './api-error.ts'
import type { KubeObject, Resource } from './kube-objects.ts'

interface Logged {
  readonly version: number
  readonly event: WatchEvent<KubeObject>
}

interface Log {
  events: Logged[]
  /** Up to which version events are gone. */
  compactedTo: number
}

/** What happened to the objects, the latest so many events of each resource; watches read it at their own pace. */
export class EventLog {
  readonly #length: number
  readonly #logs = new Map<Resource, Log>()
  readonly #listeners = new Map<Resource | undefined, Set<() => void>>()

  constructor(length: number) {
    this.#length = length
  }

  append(version: number, resource: Resource, event: WatchEvent<KubeObject>): void {
    const log = this.#logOf(resource)
    log.events.push({ version, event })
    if (log.events.length > 2 * this.#length) {
      const kept = log.events.slice(-this.#length)
      log.compactedTo = (kept[0]?.version ?? version) - 1
      log.events = kept
    }
    for (const waiting of [resource, undefined]) {
      for (const listener of [...(this.#listeners.get(waiting) ?? [])]) listener()
    }
  }

  /** The events of a resource after a version. Throws Expired when they are no longer all there. */
  after(resource: Resource, version: number): readonly Logged[] {
    const { events, compactedTo } = this.#logOf(resource)
    if (version < compactedTo) throw new ApiError('Expired', `too old resource version: ${version}`)
    let from = events.length
    while (from > 0 && (events[from - 1]?.version ?? 0) > version) from--
    return events.slice(from)
  }

  /** Resolves at the next event, of any resource unless one is given; rejects when the signal aborts. */
  async next(signal: AbortSignal, resource?: Resource): Promise<void> {
    signal.throwIfAborted()
    const heard = Promise.withResolvers<undefined>()
    const listener = () => heard.resolve(undefined)
    const stop = () => heard.reject(signal.reason as Error)
    const listeners = this.#listeners.get(resource) ?? new Set()
    this.#listeners.set(resource, listeners.add(listener))
    signal.addEventListener('abort', stop, { once: true })
    try {
      await heard.promise
    } finally {
      listeners.delete(listener)
      signal.removeEventListener('abort', stop)
    }
  }

  #logOf(resource: Resource): Log {
    let log = this.#logs.get(resource)
    if (log === undefined) this.#logs.set(resource, (log = { events: [], compactedTo: 0 }))
    return log
  }
}
