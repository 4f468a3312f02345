import { setImmediate } from 'node:timers/promises'
import type { WatchedResource } from '../../../src/kube/cluster/api-resources.ts'
import { ApiServer } from '../../../src/kube/cluster/api-server.ts'
import { type BackoffClock, ListSlots, Outage } from '../../../src/kube/cluster/flow-control.ts'
import {
  DEFAULT_STREAM_LIMITS,
  type ResourceFollower,
  ResourceStream,
  type SeenThrough,
  type StreamLimits,
} from '../../../src/kube/cluster/resource-stream.ts'
import type { TestApiServer } from './test-api-server.ts'

export const WIDGETS: WatchedResource = {
  apiVersion: 'example.com/v1',
  resource: 'widgets',
  kind: 'Widget',
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  isMetadataOnly: false,
}

/** Nobody has to wait; what was waited for is noted. */
export function noWaiting(slept: number[] = [], now = () => 0n): BackoffClock {
  return {
    now,
    sleep: async (ms) => {
      slept.push(ms)
      // Some take longer than others.
      for (let turn = 0; turn <= ms % 5; turn++) await setImmediate()
    },
    random: () => 0,
  }
}

/** Follows a resource in memory, as a receiver does in a store. */
export class Followed implements ResourceFollower<string>, AsyncDisposable {
  /** `ADDED a@101 event`, `list ends 105 first list`. */
  readonly told: string[] = []
  readonly troubles: string[] = []
  readonly unreadable: string[] = []
  readonly relists: string[] = []
  readonly refused: (string | undefined)[] = []
  readonly slept: number[] = []
  now = 0n
  stored: string | undefined
  /** The object that cannot be read. */
  poisoned = ''
  /** Awaited before anything is taken. */
  beforeTaking: () => Promise<void> = async () => undefined
  readonly #stop = new AbortController()
  isBehind = false
  wasBehindWhenRefused = false
  #running: Promise<void> = Promise.resolve()
  #server: ApiServer | undefined

  follow(
    api: TestApiServer,
    limits: Partial<StreamLimits> = {},
    watched = WIDGETS,
    watchedSinceNs?: bigint,
  ): this {
    this.#server = new ApiServer(api.access)
    const stream = new ResourceStream(
      watched,
      this,
      {
        server: this.#server,
        lists: new ListSlots(1),
        outage: new Outage(),
        waiting: noWaiting(this.slept, () => this.now),
        limits: { ...DEFAULT_STREAM_LIMITS, ...limits },
        observer: {
          behind: () => (this.isBehind = true),
          inSync: () => (this.isBehind = false),
          listed: () => undefined,
          relisted: (_, reason) => this.relists.push(reason),
          restarted: () => undefined,
          refused: (_, reason) => {
            this.refused.push(reason)
            this.wasBehindWhenRefused ||= this.isBehind
          },
          unreachable: (reason) => this.troubles.push(reason),
          unreadable: (_, reason) => this.unreadable.push(reason),
          trouble: (_, reason) => this.troubles.push(reason),
        },
      },
      watchedSinceNs,
    )
    this.#running = stream.run(this.#stop.signal)
    return this
  }

  position = async (): Promise<string | undefined> => this.stored

  read(change: string, object: { metadata?: unknown }, seen: SeenThrough): string {
    const { name, resourceVersion } = object.metadata as { name: string; resourceVersion: string }
    if (name === this.poisoned) throw new RangeError('Maximum call stack size exceeded')
    return `${change} ${name}@${resourceVersion} ${seen}`
  }

  listBegins(): void {
    this.told.push('list begins')
  }

  async take(items: readonly string[], version: string | undefined): Promise<void> {
    await this.beforeTaking()
    this.told.push(...items)
    this.stored = version ?? this.stored
  }

  async listEnds(version: string, seen: SeenThrough): Promise<void> {
    this.told.push(`list ends ${version} ${seen}`)
    this.stored = version
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#server?.[Symbol.dispose]()
    await this.#running
  }
}
