import type { Pod } from '../api/kube-objects.ts'
import type { Range } from '../chance.ts'
import { runLoop, type Controller } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import type { Work } from '../runtime/work.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

export interface KubeletSettings {
  /** How long it takes to have the image of a Pod. */
  pullingMs: Range
  /** How long a container takes to start. */
  startingMs: Range
  /** How long a container takes to stop. */
  stoppingMs: Range
}

/** Each Pod has a worker of its own, as in a real kubelet; this is how many at most. */
const POD_WORKERS = 110

/** Runs the Pods of all nodes: one process stands for the kubelets of a small cluster. */
export function kubelet({ pullingMs, startingMs, stoppingMs }: KubeletSettings): Controller {
  return async (surroundings) => {
    const { clock, chance, signal, doWork } = surroundings
    const pods = new Informer('v1/pods', surroundings)
    const nodes = new Informer('v1/nodes', surroundings)
    const queue = new WorkQueue(clock, signal)
    const addresses = new Map<string, number>()
    pods.onChange(({ now }) => {
      if (now?.spec.nodeName !== undefined) queue.add(keyOf(now.metadata))
    })

    async function reconcile(key: string): Promise<void> {
      const pod = pods.get(key)
      if (pod?.spec.nodeName === undefined) return
      if (pod.metadata.deletionTimestamp !== undefined) await doWork('stop Pod', (work) => stop(work, pod))
      else if (pod.status.phase === 'Pending') await doWork('start Pod', (work) => start(work, pod))
    }

    async function start(work: Work, pod: Pod): Promise<void> {
      work.observe(pod)
      await work.step('pull image', () => clock.sleep(chance.between(pullingMs)))
      await work.step('start container', () => clock.sleep(chance.between(startingMs)))
      const podIP = nextAddress(pod.spec.nodeName ?? '')
      pods.remember(await work.updateStatus('v1/pods', { ...pod, status: { phase: 'Running', podIP } }))
    }

    /** The next of the node's range, which is large enough never to begin anew. */
    function nextAddress(nodeName: string): string {
      const number = (addresses.get(nodeName) ?? 0) + 1
      addresses.set(nodeName, number)
      const [first, second] =
        nodes.get(keyOf({ name: nodeName, namespace: '' }))?.spec.podCIDR.split('.') ?? []
      return `${first ?? '10'}.${second ?? '0'}.${number >> 8}.${number & 255}`
    }

    async function stop(work: Work, pod: Pod): Promise<void> {
      work.observe(pod)
      await work.step('stop container', () => clock.sleep(chance.between(stoppingMs)))
      await work.delete('v1/pods', pod, 0)
    }

    await runLoop(surroundings, { informers: [pods, nodes], queue, reconcile, workers: POD_WORKERS })
  }
}
