import { appendFileSync } from 'node:fs'
import { eventually } from '../../harness/eventually.ts'
import type { Cluster, StoppableProgram } from '../../harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import type { Condition, Recorder, SeenObject } from './recorder.ts'

/** Who takes steps: three users, and the cluster itself where it begins something. */
export const USERS = ['alice', 'bob', 'carol'] as const
export type User = (typeof USERS)[number]

/** One person after the other changes something in a namespace of its own; each step is over before the next, unless that is meant. */
export interface Story {
  readonly name: string
  /** Whether it has nodes, so that the Pods of others could come to be on them. */
  readonly hasNodes?: true
  /** Whether programs of the cluster do not run for a while. */
  readonly stopsPrograms?: true
  readonly play: (scene: Scene) => Promise<void>
}

/** A step as it is written down: when it was taken, by whom, what for, and the versions that it made. */
export interface WrittenStep {
  readonly t0: number
  readonly t1: number
  readonly scen: string
  readonly user: User | 'system'
  readonly desc: string
  readonly err?: string
  readonly made: readonly { kind: string; name: string; uid: string; rv: number }[]
}

const GROUPS = {
  pods: 'api/v1',
  services: 'api/v1',
  configmaps: 'api/v1',
  serviceaccounts: 'api/v1',
  secrets: 'api/v1',
  resourcequotas: 'api/v1',
  limitranges: 'api/v1',
  endpoints: 'api/v1',
  persistentvolumeclaims: 'api/v1',
  replicationcontrollers: 'api/v1',
  deployments: 'apis/apps/v1',
  replicasets: 'apis/apps/v1',
  statefulsets: 'apis/apps/v1',
  daemonsets: 'apis/apps/v1',
  jobs: 'apis/batch/v1',
  cronjobs: 'apis/batch/v1',
  ingresses: 'apis/networking.k8s.io/v1',
  networkpolicies: 'apis/networking.k8s.io/v1',
  horizontalpodautoscalers: 'apis/autoscaling/v2',
  resourceclaimtemplates: 'apis/resource.k8s.io/v1',
  resourceclaims: 'apis/resource.k8s.io/v1',
  poddisruptionbudgets: 'apis/policy/v1',
} as const
const OF_THE_CLUSTER = {
  nodes: 'api/v1',
  clusterroles: 'apis/rbac.authorization.k8s.io/v1',
  priorityclasses: 'apis/scheduling.k8s.io/v1',
  persistentvolumes: 'api/v1',
  storageclasses: 'apis/storage.k8s.io/v1',
  deviceclasses: 'apis/resource.k8s.io/v1',
  resourceslices: 'apis/resource.k8s.io/v1',
  validatingadmissionpolicies: 'apis/admissionregistration.k8s.io/v1',
  validatingadmissionpolicybindings: 'apis/admissionregistration.k8s.io/v1',
} as const

const QUIET_MS = 5_000
const AFTER_NAMESPACE_MS = 2_000
const LONGEST_REASON = 250

export interface Pod extends SeenObject {
  readonly spec: { readonly nodeName?: string }
  readonly status: { readonly phase: string; readonly conditions?: readonly Condition[] }
}

/** What a story is played on: a namespace of a cluster, its users, and the file that its steps are written into. */
export class Scene {
  readonly name: string
  readonly #apis: Readonly<Record<User | 'admin', KubeApi>>
  readonly #recorder: Recorder
  readonly #truth: string
  readonly #cluster: Cluster
  /** How many steps were refused. */
  refused = 0

  constructor(
    name: string,
    apis: Record<User | 'admin', KubeApi>,
    recorder: Recorder,
    truth: string,
    cluster: Cluster,
  ) {
    this.#cluster = cluster
    this.name = name
    this.#apis = apis
    this.#recorder = recorder
    this.#truth = truth
  }

  /** The path of a resource of the namespace or of the cluster, or of one of its objects. */
  readonly at = (resource: keyof typeof GROUPS | keyof typeof OF_THE_CLUSTER, ...path: string[]): string => {
    const group =
      resource in GROUPS
        ? `${GROUPS[resource as keyof typeof GROUPS]}/namespaces/${this.name}`
        : OF_THE_CLUSTER[resource as keyof typeof OF_THE_CLUSTER]
    return ['', group, resource, ...path].join('/')
  }

  async begin(): Promise<void> {
    const object = { metadata: { name: this.name } }
    const create = (api: KubeApi): Promise<unknown> => api.create('/api/v1/namespaces', object)
    await this.step('alice', `create namespace ${this.name}`, create, AFTER_NAMESPACE_MS)
  }

  /** Has a user do something, writes it down, and waits until nothing has happened for so long. */
  readonly step = async (
    user: User,
    desc: string,
    deed: (api: KubeApi) => Promise<unknown>,
    quietMs = QUIET_MS,
  ): Promise<void> => {
    await this.#write(user, desc, () => deed(this.#apis[user]))
    if (quietMs > 0) await this.#recorder.quiet(this.name, quietMs)
  }

  /** Resolves once nothing has happened for so long. */
  readonly quiet = (quietMs = QUIET_MS): Promise<void> => this.#recorder.quiet(this.name, quietMs)

  /** Writes down that the cluster by itself, of no step, made the next version that fits. */
  readonly byItself = async (
    desc: string,
    fits: (object: SeenObject) => boolean,
    quietMs = QUIET_MS,
  ): Promise<void> => {
    await this.#write('system', desc, () => this.#recorder.next(fits))
    await this.#recorder.quiet(this.name, quietMs)
  }

  /** Kills a program of the cluster, has something done, and starts it again. */
  readonly without = async (program: StoppableProgram, deed: () => Promise<void>): Promise<void> => {
    const start = await this.#cluster.kill(program)
    await deed()
    start()
  }

  /** All objects of a resource of the namespace. */
  readonly list = async <Item = SeenObject>(resource: keyof typeof GROUPS): Promise<Item[]> => {
    const { items } = await this.#apis.admin.get<{ items: Item[] }>(this.at(resource))
    return items
  }

  /** Its Pods that are not going, by name. */
  readonly pods = async (fits: (pod: Pod) => boolean = () => true): Promise<Pod[]> => {
    const pods = await this.list<Pod>('pods')
    return pods
      .filter((pod) => pod.metadata.deletionTimestamp === undefined && fits(pod))
      .sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1))
  }

  /** The name of a Pod that is not going. */
  readonly aPod = async (fits?: (pod: Pod) => boolean): Promise<string> => {
    const [pod] = await this.pods(fits)
    if (pod === undefined) throw new Error(`${this.name} has no such Pod`)
    return pod.metadata.name
  }

  /** Waits until so many of its Pods run, and it is quiet then. */
  readonly running = async (count: number, longestMs = 120_000): Promise<void> => {
    await eventually(async () => {
      const running = await this.pods(({ status }) => status.phase === 'Running')
      if (running.length !== count) throw new Error(`${running.length} of ${count} Pods of ${this.name} run`)
    }, longestMs)
    await this.#recorder.quiet(this.name, QUIET_MS)
  }

  async #write(user: WrittenStep['user'], desc: string, deed: () => Promise<unknown>): Promise<void> {
    const t0 = Date.now()
    const { made, err } = await deed().then(
      (answer) => ({ made: madeBy(answer), err: undefined }),
      (error: unknown) => ({ made: [], err: String(error).slice(0, LONGEST_REASON) }),
    )
    const said = err === undefined ? {} : { err }
    const step: WrittenStep = { t0, t1: Date.now(), scen: this.name, user, desc, ...said, made }
    appendFileSync(this.#truth, `${JSON.stringify(step)}\n`)
    if (err === undefined) return
    this.refused++
    console.error(`${this.name}: ${user}, ${desc}: ${err}`)
  }
}

/** The versions that are answered, which a deletion that took the object away at once has none of. */
function madeBy(answer: unknown): WrittenStep['made'] {
  return (Array.isArray(answer) ? answer : [answer]).map(({ kind, metadata }: SeenObject) => ({
    kind,
    name: metadata.name,
    uid: metadata.uid,
    rv: Number(metadata.resourceVersion),
  }))
}
