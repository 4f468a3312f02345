import { randomInt } from 'node:crypto'
import { serveApi, type ApiServer } from '../../packages/control-plane/api/http-server.ts'
import { LocalClient } from '../../packages/control-plane/api/local-client.ts'
import { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import type { Resource, Resources } from '../../packages/control-plane/api/kube-objects.ts'
import { Chance } from '../../packages/control-plane/chance.ts'
import { LATENCY } from '../../packages/control-plane/control-plane.ts'
import { node } from '../../packages/control-plane/manifests.ts'
import { REAL_CLOCK } from '../../packages/control-plane/real-clock.ts'
import { REPLICAS } from './app.ts'

const NODES = 3
const HISTORY_LENGTH = 1_000
const MAX_SEEDS = 2 ** 32

/** An API server with three nodes, for controllers in other processes. */
export class Cluster implements AsyncDisposable {
  readonly #store: ObjectStore
  readonly #server: ApiServer

  private constructor(store: ObjectStore, server: ApiServer) {
    this.#store = store
    this.#server = server
  }

  static async start(): Promise<Cluster> {
    const clock = REAL_CLOCK
    const chance = new Chance(randomInt(MAX_SEEDS))
    const store = new ObjectStore({ clock, chance, historyLength: HISTORY_LENGTH })
    for (let number = 1; number <= NODES; number++) store.create('v1/nodes', node(number))
    return new Cluster(store, await serveApi(new LocalClient(store, { ...LATENCY, clock, chance })))
  }

  get url(): string {
    return this.#server.url
  }

  /** The version of the newest object. */
  get version(): number {
    return Number(this.#store.list('v1/nodes').resourceVersion)
  }

  /**
   * Resolves when there is nothing left to do: the Deployment has said that all its Pods are ready, and the Endpoints
   * list them. Rejects when the signal aborts.
   */
  async untilSettled(signal: AbortSignal): Promise<void> {
    while (!this.#isSettled()) await this.#store.events.next(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
  }

  #isSettled(): boolean {
    const ready = this.#all('apps/v1/deployments').map(({ status }) => status.readyReplicas)
    const listed = this.#all('v1/endpoints').map(({ subsets }) => subsets[0]?.addresses.length ?? 0)
    return ready[0] === REPLICAS && listed[0] === REPLICAS
  }

  #all<R extends Resource>(resource: R): Resources[R][] {
    return this.#store.list(resource).items as Resources[R][]
  }
}
