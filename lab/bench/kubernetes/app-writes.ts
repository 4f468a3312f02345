/** An object as an API server sends it, without its version. */
interface AppObject {
  readonly resource: string
  readonly type: 'ADDED' | 'MODIFIED'
  readonly object: Record<string, unknown> & { readonly metadata: Record<string, unknown> }
}

const PODS = 3
const NODES = 5_000
/** The first of the applications whose Pods were there before, so that none of them is owned by what is deployed. */
const STANDING = 1_000_000

/** How many writes one application makes when it is deployed. */
export const WRITES_OF_APP = 5 + 3 * PODS

/**
 * What deploying an application with three Pods writes, in order, as a watch of Kubernetes tells of it: Deployment, ReplicaSet,
 * Pods, bindings, Pods that run, statuses, EndpointSlice.
 */
export function writesOfApp(app: number, time: string): AppObject[] {
  const namespace = `team-${app % 500}`
  const name = `app-${app}`
  const uid = (of: string): string => `${of}-${app}-0000-4000-8000-000000000000`
  const metadata = (kind: string, more: object = {}): Record<string, unknown> => ({
    ...{ name: kind === 'deployment' ? name : `${name}-${kind}`, namespace, uid: uid(kind), generation: 1 },
    ...{
      creationTimestamp: time,
      managedFields: [managed(kind === 'deployment' ? 'kubectl' : CONTROLLER, time)],
    },
    ...more,
  })
  const owned = (kind: string, by: string, of: string): object => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind, name: of, uid: uid(by), controller: true }],
  })
  const template = {
    metadata: { labels: { app: name } },
    spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: 'b' }] }] },
  }
  const spec = { replicas: PODS, selector: { matchLabels: { app: name } }, template }
  const apps = { apiVersion: 'apps/v1' }
  const deployment = { ...apps, kind: 'Deployment', metadata: metadata('deployment'), spec }
  const set = {
    ...apps,
    kind: 'ReplicaSet',
    metadata: metadata('set', owned('Deployment', 'deployment', name)),
    spec,
  }
  const pods = Array.from({ length: PODS }, (_, of) => {
    const node = `node-${(app * PODS + of) % NODES}`
    const base = {
      ...{
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: metadata(`pod-${of}`, owned('ReplicaSet', 'set', `${name}-set`)),
      },
    }
    const ip = `10.${(app >> 8) & 255}.${app & 255}.${of}`
    const bound = { ...base, spec: { ...template.spec, nodeName: node } }
    const conditions = [{ type: 'Ready', status: 'True' }]
    return [
      { ...base, spec: template.spec, status: { phase: 'Pending' } },
      { ...bound, status: { phase: 'Pending' } },
      { ...bound, status: { phase: 'Running', podIP: ip, conditions } },
    ] as const
  })
  const step = (of: 0 | 1 | 2): AppObject[] =>
    pods.map((states) => ({ resource: 'pods', type: of === 0 ? 'ADDED' : 'MODIFIED', object: states[of] }))
  const counts = { replicas: PODS, readyReplicas: PODS, availableReplicas: PODS }
  const endpoints = pods.map(([{ metadata: pod }], of) => ({
    addresses: [`10.${(app >> 8) & 255}.${app & 255}.${of}`],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'Pod', name: pod['name'], namespace, uid: pod['uid'] },
  }))
  const slice = {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: metadata('slice'), endpoints },
  }
  return [
    { resource: 'deployments', type: 'ADDED', object: deployment },
    { resource: 'replicasets', type: 'ADDED', object: set },
    ...step(0),
    ...step(1),
    ...step(2),
    { resource: 'replicasets', type: 'MODIFIED', object: { ...set, status: counts } },
    { resource: 'deployments', type: 'MODIFIED', object: { ...deployment, status: counts } },
    { resource: 'endpointslices', type: 'ADDED', object: slice },
  ]
}

/** A Pod that runs and was there before anybody looked. */
export function standingPod(at: number): Record<string, unknown> {
  const [, , , , , , , , running] = writesOfApp(STANDING + Math.trunc(at / PODS), '2026-01-01T00:00:00Z').map(
    ({ object }) => object,
  )
  const metadata = {
    ...running?.metadata,
    name: `standing-${at}`,
    uid: `standing-${at}-0000-4000-8000-000000000000`,
  }
  return { ...running, metadata: { ...metadata, resourceVersion: String(at + 1) } }
}

const CONTROLLER = 'kube-controller-manager'

function managed(manager: string, time: string): object {
  return { manager, operation: 'Update', time, fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }
}
