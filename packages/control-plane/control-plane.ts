import { LocalClient, type AcceptedWrite, type Connection } from './api/local-client.ts'
import { ObjectStore } from './api/object-store.ts'
import type { Chance } from './chance.ts'
import type { Clock } from './clock.ts'
import { controllersOf, type ControllerName, type Pace } from './controllers/controllers.ts'
import { Kubectl } from './kubectl.ts'
import { node } from './manifests.ts'
import type { Controller } from './runtime/controller.ts'
import type { DoWork } from './runtime/work.ts'
import { plainWork } from './runtime/plain-work.ts'
import { tracedWork, type Tracing } from './runtime/traced-work.ts'
import { asComponent } from './telemetry/components.ts'

export interface ControlPlaneSettings {
  clock: Clock
  chance: Chance
  /** How a component traces what it does; undefined for one that nobody instrumented. */
  tracingOf: (component: string) => Tracing | undefined
  latency?: Partial<Latency>
  pace?: Partial<Pace>
  nodes?: number
  /** Controllers beside those of Kubernetes, by name. */
  others?: Readonly<Record<string, Controller>>
  /** Those of Kubernetes that do not run. */
  without?: readonly ControllerName[]
  /** Takes what a controller could not do and does not expect; otherwise disposing throws the first of it. */
  complain?: (component: string, error: unknown) => void
  /** Wraps the work of each component, so that somebody can look on. */
  around?: (component: string, doWork: DoWork) => DoWork
  /** Is told of each write that the API server accepted. */
  onAccepted?: (component: string, write: AcceptedWrite) => void
}

/** How the way to the API server is, for everyone. */
export type Latency = Omit<Connection, 'clock' | 'chance' | 'onAccepted'>

/** About what is usual in a small cluster. */
export const LATENCY: Latency = {
  readMs: { least: 1, most: 4 },
  writeMs: { least: 4, most: 15 },
  watchMs: { least: 1, most: 10 },
  watchDrops: 0,
  watchExpires: 0,
}

const HISTORY_LENGTH = 1_000

/**
 * A Kubernetes control plane in one process: an API server in memory and the controllers, which see it only through
 * clients of their own. Time and chance are the caller's, so that in virtual time a run is a function of its seed.
 */
export class ControlPlane implements AsyncDisposable {
  readonly store: ObjectStore
  /** The operator's. */
  readonly kubectl: Kubectl
  readonly #settings: ControlPlaneSettings
  readonly #stop = new AbortController()
  readonly #running: Promise<void>[] = []
  readonly #ready: Promise<void>[] = []
  readonly #troubles: Error[] = []

  constructor(settings: ControlPlaneSettings) {
    const { clock, chance, nodes = 3, pace = {}, others = {}, without = [] } = settings
    this.#settings = settings
    this.store = new ObjectStore({ clock, chance: chance.fork('store'), historyLength: HISTORY_LENGTH })
    for (let number = 1; number <= nodes; number++) this.store.create('v1/nodes', node(number))
    for (const [name, controller] of Object.entries({ ...controllersOf(pace), ...others })) {
      if (!without.some((one) => one === name)) this.#run(name, controller)
    }
    const { client, doWork } = this.#surroundings('kubectl')
    this.kubectl = new Kubectl(client, doWork, clock)
  }

  /** Resolves when all controllers have their first lists. */
  async ready(): Promise<void> {
    await Promise.all(this.#ready)
  }

  /** Lets time go by. */
  sleep(ms: number): Promise<void> {
    return this.#settings.clock.sleep(ms)
  }

  /** Resolves when nothing was written for so long. */
  async settled(quietMs: number): Promise<void> {
    for (let version: string | undefined; ;) {
      const now = this.store.list('v1/pods').resourceVersion
      if (now === version) return
      version = now
      await this.#settings.clock.sleep(quietMs)
    }
  }

  /** Resolves as soon as the objects are as wanted. Rejects when that takes longer than so many milliseconds. */
  async until(wanted: (store: ObjectStore) => boolean, longestMs: number): Promise<void> {
    const over = new AbortController()
    const late = () => over.abort(new Error(`what was waited for did not happen within ${longestMs} ms`))
    this.#settings.clock.sleep(longestMs, over.signal).then(late, () => undefined)
    while (!wanted(this.store)) await this.store.events.next(over.signal)
    over.abort()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
    const [first] = this.#troubles
    if (first !== undefined) throw first
  }

  #run(name: string, controller: Controller): void {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const complain = this.#settings.complain ?? this.#note.bind(this)
    this.#ready.push(promise)
    const running = asComponent(name, () =>
      controller({
        ...this.#surroundings(name),
        complain: (error) => complain(name, error),
        ready: () => resolve(undefined),
      }),
    )
    const end = (error: unknown) => {
      complain(name, error)
      resolve(undefined)
    }
    this.#running.push(running.catch(end))
  }

  #note(component: string, cause: unknown): void {
    this.#troubles.push(new Error(`${component} failed`, { cause }))
  }

  #surroundings(name: string) {
    const { clock, chance, tracingOf, latency = {}, around = (_component, inner) => inner } = this.#settings
    const { onAccepted } = this.#settings
    const own = chance.fork(name)
    const client = new LocalClient(this.store, {
      ...LATENCY,
      ...latency,
      clock,
      chance: own.fork('connection'),
      ...(onAccepted && { onAccepted: (write) => onAccepted(name, write) }),
    })
    const tracing = tracingOf(name)
    const doWork = around(name, tracing === undefined ? plainWork(client) : tracedWork(client, tracing))
    return {
      client,
      clock,
      chance: own,
      signal: this.#stop.signal,
      doWork: ((work, play) => asComponent(name, () => doWork(work, play))) satisfies DoWork,
    }
  }
}
