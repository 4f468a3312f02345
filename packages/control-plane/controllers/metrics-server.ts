import type { Pod } from '../api/kube-objects.ts'
import { isRefusal } from '../api/api-error.ts'
import { runLoop, type ControllerContext } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { WorkQueue } from '../runtime/work-queue.ts'
import { isReady } from './pod-state.ts'
import { millicores } from './millicores.ts'

/** The ConfigMap that says how much CPU the Pods of each app use together, such as `{ web: '900m' }`. */
export const LOAD = { name: 'load', namespace: 'default' }

/** Tells how much CPU each ready Pod uses, as the kubelets and metrics-server do: the load of an app, shared out. */
export async function metricsServer(surroundings: ControllerContext): Promise<void> {
  const { clock, signal, client } = surroundings
  const pods = new Informer('v1/pods', surroundings)
  const loads = new Informer('v1/configmaps', surroundings)
  const metrics = new Informer('metrics.k8s.io/v1beta1/pods', surroundings)
  const queue = new WorkQueue(clock, signal)
  const addAll = (app?: string) => {
    for (const { metadata } of [...pods.all(), ...metrics.all()]) {
      if (app === undefined || metadata.labels?.['app'] === app) queue.add(keyOf(metadata))
    }
  }
  pods.onChange(({ latest }) => {
    const isMeasured = loads.get(keyOf(LOAD)) !== undefined || metrics.all().length > 0
    if (isMeasured) addAll(latest.metadata.labels?.['app'])
  })
  loads.onChange(() => addAll())

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(key)
    const known = metrics.get(key)
    const cpu = pod === undefined ? undefined : usageOf(pod)
    if (pod === undefined || cpu === undefined) {
      if (known !== undefined)
        await client.delete('metrics.k8s.io/v1beta1/pods', known.metadata).catch(unlessGone)
      return
    }
    const containers = [{ name: 'app', usage: { cpu } }]
    if (known?.containers[0]?.usage.cpu === cpu) return
    const { name, namespace, labels = {} } = pod.metadata
    const draft = { apiVersion: 'metrics.k8s.io/v1beta1', kind: 'PodMetrics', containers }
    metrics.remember(
      known === undefined
        ? await client.create('metrics.k8s.io/v1beta1/pods', {
            ...draft,
            metadata: { name, namespace, labels },
          })
        : await client.update('metrics.k8s.io/v1beta1/pods', { ...known, containers }),
    )
  }

  function usageOf(pod: Pod): string | undefined {
    const app = pod.metadata.labels?.['app'] ?? ''
    const load = loads.get(keyOf(LOAD))?.data[app]
    if (load === undefined || !isReady(pod)) return undefined
    const sharing = pods.all().filter((other) => isReady(other) && other.metadata.labels?.['app'] === app)
    return `${Math.round(millicores(load) / sharing.length)}m`
  }

  await runLoop(surroundings, { informers: [pods, loads, metrics], queue, reconcile, workers: 1 })
}

function unlessGone(error: unknown): void {
  if (!isRefusal(error, 'NotFound')) throw error
}
