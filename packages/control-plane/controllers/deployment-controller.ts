import { createHash } from 'node:crypto'
import { hasSame } from '../api/same-content.ts'
import { ownerName, ownerReferenceTo, owns } from '../api/ownership.ts'
import type { Deployment, PodTemplate, ReplicaSet } from '../api/kube-objects.ts'
import { type ControllerContext, runLoop } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { Tombstones } from '../runtime/tombstones.ts'
import type { Work } from '../runtime/work.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** Keeps one ReplicaSet for each template of a Deployment, the newest with the replicas that are asked for. */
export async function deploymentController(surroundings: ControllerContext): Promise<void> {
  const { clock, signal, doWork } = surroundings
  const deployments = new Informer('apps/v1/deployments', surroundings)
  const replicaSets = new Informer('apps/v1/replicasets', surroundings)
  const queue = new WorkQueue(clock, signal)
  const tombstones = new Tombstones()
  /** ReplicaSets of older templates that had Pods when they were looked at last. */
  const counted = new Set<string>()
  deployments.onChange(({ latest }) => queue.add(keyOf(latest.metadata)))
  replicaSets.onChange(({ now, latest }) => {
    const name = ownerName(latest, 'Deployment')
    if (name === undefined) return
    const key = keyOf({ namespace: latest.metadata.namespace, name })
    if (now === undefined) {
      counted.delete(latest.metadata.uid)
      tombstones.add(key, latest)
    }
    queue.add(key)
  })

  async function reconcile(key: string): Promise<void> {
    const deployment = deployments.get(key)
    const gone = tombstones.of(key)
    if (deployment === undefined) {
      tombstones.forget(key)
      return
    }
    await doWork('reconcile Deployment', async (work) => {
      const owned = replicaSets.all().filter((replicaSet) => owns(deployment, replicaSet))
      const hash = templateHash(deployment.spec.template)
      const current = owned.find(({ metadata }) => metadata.labels?.[HASH_LABEL] === hash)
      const old = owned.filter((replicaSet) => replicaSet !== current && isInUse(replicaSet))
      // What has just been emptied has no say any more, but that it is empty is why there is something to do.
      const emptied = owned.filter((one) => one !== current && !isInUse(one) && counted.has(one.metadata.uid))
      work.observe(deployment, current, ...old, ...emptied, ...gone)
      const now = current ?? (await createReplicaSet(work, deployment, hash, old))
      if (current !== undefined)
        await scale(work, deployment, current, replicasOfNew(deployment, current, old))
      for (const [replicaSet, replicas] of replicasOfOld(deployment, now, old)) {
        await scale(work, deployment, replicaSet, replicas)
      }
      await writeStatus(work, deployment, now, old)
      for (const { metadata } of old) counted.add(metadata.uid)
      for (const { metadata } of emptied) counted.delete(metadata.uid)
      tombstones.forget(key, gone)
    })
  }

  async function createReplicaSet(
    work: Work,
    deployment: Deployment,
    hash: string,
    old: readonly ReplicaSet[],
  ): Promise<ReplicaSet> {
    const { selector, template } = deployment.spec
    const labels = { ...template.metadata.labels, [HASH_LABEL]: hash }
    const created = await work.create('apps/v1/replicasets', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${deployment.metadata.name}-${hash}`,
        namespace: deployment.metadata.namespace,
        labels,
        annotations: desiredBy(deployment),
        ownerReferences: ownerReferenceTo(deployment),
      },
      spec: {
        replicas: replicasOfNew(deployment, undefined, old),
        selector: { matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
        template: { ...template, metadata: { labels } },
      },
      status: { observedGeneration: 0, replicas: 0, readyReplicas: 0 },
    })
    replicaSets.remember(created)
    return created
  }

  async function scale(
    work: Work,
    deployment: Deployment,
    replicaSet: ReplicaSet,
    replicas: number,
  ): Promise<void> {
    if (replicaSet.spec.replicas === replicas) return
    const annotations = { ...replicaSet.metadata.annotations, ...desiredBy(deployment) }
    const metadata = { ...replicaSet.metadata, annotations }
    const scaled = { ...replicaSet, metadata, spec: { ...replicaSet.spec, replicas } }
    replicaSets.remember(await work.update('apps/v1/replicasets', scaled))
  }

  async function writeStatus(
    work: Work,
    deployment: Deployment,
    current: ReplicaSet,
    old: readonly ReplicaSet[],
  ): Promise<void> {
    const all = [current, ...old]
    const status = {
      observedGeneration: deployment.metadata.generation,
      replicas: all.reduce((sum, { status }) => sum + status.replicas, 0),
      updatedReplicas: current.status.replicas,
      readyReplicas: all.reduce((sum, { status }) => sum + status.readyReplicas, 0),
    }
    if (hasSame(status, deployment.status)) return
    deployments.remember(await work.updateStatus('apps/v1/deployments', { ...deployment, status }))
  }

  await runLoop(surroundings, { informers: [deployments, replicaSets], queue, reconcile, workers: 5 })
}

/** As real Deployment controllers note on each ReplicaSet that they make or scale how many all of them are to have. */
function desiredBy({ spec }: Deployment): Record<string, string> {
  return { 'deployment.kubernetes.io/desired-replicas': String(spec.replicas) }
}

/** One that a former rollout emptied has no say any more. */
function isInUse({ spec, status }: ReplicaSet): boolean {
  return spec.replicas > 0 || status.replicas > 0
}

const HASH_LABEL = 'pod-template-hash'

const DIGITS = 9

/** What tells the ReplicaSets of a Deployment apart. */
function templateHash(template: PodTemplate): string {
  return createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, DIGITS)
}

const MAX_SURGE = 0.25
const MAX_UNAVAILABLE = 0.25

/** How many replicas the ReplicaSet of the newest template is to have: all that fit within the surge. */
function replicasOfNew(
  { spec: { replicas } }: Deployment,
  current: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): number {
  const others = sumOf(old, ({ spec }) => spec.replicas)
  if (others === 0) return replicas
  const most = replicas + Math.ceil(replicas * MAX_SURGE) - others
  return Math.min(replicas, Math.max(current?.spec.replicas ?? 0, most))
}

/** How far each older ReplicaSet can be scaled down while enough Pods stay ready. */
function replicasOfOld(
  { spec: { replicas } }: Deployment,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): [ReplicaSet, number][] {
  const leastReady = replicas - Math.floor(replicas * MAX_UNAVAILABLE)
  const ready = sumOf([current, ...old], ({ status }) => status.readyReplicas)
  const onTheWayOut = sumOf(old, ({ spec, status }) => Math.max(0, status.readyReplicas - spec.replicas))
  let spare = Math.max(0, ready - onTheWayOut - leastReady)
  return old.map((replicaSet) => {
    const unready = Math.max(0, replicaSet.spec.replicas - replicaSet.status.readyReplicas)
    const cut = Math.min(replicaSet.spec.replicas, unready + spare)
    spare -= cut - Math.min(cut, unready)
    return [replicaSet, replicaSet.spec.replicas - cut]
  })
}

function sumOf(replicaSets: readonly ReplicaSet[], count: (replicaSet: ReplicaSet) => number): number {
  return replicaSets.reduce((sum, replicaSet) => sum + count(replicaSet), 0)
}
