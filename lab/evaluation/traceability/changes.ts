import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { LOAD } from '../../../packages/control-plane/controllers/metrics-server.ts'
import { autoscaler, deployment, load, service } from '../../../packages/control-plane/manifests.ts'
import { findFrom } from './play.ts'
import type { TraceabilityRow } from './traceability-row.ts'

export const WEB = { name: 'web', namespace: 'default' }
export const QUIET_MS = 3_000

const SYNC_PERIOD_MS = 15_000

/** A Deployment with a Service, in rest. */
export async function running(plane: ControlPlane, replicas: number): Promise<void> {
  await plane.kubectl.create('v1/services', service('web'))
  await plane.settled(QUIET_MS)
  await plane.kubectl.create('apps/v1/deployments', deployment('web', replicas))
  await plane.settled(QUIET_MS)
}

export async function scaled(plane: ControlPlane, from: number, to: number): Promise<void> {
  await running(plane, from)
  await plane.kubectl.scale(WEB, to)
  await plane.settled(QUIET_MS)
}

async function rolledOut(plane: ControlPlane): Promise<void> {
  await running(plane, 3)
  await plane.kubectl.setImage(WEB, 'web:2.0')
  await plane.settled(QUIET_MS)
}

async function servedLate(plane: ControlPlane): Promise<void> {
  await plane.kubectl.create('apps/v1/deployments', deployment('web', 3))
  await plane.settled(QUIET_MS)
  await plane.kubectl.create('v1/services', service('web'))
  await plane.settled(QUIET_MS)
}

async function autoscaled(plane: ControlPlane): Promise<void> {
  await plane.kubectl.create('v1/configmaps', load({ web: '200m' }))
  await running(plane, 1)
  const limits = { minReplicas: 1, maxReplicas: 5, averageValue: '200m' }
  await plane.kubectl.create('autoscaling/v2/horizontalpodautoscalers', autoscaler('web', limits))
  await plane.sleep(SYNC_PERIOD_MS)
  await plane.kubectl.edit('v1/configmaps', LOAD, (object) => ({ ...object, data: { web: '600m' } }))
  await plane.sleep(2 * SYNC_PERIOD_MS)
}

/** Objects are made, or their fields are changed. */
export const CHANGES: readonly TraceabilityRow[] = [
  {
    change: 'a Deployment is created',
    traced: 'yes',
    how: 'What a controller makes carries the CPID of what it makes it for.',
    paper: '5.2.1: traced from the Deployment to the ReplicaSet and the Pods',
    find: () => findFrom('kubectl create', (plane) => running(plane, 3)),
  },
  {
    change: 'a Deployment is scaled up',
    traced: 'yes',
    how: 'kubectl merges its change with the one the Deployment came from; ReplicaSet, Pods and Endpoints follow.',
    paper: '5.2.1: merging is traced correctly, beginning with the Deployment',
    find: () => findFrom('kubectl scale', (plane) => scaled(plane, 1, 3)),
  },
  {
    change: 'a new image is rolled out',
    traced: 'yes',
    how: 'Both ReplicaSets take on the change, the new one when it is made and the old one when it is scaled down.',
    paper: '6.3: traceable, since objects are created and fields changed',
    find: () =>
      findFrom('kubectl set image', (plane) => rolledOut(plane), {
        marksDeletions: true,
      }),
  },
  {
    change: 'a status goes back up, from the Pods to the Deployment',
    traced: 'yes',
    how: 'A status update carries a CPID too: the API server takes the annotations with it, for built-in kinds.',
    paper: '6.3: traceable, since fields are changed',
    find: () =>
      findFrom('kubectl create', (plane) => running(plane, 2), {
        only: ({ component, resource }) => component !== 'kubectl' && resource.startsWith('apps/v1/'),
      }),
  },
  {
    change: 'a Service and the Pods of a Deployment merge in Endpoints, asked from the Service',
    traced: 'yes',
    how: 'The Endpoints controller merges the CPIDs of the Service and of all Pods in it.',
    paper: 'Figures 2 and 5: the changes α and β merge into γ',
    find: () => findFrom('kubectl create', servedLate),
  },
  {
    change: 'a HorizontalPodAutoscaler is created, and scales',
    traced: 'yes',
    how: 'Its scaling merges the CPIDs of the autoscaler and of the Deployment, and so follows from both.',
    paper: '6.3: traceable, since fields are changed',
    find: () =>
      findFrom('kubectl create', autoscaled, {
        only: ({ component }) => component !== 'kubectl',
      }),
  },
  {
    change: 'load rises, and a HorizontalPodAutoscaler scales',
    traced: 'partly',
    how:
      'What is measured comes from the metrics API, which keeps no objects and so no CPIDs: the scaling is not tied to ' +
      'what raised the load. From the autoscaler and the Deployment it is found (the row above).',
    paper: '6.3: changes that are not represented as objects cannot be traced',
    find: () =>
      findFrom('kubectl edit', autoscaled, {
        unseen: { component: 'horizontal-pod-autoscaler', followsFrom: 'kubectl edit' },
      }),
  },
]
