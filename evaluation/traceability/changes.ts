import type { ControlPlane } from '../../examples/control-plane/control-plane.ts'
import { deployment, service } from '../../examples/control-plane/manifests.ts'
import { findFrom } from './play.ts'
import type { TraceabilityRow } from './traceability-row.ts'

export const WEB = { name: 'web', namespace: 'default' }

const QUIET_MS = 3_000

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

export async function rolledOut(plane: ControlPlane): Promise<void> {
  await running(plane, 3)
  await plane.kubectl.edit(
    'apps/v1/deployments',
    WEB,
    (object) => {
      const template = { ...object.spec.template, spec: { containers: [{ name: 'app', image: 'web:2.0' }] } }
      return { ...object, spec: { ...object.spec, template } }
    },
    'set image',
  )
  await plane.settled(QUIET_MS)
}

/** Objects are made or their fields changed. */
export const CHANGES: readonly TraceabilityRow[] = [
  {
    change: 'A Deployment is created',
    traced: 'yes',
    how: 'each object made for another carries its CPID',
    paper: '5.2.1: traced from Deployment to ReplicaSet and Pod',
    find: () => findFrom('kubectl create', (plane) => running(plane, 3)),
  },
  {
    change: 'A Deployment is scaled up',
    traced: 'yes',
    how: 'the operation merges with what the Deployment carried; the ReplicaSet and the new Pods carry the outcome',
    paper: '5.2.1: merging can be traced from the Deployment on',
    find: () => findFrom('kubectl scale', (plane) => scaled(plane, 1, 3)),
  },
]
