import { eventually } from '../../../../lab/harness/eventually.ts'
import type { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../../../lab/harness/kubernetes/kube-api.ts'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Definition } from './story.ts'

const LONGEST_STEP_MS = 180_000

const HOST = 'kubernetes.io/hostname'

interface Items {
  items: {
    metadata: { name: string; uid: string }
    spec: { nodeName?: string }
    status?: Record<string, unknown>
  }[]
}

interface Listed {
  targetRef?: { uid: string }
}

interface Slice {
  endpoints?: (Listed & { conditions: { ready: boolean } })[] | null
}

interface Endpoints {
  subsets?: { addresses?: Listed[] }[]
}

const uidsOf = (listed: readonly Listed[]): string => {
  const uids = listed.map(({ targetRef }) => targetRef?.uid)
  return uids.sort().join()
}

/** A namespace of a cluster in which a story is played. */
export class Stage {
  readonly namespace: string
  readonly cluster: Cluster
  readonly #directory: string
  #manifests = 0

  constructor(namespace: string, cluster: Cluster, directory: string) {
    this.namespace = namespace
    this.cluster = cluster
    this.#directory = directory
  }

  get api(): KubeApi {
    return this.cluster.api()
  }

  kubectl(user: string, ...args: string[]): Promise<string> {
    return this.cluster.kubectl(user, '--namespace', this.namespace, ...args)
  }

  /** `kubectl apply` of objects. */
  async apply(user: string, ...objects: object[]): Promise<void> {
    const path = join(this.#directory, `${this.namespace}-${++this.#manifests}.json`)
    await writeFile(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
    await this.kubectl(user, 'apply', '-f', path)
  }

  /** A service account of the namespace that may do everything: the API as it sees it. */
  async account(name: string): Promise<KubeApi> {
    await this.cluster.makeAccount(this.namespace, name)
    const { api } = await this.cluster.account(this.namespace, name)
    await this.api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: `${this.namespace}-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: this.namespace, name }],
    })
    // The API server takes it in by a watch of its own.
    await eventually(() => api.get(this.path('/api/v1', 'pods')), LONGEST_STEP_MS)
    return api
  }

  /** A node that only Pods may use which tolerate the taint of its story; it is named after the story. */
  async node(name: string): Promise<void> {
    const capacity = { cpu: '32', memory: '256Gi', pods: '110' }
    await this.api.create('/api/v1/nodes', {
      metadata: { name, labels: { [HOST]: name } },
      spec: { taints: [{ key: 'story', value: this.namespace, effect: 'NoSchedule' }] },
      status: { allocatable: capacity, capacity },
    })
  }

  /** A path of the namespace: `/apis/apps/v1` and `deployments/web`. */
  path(group: string, rest: string): string {
    return `${group}/namespaces/${this.namespace}/${rest}`
  }

  /** Those of an app. */
  pods(app: string): Promise<Items['items']> {
    const path = this.path('/api/v1', `pods?labelSelector=app%3D${app}`)
    return this.api.get<Items>(path).then(({ items }) => items)
  }

  /** Resolves once so many Pods of an app run, and it has no others. */
  podsRun(app: string, count: number): Promise<void> {
    return this.until(async () => {
      const phases = (await this.pods(app)).map(({ status }) => status?.['phase'])
      return phases.length === count && phases.every((phase) => phase === 'Running')
    }, `${count} Pods of ${app} run`)
  }

  /** Resolves once the EndpointSlices of a Service list the Pods of its app, so many and all ready, and its Endpoints as well. */
  endpointsAre(service: string, count: number): Promise<void> {
    return this.until(async () => {
      const [pods, slices, endpoints] = await Promise.all([
        this.pods(service),
        this.api.get<{ items: Slice[] }>(
          this.path(
            '/apis/discovery.k8s.io/v1',
            `endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D${service}`,
          ),
        ),
        this.api.get<Endpoints>(this.path('/api/v1', `endpoints/${service}`)),
      ])
      const listed = slices.items.flatMap((slice) => slice.endpoints ?? [])
      const addresses = (endpoints.subsets ?? []).flatMap((subset) => subset.addresses ?? [])
      const isReady = listed.every(({ conditions }) => conditions.ready)
      const there = uidsOf(pods.map(({ metadata }) => ({ targetRef: metadata })))
      return isReady && pods.length === count && uidsOf(listed) === there && uidsOf(addresses) === there
    }, `${service} has ${count} endpoints`)
  }

  /** Resolves once a status says this: a Deployment's replicas are counted after its Pods run. */
  async statusIs(path: string, expected: Readonly<Record<string, unknown>>): Promise<void> {
    await this.until(
      async () => {
        const { status = {} } = await this.api.get<{ status?: Record<string, unknown> }>(path)
        return Object.entries(expected).every(([key, value]) => status[key] === value)
      },
      `${path} says ${JSON.stringify(expected)}`,
    )
  }

  /** Resolves once a Deployment is as its author wants it, and its status says so. */
  async rolledOut(name: string, replicas: number): Promise<void> {
    const path = this.path('/apis/apps/v1', `deployments/${name}`)
    const { metadata } = await this.api.get<{ metadata: { generation: number } }>(path)
    await this.statusIs(path, {
      observedGeneration: metadata.generation,
      replicas,
      updatedReplicas: replicas,
      readyReplicas: replicas,
      terminatingReplicas: 0,
    })
    await this.podsRun(name, replicas)
  }

  until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    return eventually(async () => {
      if (!(await isSo())) throw new Error(`in ${this.namespace}, not yet: ${what}`)
    }, LONGEST_STEP_MS)
  }
}

/** Has the cluster know a resource; what its objects hold is up to them. */
export async function define(cluster: Cluster, { group, version, kind, plural }: Definition): Promise<void> {
  const api = cluster.api()
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  })
  await eventually(() => api.get(`/apis/${group}/${version}/${plural}`), LONGEST_STEP_MS)
}

/** What of a Pod's template lets it run on these nodes of a story, and on no others. */
export function onNodes(...names: readonly string[]): object {
  const here = { matchExpressions: [{ key: HOST, operator: 'In', values: names }] }
  return {
    tolerations: [{ key: 'story', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [here] } },
    },
  }
}
