// The operator: creates a Deployment and, once its Pods have their nodes, a Service.
import { once } from 'node:events'
import { Kubectl } from '../../packages/control-plane/kubectl.ts'
import { deployment, service } from '../../packages/control-plane/manifests.ts'
import type { ControllerContext } from '../../packages/control-plane/runtime/controller.ts'
import { Informer } from '../../packages/control-plane/runtime/informer.ts'
import { APP, IMAGE, REPLICAS } from './app.ts'
import { onStage } from './stage.ts'

await onStage(async (surroundings) => {
  const { client, clock, doWork, signal, ready } = surroundings
  ready()
  // The only cue but the end, which aborts the signal.
  await once(process, 'message', { signal })
  const kubectl = new Kubectl(client, doWork, clock)
  await kubectl.create('apps/v1/deployments', deployment(APP, REPLICAS, IMAGE))
  await untilScheduled(surroundings)
  signal.throwIfAborted()
  await kubectl.create('v1/services', service(APP))
})

/** As an operator does with `kubectl get pods --watch`. */
async function untilScheduled({ client, clock, signal }: ControllerContext): Promise<void> {
  const enough = new AbortController()
  const either = AbortSignal.any([signal, enough.signal])
  const pods = new Informer('v1/pods', { client, clock, signal: either })
  pods.onChange(() => {
    const scheduled = pods.all().filter(({ spec }) => spec.nodeName !== undefined)
    if (scheduled.length === REPLICAS) enough.abort()
  })
  await pods.run()
}
