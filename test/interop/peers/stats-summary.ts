import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a kubelet's /stats/summary says of one Pod (k8s.io/kubelet/pkg/apis/stats/v1alpha1). */
interface PodOfKubelet {
  readonly uid: string
  readonly name: string
  readonly memoryBytes: number
  /** How many cores it uses. */
  readonly cores: number
}

const NS_PER_S = 1e9

/** Answers /stats/summary as a kubelet does at its read-only port. */
export async function startKubelet(
  pods: readonly PodOfKubelet[],
): Promise<AsyncDisposable & { port: number }> {
  const startedMs = Date.now()
  const server = createServer((request, response) => {
    if (request.url !== '/stats/summary') {
      response.writeHead(404).end()
      return
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(summaryOf(pods, startedMs)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function summaryOf(pods: readonly PodOfKubelet[], startedMs: number): object {
  const startTime = new Date(startedMs).toISOString()
  const time = new Date().toISOString()
  const ranSeconds = (Date.now() - startedMs) / 1_000
  const usage = (cores: number, memoryBytes: number): object => ({
    cpu: {
      time,
      usageNanoCores: Math.round(cores * NS_PER_S),
      usageCoreNanoSeconds: Math.round((1 + ranSeconds * cores) * NS_PER_S),
    },
    memory: {
      time,
      usageBytes: memoryBytes + 4_096,
      workingSetBytes: memoryBytes,
      rssBytes: memoryBytes - 4_096,
      pageFaults: 100,
      majorPageFaults: 1,
    },
  })
  return {
    node: { nodeName: 'node-1', startTime, systemContainers: [], ...usage(2, 4e9) },
    pods: pods.map(({ uid, name, cores, memoryBytes }) => ({
      podRef: { name, namespace: 'shop', uid },
      startTime,
      containers: [{ name: 'app', startTime, ...usage(cores, memoryBytes) }],
      ...usage(cores, memoryBytes),
    })),
  }
}
