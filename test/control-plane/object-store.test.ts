import { test, expect } from '@jest/globals'
import { ApiError } from '../../packages/control-plane/api/api-error.ts'
import type { Deployment, Pod } from '../../packages/control-plane/api/kube-objects.ts'
import { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import { Chance } from '../../packages/control-plane/chance.ts'
import { deployment } from '../../packages/control-plane/manifests.ts'
import { VirtualClock } from '../../packages/control-plane/virtual-clock.ts'

const WEB = { name: 'web', namespace: 'default' }
const DEPLOYMENTS = 'apps/v1/deployments'

function storeOf(historyLength = 10): ObjectStore {
  return new ObjectStore({ clock: new VirtualClock(), chance: new Chance(1), historyLength })
}

function withDeployment(): { store: ObjectStore; made: Deployment } {
  const store = storeOf()
  return { store, made: store.create(DEPLOYMENTS, deployment('web', 1)) as Deployment }
}

function scaled(object: Deployment, replicas: number): Deployment {
  return { ...object, spec: { ...object.spec, replicas } }
}

function versionOf({ metadata }: { metadata: { resourceVersion: string } }): number {
  return Number(metadata.resourceVersion)
}

function reasonOf(work: () => unknown): string | undefined {
  try {
    work()
  } catch (error) {
    if (error instanceof ApiError) return error.reason
    throw error
  }
  return undefined
}

function podOn(store: ObjectStore, nodeName: string | undefined): Pod {
  const metadata = { name: 'web-1', namespace: 'default' }
  const spec = { containers: [], ...(nodeName !== undefined && { nodeName }) }
  const draft = { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { phase: 'Pending' } }
  return store.create('v1/pods', draft) as Pod
}

test('a created object gets uid, version, first generation and time', () => {
  const { made } = withDeployment()
  expect(made.metadata).toMatchObject({ generation: 1, creationTimestamp: '2026-01-01T00:00:00.000Z' })
  expect(made.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('every write of any object gives a version higher than all before', () => {
  const { store, made } = withDeployment()
  const other = store.create(DEPLOYMENTS, deployment('api', 1))
  const next = store.update(DEPLOYMENTS, scaled(made, 2))
  expect(versionOf(other)).toBeGreaterThan(versionOf(made))
  expect(versionOf(next)).toBeGreaterThan(versionOf(other))
  expect(store.list(DEPLOYMENTS).resourceVersion).toBe(next.metadata.resourceVersion)
})

test('an update that changes nothing keeps the version and tells no watch', () => {
  const { store, made } = withDeployment()
  expect(store.update(DEPLOYMENTS, scaled(made, 1)).metadata).toEqual(made.metadata)
  expect(store.updateStatus(DEPLOYMENTS, made).metadata).toEqual(made.metadata)
  expect(store.events.after(DEPLOYMENTS, versionOf(made))).toEqual([])
})

test('a write of what was read before another wrote is refused', () => {
  const { store, made } = withDeployment()
  store.update(DEPLOYMENTS, scaled(made, 2))
  expect(reasonOf(() => store.update(DEPLOYMENTS, scaled(made, 3)))).toBe('Conflict')
  expect(reasonOf(() => store.updateStatus(DEPLOYMENTS, made))).toBe('Conflict')
  expect((store.get(DEPLOYMENTS, WEB) as Deployment).spec.replicas).toBe(2)
})

test('another object of the same name is not written, nor deleted, in place of the one that was read', () => {
  const { store, made } = withDeployment()
  store.delete(DEPLOYMENTS, WEB)
  const next = store.create(DEPLOYMENTS, deployment('web', 1))
  expect(reasonOf(() => store.update(DEPLOYMENTS, scaled(made, 3)))).toBe('Conflict')
  expect(reasonOf(() => store.delete(DEPLOYMENTS, WEB, { uid: made.metadata.uid }))).toBe('Conflict')
  expect(store.get(DEPLOYMENTS, WEB)).toEqual(next)
})

test('a generation begins with another spec, and with nothing else', () => {
  const { store, made } = withDeployment()
  const labelled = { ...made, metadata: { ...made.metadata, labels: { app: 'other' } } }
  const next = store.update(DEPLOYMENTS, labelled) as Deployment
  expect(next.metadata).toMatchObject({ generation: 1, labels: { app: 'other' } })
  const reported = { ...next, status: { ...next.status, replicas: 1 } }
  const written = store.updateStatus(DEPLOYMENTS, reported) as Deployment
  expect(written.metadata.generation).toBe(1)
  expect(store.update(DEPLOYMENTS, scaled(written, 2)).metadata.generation).toBe(2)
})

test('an update leaves the status, a status update all but status and annotations', () => {
  const { store, made } = withDeployment()
  const status = { ...made.status, readyReplicas: 7 }
  const updated = store.update(DEPLOYMENTS, { ...scaled(made, 2), status }) as Deployment
  expect(updated).toMatchObject({ spec: { replicas: 2 }, status: { readyReplicas: 0 } })
  const metadata = { ...updated.metadata, annotations: { a: 'b' }, labels: { app: 'other' } }
  const reported = store.updateStatus(DEPLOYMENTS, { ...scaled(updated, 9), status, metadata }) as Deployment
  expect(reported).toMatchObject({ spec: { replicas: 2 }, status: { readyReplicas: 7 } })
  expect(reported.metadata).toMatchObject({ annotations: { a: 'b' }, labels: { app: 'web' } })
})

test('a Pod on a node stays, marked, until it is deleted without grace', () => {
  const store = storeOf()
  podOn(store, 'node-1')
  const at = { name: 'web-1', namespace: 'default' }
  store.delete('v1/pods', at)
  const marked = store.get('v1/pods', at)
  expect(marked.metadata.deletionTimestamp).toBe('2026-01-01T00:00:00.000Z')
  store.delete('v1/pods', at)
  expect(store.get('v1/pods', at)).toEqual(marked)
  const kept = store.update('v1/pods', { ...marked, metadata: { ...marked.metadata, labels: { a: 'b' } } })
  expect(kept.metadata.deletionTimestamp).toBe(marked.metadata.deletionTimestamp)
  store.delete('v1/pods', at, { gracePeriodSeconds: 0 })
  expect(reasonOf(() => store.get('v1/pods', at))).toBe('NotFound')
})

test('a Pod on no node goes at once', () => {
  const store = storeOf()
  const { metadata } = podOn(store, undefined)
  store.delete('v1/pods', metadata)
  expect(reasonOf(() => store.get('v1/pods', metadata))).toBe('NotFound')
})

test('what cannot be done is refused with the reason that Kubernetes gives', () => {
  const { store, made } = withDeployment()
  const nowhere = { name: 'nowhere', namespace: 'default' }
  const unnamed = { ...deployment('web', 1), metadata: { name: '', namespace: 'default' } }
  expect({
    again: reasonOf(() => store.create(DEPLOYMENTS, deployment('web', 1))),
    unnamed: reasonOf(() => store.create(DEPLOYMENTS, unnamed)),
    get: reasonOf(() => store.get(DEPLOYMENTS, nowhere)),
    update: reasonOf(() =>
      store.update(DEPLOYMENTS, { ...made, metadata: { ...made.metadata, ...nowhere } }),
    ),
    delete: reasonOf(() => store.delete(DEPLOYMENTS, nowhere)),
  }).toEqual({
    again: 'AlreadyExists',
    unnamed: 'Invalid',
    get: 'NotFound',
    update: 'NotFound',
    delete: 'NotFound',
  })
})

test('a watch hears all after its version, and of a deletion with a version of its own', () => {
  const { store, made } = withDeployment()
  const next = store.update(DEPLOYMENTS, scaled(made, 2))
  store.create('v1/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: WEB })
  store.delete(DEPLOYMENTS, WEB)
  const told = store.events.after(DEPLOYMENTS, versionOf(made)).map(({ event }) => event)
  expect(told.map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED'])
  expect(told[0]?.object).toEqual(next)
  expect(versionOf(told[1]!.object)).toBeGreaterThan(versionOf(next))
})

test('a version whose events are gone has expired; one after them has not', () => {
  const store = storeOf(3)
  let object = store.create(DEPLOYMENTS, deployment('web', 0)) as Deployment
  const first = versionOf(object)
  for (let replicas = 1; replicas <= 6; replicas++) {
    object = store.update(DEPLOYMENTS, scaled(object, replicas)) as Deployment
  }
  expect(reasonOf(() => store.events.after(DEPLOYMENTS, first))).toBe('Expired')
  expect(store.events.after(DEPLOYMENTS, versionOf(object) - 3)).toHaveLength(3)
})
