import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import type { Pod } from '../../../packages/control-plane/api/kube-objects.ts'
import { node } from '../../../packages/control-plane/manifests.ts'
import { QUIET_MS, running, scaled, WEB } from './changes.ts'
import { findFrom } from './play.ts'
import type { TraceabilityRow } from './traceability-row.ts'

const MARKED = { marksDeletions: true }
const UNTRACEABLE = '6.3: inherently untraceable, where the CPID of the deleted object cannot be referenced'

async function podDeleted(plane: ControlPlane): Promise<void> {
  await running(plane, 2)
  const [pod] = plane.store.list('v1/pods').items as Pod[]
  if (pod === undefined) throw new Error('there is no Pod to delete')
  await plane.kubectl.delete('v1/pods', pod.metadata)
  await plane.settled(QUIET_MS)
}

async function deploymentDeleted(plane: ControlPlane): Promise<void> {
  await running(plane, 2)
  await plane.kubectl.delete('apps/v1/deployments', WEB)
  await plane.settled(QUIET_MS)
}

async function serviceDeleted(plane: ControlPlane): Promise<void> {
  await running(plane, 2)
  await plane.kubectl.delete('v1/services', WEB)
  await plane.settled(QUIET_MS)
}

async function nodeAdded(plane: ControlPlane): Promise<void> {
  await running(plane, 2)
  await plane.kubectl.create('v1/nodes', node(1))
  await plane.settled(QUIET_MS)
}

/** Objects are deleted, and others change because they are gone. */
export const DELETIONS: readonly TraceabilityRow[] = [
  {
    change: 'a Deployment is scaled down; its Pods are deleted as they are',
    traced: 'partly',
    how:
      'A delete writes nothing onto the object, so kubelet and Endpoints controller see the CPID that the Pod had before. ' +
      'The ReplicaSet controller says in its span what it deleted.',
    paper: UNTRACEABLE,
    find: () => findFrom('kubectl scale', (plane) => scaled(plane, 3, 1)),
  },
  {
    change: 'a Deployment is scaled down; its Pods are marked with the change before they are deleted',
    traced: 'yes',
    how: 'One more write per deletion puts the CPID where everyone reads it, also from the informer after the end.',
    paper: `${UNTRACEABLE}; here it can`,
    find: () => findFrom('kubectl scale', (plane) => scaled(plane, 3, 1), MARKED),
  },
  {
    change: 'kubectl deletes a Pod as it is; it is replaced',
    traced: 'partly',
    how: 'Only the delete itself is found. The replacement is tied to what the old Pod came from, by its tombstone.',
    paper: UNTRACEABLE,
    find: () => findFrom('kubectl delete', podDeleted),
  },
  {
    change: 'kubectl marks a Pod with the change and deletes it; it is replaced',
    traced: 'yes',
    how: 'The ReplicaSet controller reads the CPID from the Pod that ends, or from the tombstone its informer gives.',
    paper: `${UNTRACEABLE}; here it can`,
    find: () => findFrom('kubectl delete', podDeleted, MARKED),
  },
  {
    change: 'a Deployment is deleted as it is; what it owned is collected as garbage',
    traced: 'partly',
    how:
      'The garbage collector knows the Deployment as it was last, so its deletions are tied to the changes that made the ' +
      'Deployment, but not to the one that deleted it.',
    paper: UNTRACEABLE,
    find: () => findFrom('kubectl delete', deploymentDeleted),
  },
  {
    change: 'a Deployment is marked and deleted; what it owned is marked too and collected as garbage',
    traced: 'yes',
    how: 'Each tombstone carries the CPID on to what it owned: Deployment, ReplicaSet, Pods, Endpoints.',
    paper: `${UNTRACEABLE}; here it can`,
    find: () => findFrom('kubectl delete', deploymentDeleted, MARKED),
  },
  {
    change: 'a Service is marked and deleted; its Endpoints are deleted too',
    traced: 'yes',
    how: 'The Endpoints controller deletes them because a Service is absent, and its informer still tells which one was.',
    paper: '6.3: propagation through the absence of an object is untraceable; with tombstones it is not',
    find: () => findFrom('kubectl delete', serviceDeleted, MARKED),
  },
  {
    change: 'a Service is marked and deleted while nobody watches; its Endpoints are deleted too',
    traced: 'partly',
    how:
      'A list after the fact tells that the Service is gone, not what it said last: whoever missed the marking write ' +
      'has a tombstone with an older CPID.',
    paper: '6.3: changes that propagate through the absence of an object',
    find: () =>
      findFrom('kubectl delete', serviceDeleted, {
        ...MARKED,
        latency: { watchExpires: 1 },
        unseen: { component: 'endpoints-controller', followsFrom: 'kubectl delete' },
      }),
  },
  {
    change: 'Pods wait because there is no node; one is added, asked from that',
    traced: 'partly',
    how:
      'The scheduler does not count the nodes among what it follows from, or each Pod would follow from all that ever ' +
      'happened to a node. The Pods are found from what made them.',
    paper: '6.3: changes triggered by the non-existence of an object',
    find: () =>
      findFrom('kubectl create', nodeAdded, {
        nodes: 0,
        unseen: { component: 'scheduler', followsFrom: 'kubectl create' },
      }),
  },
]
