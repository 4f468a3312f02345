import type { Range } from '../chance.ts'
import { runLoop, type Controller } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** Binds each Pod to the node that has the fewest, one Pod at a time. */
export function scheduler(scoringMs: Range): Controller {
  return async (surroundings) => {
    const { clock, chance, signal, doWork } = surroundings
    const pods = new Informer('v1/pods', surroundings)
    const nodes = new Informer('v1/nodes', surroundings)
    const queue = new WorkQueue(clock, signal)
    pods.onChange(({ now }) => {
      if (now !== undefined && now.spec.nodeName === undefined) queue.add(keyOf(now.metadata))
    })
    nodes.onChange(({ old }) => {
      if (old !== undefined) return
      for (const { metadata, spec } of pods.all()) {
        if (spec.nodeName === undefined) queue.add(keyOf(metadata))
      }
    })

    function leastLoaded(): string | undefined {
      const load = new Map(nodes.all().map(({ metadata }) => [metadata.name, 0]))
      for (const { spec } of pods.all()) {
        if (spec.nodeName !== undefined) load.set(spec.nodeName, (load.get(spec.nodeName) ?? 0) + 1)
      }
      return [...load].sort(([, one], [, other]) => one - other)[0]?.[0]
    }

    async function reconcile(key: string): Promise<void> {
      const pod = pods.get(key)
      if (pod === undefined || pod.spec.nodeName !== undefined) return
      const nodeName = leastLoaded()
      if (nodeName === undefined) return
      await doWork('schedule Pod', async (work) => {
        work.observe(pod)
        await work.step('score nodes', () => clock.sleep(chance.between(scoringMs)))
        pods.remember(await work.update('v1/pods', { ...pod, spec: { ...pod.spec, nodeName } }))
      })
    }

    await runLoop(surroundings, { informers: [pods, nodes], queue, reconcile, workers: 1 })
  }
}
