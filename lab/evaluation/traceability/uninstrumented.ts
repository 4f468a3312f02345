import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { deployment, service } from '../../../packages/control-plane/manifests.ts'
import { QUIET_MS, scaled } from './changes.ts'
import { findFrom, type FindSettings } from './play.ts'
import type { Finding, TraceabilityRow } from './traceability-row.ts'

const PAPER =
  '5.2.1: what a non-instrumented controller observed is not passed on; the CPID that the object had stays'

function find(plain: readonly string[], settings: FindSettings = {}): Promise<Finding> {
  const isPlain = (component: string) => plain.includes(component)
  return findFrom('kubectl scale', (plane) => scaled(plane, 1, 3), { ...settings, isPlain })
}

/** A Service is made before and after what it selects. */
async function twoServices(plane: ControlPlane): Promise<void> {
  await plane.kubectl.create('v1/services', service('web'))
  await plane.kubectl.create('apps/v1/deployments', deployment('web', 2))
  await plane.settled(QUIET_MS)
}

/** Scaling up, with controllers on the path that nobody instrumented. */
export const UNINSTRUMENTED: readonly TraceabilityRow[] = [
  {
    change: 'scale up; the Deployment controller is not instrumented',
    traced: 'partly',
    how:
      'It makes ReplicaSets without a CPID, and when it scales one it passes none on. The ReplicaSet controller begins a ' +
      'change of its own, in which everything after it is found. (The real one copies annotations of the Deployment ' +
      'to its ReplicaSets, and with them the CPID; ours does not.)',
    paper: PAPER,
    find: () => find(['deployment-controller']),
  },
  {
    change: 'scale up; the ReplicaSet controller is not instrumented',
    traced: 'partly',
    how: 'New Pods have no CPID: the scheduler begins a change for each. The ReplicaSet itself keeps the CPID.',
    paper: PAPER,
    find: () => find(['replicaset-controller']),
  },
  {
    change: 'scale up; the scheduler is not instrumented',
    traced: 'partly',
    how: 'Only its own work is missing: the Pods keep their CPID, which kubelet and Endpoints controller pass on.',
    paper: PAPER,
    find: () => find(['scheduler']),
  },
  {
    change: 'scale up; the kubelet is not instrumented',
    traced: 'partly',
    how: 'Only its own work is missing, as in the paper, where the kubelet was not instrumented either.',
    paper: PAPER,
    find: () => find(['kubelet']),
  },
  {
    change: 'scale up; neither scheduler nor kubelet are instrumented',
    traced: 'partly',
    how: 'What only writes onto an object that already has its CPID may stay uninstrumented, together too.',
    paper: PAPER,
    find: () => find(['scheduler', 'kubelet']),
  },
  {
    change: 'scale up; neither Deployment controller nor scheduler nor Endpoints controller are instrumented',
    traced: 'partly',
    how: 'The first that makes objects without a CPID ends the trace; instrumenting those after it does not mend it.',
    paper: PAPER,
    find: () => find(['deployment-controller', 'scheduler', 'endpoints-controller']),
  },
  {
    change: 'scale up; nobody but kubectl is instrumented',
    traced: 'partly',
    how: 'The operation itself is there, with the object it was about.',
    paper: PAPER,
    find: () =>
      findFrom('kubectl scale', (plane) => scaled(plane, 1, 3), { isPlain: (name) => name !== 'kubectl' }),
  },
  {
    change: 'scale up; kubectl is not instrumented, asked from the CPID on the ReplicaSet',
    traced: 'partly',
    how:
      'The first instrumented controller that saw the Deployment without a CPID began the change, and later operations ' +
      'count as part of it: scaling and creating cannot be told apart.',
    paper: PAPER,
    find: () => find(['kubectl'], { askFrom: 'first found' }),
  },
  {
    change: 'a Deployment with a Service is created; nobody is instrumented',
    traced: 'no',
    how: 'Nothing is sent, and nothing is disturbed.',
    paper: '5.2.1: little impact where controllers are not instrumented',
    find: () => findFrom('kubectl create', twoServices, { isPlain: () => true }),
  },
]
