import type { Deployment, HorizontalPodAutoscaler } from '../api/kube-objects.ts'
import { matches } from '../api/ownership.ts'
import { runLoop, type Controller } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { WorkQueue } from '../runtime/work-queue.ts'
import { millicores } from './millicores.ts'

export interface AutoscalerSettings {
  /** How often each autoscaler looks; 15 s in a real cluster. */
  syncPeriodMs: number
  /** For how long the highest recommendation counts before there is scaling down; 300 s in a real cluster. */
  stabilizationMs: number
}

interface Recommendation {
  atMs: number
  replicas: number
}

const TOLERANCE = 0.1

/** Scales Deployments after the CPU that their Pods use. Metrics are no object's state, so they begin no change. */
export function horizontalPodAutoscaler({ syncPeriodMs, stabilizationMs }: AutoscalerSettings): Controller {
  return async (surroundings) => {
    const { clock, signal, doWork } = surroundings
    const autoscalers = new Informer('autoscaling/v2/horizontalpodautoscalers', surroundings)
    const deployments = new Informer('apps/v1/deployments', surroundings)
    const metrics = new Informer('metrics.k8s.io/v1beta1/pods', surroundings)
    const queue = new WorkQueue(clock, signal)
    const recommendations = new Map<string, Recommendation[]>()
    autoscalers.onChange(({ old, now }) => {
      if (old === undefined && now !== undefined) queue.add(keyOf(now.metadata))
    })

    async function reconcile(key: string): Promise<void> {
      const autoscaler = autoscalers.get(key)
      if (autoscaler === undefined) {
        recommendations.delete(key)
        return
      }
      queue.addAfter(key, syncPeriodMs)
      const { name } = autoscaler.spec.scaleTargetRef
      const deployment = deployments.get(keyOf({ namespace: autoscaler.metadata.namespace, name }))
      if (deployment === undefined || deployment.spec.replicas === 0) return
      const { minReplicas, maxReplicas } = autoscaler.spec
      const recommended = stabilized(key, deployment.spec.replicas, desiredReplicas(autoscaler, deployment))
      const desired = Math.min(maxReplicas, Math.max(minReplicas, recommended))
      await doWork('reconcile HorizontalPodAutoscaler', async (work) => {
        work.observe(autoscaler, deployment)
        const current = deployment.spec.replicas
        if (desired !== current) {
          const scaled = { ...deployment, spec: { ...deployment.spec, replicas: desired } }
          deployments.remember(await work.update('apps/v1/deployments', scaled))
        }
        const { currentReplicas, desiredReplicas } = autoscaler.status
        if (desired === current && currentReplicas === current && desiredReplicas === desired) return
        const { lastScaleTime } = autoscaler.status
        const scaledAt = desired === current ? lastScaleTime : new Date(clock.nowMs()).toISOString()
        const status = {
          currentReplicas: current,
          desiredReplicas: desired,
          ...(scaledAt !== undefined && { lastScaleTime: scaledAt }),
        }
        const written = { ...autoscaler, status }
        autoscalers.remember(await work.updateStatus('autoscaling/v2/horizontalpodautoscalers', written))
      })
    }

    function desiredReplicas({ spec }: HorizontalPodAutoscaler, deployment: Deployment): number {
      const current = deployment.spec.replicas
      const used = metrics.all().filter((pod) => matches(deployment.spec.selector.matchLabels, pod))
      const total = used
        .flatMap(({ containers }) => containers)
        .reduce((sum, { usage }) => sum + millicores(usage.cpu), 0)
      const ratio = total / used.length / millicores(spec.metrics[0].resource.target.averageValue)
      const isAsItShouldBe = used.length === 0 || Math.abs(ratio - 1) <= TOLERANCE
      return isAsItShouldBe ? current : Math.ceil(used.length * ratio)
    }

    /**
     * The highest of the latest recommendations, so that a short lull scales nothing down; what is there when the
     * autoscaler begins counts as one.
     */
    function stabilized(key: string, current: number, replicas: number): number {
      const nowMs = clock.nowMs()
      const known = recommendations.get(key) ?? [{ atMs: nowMs, replicas: current }]
      const recent = known.filter(({ atMs }) => atMs > nowMs - stabilizationMs)
      recent.push({ atMs: nowMs, replicas })
      recommendations.set(key, recent)
      return Math.max(...recent.map((recommendation) => recommendation.replicas))
    }

    await runLoop(surroundings, {
      informers: [autoscalers, deployments, metrics],
      queue,
      reconcile,
      workers: 1,
    })
  }
}
