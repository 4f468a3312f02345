import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { eventually } from '../../../../lab/harness/eventually.ts'
import type { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'

const GROUP = 'metrics.k8s.io'
const PODS = /^\/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/pods/
const LONGEST_MS = 60_000

interface Pods {
  items: { metadata: { name: string; namespace: string; labels: object } }[]
}

/** What a metrics server says of a cluster: all Pods use as much CPU as it is told. */
export class PodMetrics implements AsyncDisposable {
  /** In thousandths of a core. */
  milliCores = 0
  readonly #server: Server
  readonly #cluster: Cluster

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
    const { cert, key } = cluster.certificate('localhost')
    this.#server = createServer({ cert, key }, (request, response) => {
      this.#answer(request.url ?? '').then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        () => response.writeHead(503).end(),
      )
    })
  }

  /** Has the API server pass requests for metrics on to it; resolves once it does. */
  static async serve(cluster: Cluster): Promise<PodMetrics> {
    const metrics = new PodMetrics(cluster)
    const server = metrics.#server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const api = cluster.api()
    // Nothing routes the addresses of Services on this machine, but names are looked up.
    await api.create('/api/v1/namespaces/kube-system/services', {
      metadata: { name: 'pod-metrics' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    })
    await api.create('/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: `v1beta1.${GROUP}` },
      spec: {
        ...{ group: GROUP, version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
        service: { namespace: 'kube-system', name: 'pod-metrics', port },
        insecureSkipTLSVerify: true,
      },
    })
    await eventually(() => api.get(`/apis/${GROUP}/v1beta1/namespaces/default/pods`), LONGEST_MS)
    return metrics
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  async #answer(url: string): Promise<object> {
    const [, namespace] = PODS.exec(url) ?? []
    if (namespace === undefined)
      return {
        ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${GROUP}/v1beta1` },
        resources: [
          { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['list'] },
        ],
      }
    const { search } = new URL(url, 'https://localhost')
    const { items } = await this.#cluster.api().get<Pods>(`/api/v1/namespaces/${namespace}/pods${search}`)
    const timestamp = new Date().toISOString().replace(/\.\d+/, '')
    const usage = { cpu: `${this.milliCores}m`, memory: '1Mi' }
    return {
      ...{ kind: 'PodMetricsList', apiVersion: `${GROUP}/v1beta1`, metadata: {} },
      items: items.map(({ metadata: { name, namespace: of, labels } }) => ({
        ...{ metadata: { name, namespace: of, labels }, timestamp, window: '1s' },
        containers: [{ name: 'main', usage }],
      })),
    }
  }
}
