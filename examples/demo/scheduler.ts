import type { Pod } from './kube-objects.ts'
import { onStage, type Stage } from './stage.ts'
import { keepReconciling, type View } from './view.ts'
import { doWork, think } from './work.ts'

const NODES = ['node-1', 'node-2', 'node-3']

let bound = 0

await onStage((stage) =>
  keepReconciling(stage, ['v1/pods'], async (view) => {
    for (const pod of view.all('v1/pods')) {
      if (pod.spec.nodeName === undefined) await bind(stage, view, pod)
    }
  }),
)

/** There is no kubelet here, so a Pod has its address as soon as it has its node. */
function bind(stage: Stage, view: View, pod: Pod): Promise<void> {
  return doWork(stage, 'schedule Pod', async (work) => {
    work.observe('v1/pods', pod)
    const node = await stage.tracer.startActiveSpan('score nodes', async (span) => {
      await think()
      span.end()
      return bound % NODES.length
    })
    bound += 1
    const spec = { ...pod.spec, nodeName: NODES[node] ?? '' }
    const written = await work.update('v1/pods', {
      ...pod,
      spec,
      status: { podIP: `10.244.${node + 1}.${bound + 1}` },
    })
    view.keep('v1/pods', written)
  })
}
