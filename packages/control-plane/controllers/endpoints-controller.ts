import { matches } from '../api/ownership.ts'
import { hasSame } from '../api/same-content.ts'
import type { Endpoints, EndpointSubset, KubeObject, Pod, Service } from '../api/kube-objects.ts'
import { runLoop, type ControllerContext } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { Tombstones } from '../runtime/tombstones.ts'
import { WorkQueue } from '../runtime/work-queue.ts'
import { isReady } from './pod-state.ts'

/** Lists in the Endpoints of each Service the Pods that can be reached. */
export async function endpointsController(surroundings: ControllerContext): Promise<void> {
  const { clock, signal, doWork } = surroundings
  const services = new Informer('v1/services', surroundings)
  const endpoints = new Informer('v1/endpoints', surroundings)
  const pods = new Informer('v1/pods', surroundings)
  const queue = new WorkQueue(clock, signal)
  const tombstones = new Tombstones()
  services.onChange(({ now, latest }) => {
    const key = keyOf(latest.metadata)
    if (now === undefined) tombstones.add(key, latest)
    queue.add(key)
  })
  endpoints.onChange(({ latest }) => queue.add(keyOf(latest.metadata)))
  pods.onChange(({ old, now, latest }) => {
    for (const { metadata, spec } of services.all()) {
      const selects = (pod: Pod | undefined) => pod !== undefined && matches(spec.selector, pod)
      if (!selects(old) && !selects(now)) continue
      const left = old !== undefined && isReady(old) && (now === undefined || !isReady(now))
      if (left) tombstones.add(keyOf(metadata), latest)
      queue.add(keyOf(metadata))
    }
  })

  async function reconcile(key: string): Promise<void> {
    const service = services.get(key)
    const current = endpoints.get(key)
    const gone = tombstones.of(key)
    if (service === undefined) {
      if (current !== undefined) await remove(current, gone)
      tombstones.forget(key, gone)
      return
    }
    const reachable = pods.all().filter((pod) => isReady(pod) && matches(service.spec.selector, pod))
    const subsets = subsetsFor(service, reachable)
    await doWork('reconcile Endpoints', async (work) => {
      work.observe(service, current, ...reachable, ...gone)
      if (current === undefined) {
        const { name, namespace } = service.metadata
        const draft = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name, namespace }, subsets }
        endpoints.remember(await work.create('v1/endpoints', draft))
      } else if (!hasSame(subsets, current.subsets)) {
        endpoints.remember(await work.update('v1/endpoints', { ...current, subsets }))
      }
      tombstones.forget(key, gone)
    })
  }

  async function remove(current: Endpoints, gone: readonly KubeObject[]): Promise<void> {
    await doWork('delete Endpoints', async (work) => {
      work.observe(current, ...gone)
      await work.delete('v1/endpoints', current)
    })
  }

  await runLoop(surroundings, { informers: [services, endpoints, pods], queue, reconcile, workers: 5 })
}

function subsetsFor(service: Service, reachable: readonly Pod[]): EndpointSubset[] {
  if (reachable.length === 0) return []
  const addresses = reachable.map(({ metadata, spec, status }) => ({
    ip: status.podIP ?? '',
    nodeName: spec.nodeName ?? '',
    targetRef: { kind: 'Pod' as const, name: metadata.name, uid: metadata.uid },
  }))
  return [
    { addresses: addresses.sort((one, other) => (one.ip < other.ip ? -1 : 1)), ports: service.spec.ports },
  ]
}
