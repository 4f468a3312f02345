import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { isReady } from '../../../packages/control-plane/controllers/pod-state.ts'
import { deployment } from '../../../packages/control-plane/manifests.ts'
import type { ObjectStore } from '../../../packages/control-plane/api/object-store.ts'
import type { Pod } from '../../../packages/control-plane/api/kube-objects.ts'

/** The replicas of section 5.1.1, one propagation each. */
export const STEPS = [10, 20, 30, 40, 50] as const

const LONGEST_STEP_MS = 60_000
/** Batches wait for 5 s from the first item on; then they have 3 s left. */
const AFTER_WARM_UP_MS = 1_000
const EARLY = { name: 'early', namespace: 'default' }
const WEB = { name: 'web', namespace: 'default' }

export interface ScenarioTimes {
  /** Of each step, from the command until all Pods are ready. */
  stepsMs: number[]
  totalMs: number
}

interface WarmUp {
  sleep: (ms: number) => Promise<void>
  /** Sends all telemetry that is held. */
  flush: () => Promise<void>
}

/**
 * Something else is made first, so that informers, connections and code are as in a control plane that runs already. It
 * ends with batches that have begun to wait, so that they are sent in the middle of what follows.
 */
export async function warmUp(plane: ControlPlane, { sleep, flush }: WarmUp): Promise<void> {
  await plane.kubectl.create('apps/v1/deployments', deployment(EARLY.name, 1))
  await plane.until((store) => readyPods(store, EARLY.name) === 1, LONGEST_STEP_MS)
  await flush()
  await plane.kubectl.scale(EARLY, 2)
  await plane.until((store) => readyPods(store, EARLY.name) === 2, LONGEST_STEP_MS)
  await sleep(AFTER_WARM_UP_MS)
}

/** Section 5.1.1: a Deployment of 10 replicas is made and grows by 10, each time when all Pods are ready. */
export async function growStepwise(plane: ControlPlane, nowMs: () => number): Promise<ScenarioTimes> {
  const stepsMs: number[] = []
  const beganMs = nowMs()
  for (const [at, replicas] of STEPS.entries()) {
    const startedMs = nowMs()
    if (at === 0) await plane.kubectl.create('apps/v1/deployments', deployment(WEB.name, replicas))
    else await plane.kubectl.scale(WEB, replicas)
    await plane.until((store) => readyPods(store, WEB.name) === replicas, LONGEST_STEP_MS)
    stepsMs.push(nowMs() - startedMs)
  }
  return { stepsMs, totalMs: nowMs() - beganMs }
}

function readyPods(store: ObjectStore, app: string): number {
  const pods = store.list('v1/pods').items as Pod[]
  return pods.filter((pod) => isReady(pod) && pod.metadata.labels?.['app'] === app).length
}
