import type { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'
import type { KubeApi, WatchLine } from '../../../../lab/harness/kubernetes/kube-api.ts'
import type { JsonObject } from '../../../../src/kubernetes/json-access.ts'
import { readWatchEvent } from '../../../../src/kubernetes/read-watch-event.ts'
import type { WatchedVersion } from '../../../../src/model/kubernetes/observation.ts'
import { NANOS_PER_MS } from '../../../../src/model/clock.ts'

/** The paths of what takes part in cascades. */
const WATCHED = [
  ...[
    'namespaces',
    'nodes',
    'pods',
    'services',
    'endpoints',
    'serviceaccounts',
    'configmaps',
    'persistentvolumes',
    'persistentvolumeclaims',
  ].map((resource) => `/api/v1/${resource}`),
  ...['deployments', 'replicasets', 'statefulsets', 'daemonsets', 'controllerrevisions'].map(
    (resource) => `/apis/apps/v1/${resource}`,
  ),
  '/apis/batch/v1/jobs',
  '/apis/batch/v1/cronjobs',
  '/apis/autoscaling/v2/horizontalpodautoscalers',
  '/apis/discovery.k8s.io/v1/endpointslices',
]

interface List {
  kind: string
  apiVersion: string
  metadata: { resourceVersion: string }
  items: object[]
}

/** All that a watch of a cluster tells from now on: lists first, then every version. */
export class Watched implements AsyncDisposable {
  readonly versions: WatchedVersion[] = []
  readonly #api: KubeApi
  readonly #over = new AbortController()
  readonly #watches: Promise<void>[] = []

  private constructor(api: KubeApi) {
    this.#api = api
  }

  static async start(cluster: Cluster): Promise<Watched> {
    const watched = new Watched(cluster.api())
    await Promise.all(WATCHED.map((path) => watched.follow(path)))
    return watched
  }

  /** Lists and watches one more resource. */
  async follow(path: string): Promise<void> {
    const resource = path.split('/').at(-1) ?? ''
    const { kind, apiVersion, metadata, items } = await this.#api.get<List>(path)
    for (const item of items) {
      const object = { kind: kind.replace(/List$/, ''), apiVersion, ...item }
      this.#add({ type: 'ADDED', object }, resource, 'first list')
    }
    const from = `${path}?watch=true&resourceVersion=${metadata.resourceVersion}`
    const watch = this.#api.watch(from, (line) => this.#add(line, resource, 'event'), this.#over.signal)
    this.#watches.push(
      watch.catch((error: unknown) => {
        if (!this.#over.signal.aborted) throw error
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#watches)
  }

  #add(line: WatchLine, resource: string, by: WatchedVersion['by']): void {
    const read = readWatchEvent(line as unknown as JsonObject, BigInt(Date.now()) * NANOS_PER_MS, resource)
    if (typeof read !== 'string') this.versions.push({ ...read, by })
  }
}
