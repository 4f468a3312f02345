import { expect, test } from '@jest/globals'
import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { MissingObject, Observation } from '../../src/model/kubernetes-observations.ts'
import { at, known, timeAt } from '../support/read-observation.ts'

const KINDS: Readonly<Record<string, string>> = {
  daemonsets: 'DaemonSet',
  deployments: 'Deployment',
  endpointslices: 'EndpointSlice',
  jobs: 'Job',
  replicasets: 'ReplicaSet',
  pods: 'Pod',
  services: 'Service',
  statefulsets: 'StatefulSet',
}

interface Told {
  resource: string
  name?: string
  uid?: string
  version: number
  /** In milliseconds. */
  from?: number
  to?: number
  by?: string
  verb?: string
  subresource?: string
  owner?: JsonObject
  metadata?: JsonObject
  spec?: JsonObject
  status?: JsonObject
}

const WEB = { kind: 'Deployment', name: 'web', uid: 'd', controller: true }
const SET = { kind: 'ReplicaSet', name: 'web-1', uid: 'r', controller: true }

function objectOf({
  resource,
  name = 'web',
  uid = '',
  version,
  owner,
  metadata,
  spec,
  status,
}: Told): JsonObject {
  return {
    ...{ kind: KINDS[resource] ?? '', apiVersion: 'v1', spec: spec ?? {}, status: status ?? {} },
    metadata: {
      ...{ name, uid, namespace: 'shop', resourceVersion: String(version), generation: 1 },
      ...(owner && { ownerReferences: [owner] }),
      ...metadata,
    },
  }
}

function audited(told: Told): Observation {
  const { resource, name = 'web', version, from = version * 10, to = from + 5, verb = 'update' } = told
  const { by = 'system:serviceaccount:kube-system:deployment-controller', subresource = '' } = told
  const isStatus = verb === 'delete'
  return known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb, auditID: `id of ${version}`, requestURI: '/' },
      responseStatus: { code: 200 },
      user: { username: by },
      objectRef: { resource, name, namespace: 'shop', apiVersion: 'v1', subresource },
      responseObject: isStatus ? { kind: 'Status', details: { uid: told.uid ?? '' } } : objectOf(told),
      requestReceivedTimestamp: timeAt(from),
      stageTimestamp: timeAt(to),
    }),
  )
}

function listed(told: Told, ms: number): Observation {
  const read = known(readWatchEvent({ type: 'ADDED', object: objectOf(told) }, at(ms), told.resource))
  return { ...read, by: 'later list' } as Observation
}

function watched(told: Told, ms = told.version * 10): Observation {
  return known(readWatchEvent({ type: 'MODIFIED', object: objectOf(told) }, at(ms), told.resource))
}

function decided(sources: Source[], ...told: Observation[]): readonly Decision[] {
  return replay(told, sources).decisions
}

const readsOf = (decision: Decision | undefined): string[] | undefined =>
  decision?.reads.map(({ identity, known: { version } }) => `${identity.uid}@${version}`)

const deployment: Told = { resource: 'deployments', uid: 'd', version: 1, by: 'alice', verb: 'create' }
const set: Told = { resource: 'replicasets', name: 'web-1', uid: 'r', version: 2, owner: WEB, verb: 'create' }
const pod: Told = {
  ...{ resource: 'pods', name: 'web-1-a', uid: 'p', version: 5, owner: SET, verb: 'create' },
  by: 'system:serviceaccount:kube-system:replicaset-controller',
}

test('a version whose request began later than that of a write was not read for it, and is news to the next', () => {
  const late = { ...set, version: 4, from: 44, to: 46, verb: 'update', spec: { replicas: 2 } }
  const decisions = decided(
    ['audit'],
    ...[deployment, set].map(audited),
    audited(late),
    audited({ ...pod, from: 43, to: 60 }),
    audited({ ...pod, name: 'web-1-b', uid: 'q', version: 6, from: 61, to: 65 }),
  )
  expect(decisions.slice(-2).map(readsOf)).toEqual([['r@2'], ['r@4']])
})

test('all that came too late to be read is news when the same is written again', () => {
  const stateful: Told = { resource: 'statefulsets', uid: 's', version: 1, by: 'alice', verb: 'create' }
  const owner = { kind: 'StatefulSet', name: 'web', uid: 's', controller: true }
  const status = (version: number, from: number): Observation =>
    audited({
      ...stateful,
      version,
      from,
      to: 90,
      by: 'system:serviceaccount:kube-system:statefulset-controller',
      subresource: 'status',
      verb: 'update',
      status: { version },
    })
  const late = (uid: string, version: number): Observation =>
    audited({ ...pod, owner, uid, name: `web-${uid}`, version, from: 44, to: 50 })
  const decisions = decided(
    ['audit'],
    ...[audited(stateful), late('a', 4), late('b', 5), status(6, 43), status(7, 80)],
  )
  expect(decisions.slice(-2).map(readsOf)).toEqual([['s@1'], ['s@6', 'b@5', 'a@4']])
})

test('what went since its owner was changed is what is made anew for, whatever status its owner got meanwhile', () => {
  const decisions = decided(
    ['audit'],
    ...[deployment, set].map(audited),
    audited({ ...set, version: 3, by: 'bob', verb: 'delete' }),
    audited({ ...deployment, version: 4, subresource: 'status', verb: 'update', status: { replicas: 1 } }),
    audited({ ...set, uid: 'new', version: 5 }),
  )
  expect(readsOf(decisions.at(-1))).toEqual(['d@4', 'r@3'])
})

test.each([
  ['statefulsets', 'statefulset-controller'],
  ['daemonsets', 'daemon-set-controller'],
  ['jobs', 'job-controller'],
  ['replicasets', 'replicaset-controller'],
])('a status of %s that no longer counts a Pod follows from its new labels', (resource, program) => {
  const by = `system:serviceaccount:kube-system:${program}`
  const owner = { kind: KINDS[resource] ?? '', name: 'web', uid: 's', controller: true }
  const counting: Told = { resource, uid: 's', version: 1, by: 'alice', verb: 'create' }
  const counts = (version: number, replicas: number): Told => ({
    ...{ ...counting, version, by, subresource: 'status', verb: 'update', status: { replicas } },
  })
  const labelled = { ...pod, version: 4, by: 'bob', verb: 'patch', metadata: { labels: { app: 'other' } } }
  const decisions = decided(
    ['audit'],
    ...[counting, { ...pod, owner, version: 2, by }, counts(3, 1), { ...labelled, owner }].map(audited),
    ...[{ ...labelled, version: 5, by }, counts(6, 0)].map(audited),
  )
  expect(readsOf(decisions.at(-1))).toContain('p@5')
})

test('a slice goes with its Service, also where another Service has got its name meanwhile', () => {
  const service: Told = { resource: 'services', uid: 'v', version: 1, by: 'alice', verb: 'create' }
  const slice: Told = {
    ...{ resource: 'endpointslices', name: 'web-1', uid: 'e', version: 2, verb: 'create' },
    by: 'system:serviceaccount:kube-system:endpointslice-controller',
    owner: { kind: 'Service', name: 'web', uid: 'v', controller: true },
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
  }
  const decisions = decided(
    ['audit'],
    ...[service, slice, { ...service, version: 3, by: 'bob', verb: 'delete' }].map(audited),
    ...[
      { ...service, uid: 'new', version: 4 },
      { ...slice, version: 5, verb: 'delete' },
    ].map(audited),
  )
  expect(readsOf(decisions.at(-1))).toContain('v@3')
})

test('a deletion whose version an audit log does not tell is known by the lowest that it can have made', () => {
  const decisions = decided(
    ['audit'],
    ...[deployment, set, { ...pod, version: 3 }].map(audited),
    audited({ ...deployment, version: 4, by: 'bob', verb: 'delete' }),
    audited({
      ...set,
      version: 5,
      by: 'system:serviceaccount:kube-system:generic-garbage-collector',
      verb: 'delete',
    }),
  )
  expect(decisions.slice(-2).map(({ version }) => version)).toEqual([4n, 4n])
  expect(readsOf(decisions.at(-1))).toContain('d@4')
  expect(decisions.at(-1)?.cpid).not.toBe(decisions.at(0)?.cpid)
})

test('what had a name before went before another is made of that name, though its end is told later', () => {
  const anew: Told = { ...set, uid: 'new', version: 5 }
  const end: MissingObject = {
    ...{ source: 'list', version: 6n, seenNs: at(3_000) },
    object: { apiVersion: 'v1', resource: 'replicasets', namespace: 'shop', name: 'web-1', uid: 'r' },
  }
  const decisions = decided(
    ['audit', 'watch'],
    ...[deployment, set].flatMap((told) => [audited(told), watched(told)]),
    audited({ ...set, version: 3, by: 'bob', verb: 'delete' }),
    audited(anew),
    watched(anew),
    end,
  )
  expect(decisions.map(({ write, part }) => `${part} ${write.object.uid}`)).toEqual([
    'creation d',
    'creation r',
    'deletion r',
    'creation new',
  ])
  expect(decisions.at(-1)?.includes).toContain(decisions.at(-2)?.cpid)
})

test('what a list shows of an owner for the first time was there before what it owns', () => {
  const [made, replicaSet, owned] = decided(
    ['watch'],
    watched(deployment),
    watched(pod),
    listed({ ...set, version: 9 }, 60),
  )
  expect([made, replicaSet, owned].map((one) => one?.write.object.uid)).toEqual(['d', 'r', 'p'])
  expect(readsOf(owned)).toEqual(['r@9'])
  expect(owned?.cpid).toBe(made?.cpid)
})

test('what a list shows is the work of several writes, and exact of none', () => {
  const template = { template: { spec: { image: 'one' } } }
  const one = { ...deployment, spec: template }
  const other = { ...deployment, version: 2, spec: { template: { spec: { image: 'two' } } } }
  const decisions = decided(
    ['watch'],
    watched(one),
    watched(other),
    listed({ ...set, version: 4, spec: template }, 60),
  )
  expect(decisions.at(-1)).toMatchObject({ gap: true, cause: 'inferred' })
  expect(decisions.at(-1)?.reads).toMatchObject([{ known: { version: 1n }, exact: true }])
})

test('of authors of one second that are all tools of people one wrote, though an autoscaler might have', () => {
  const time = '2026-01-01T00:00:00Z'
  const managedFields = ['kubectl-create', 'kubectl-edit'].map((manager) => ({
    manager,
    operation: 'Update',
    time,
  }))
  const scaler: Told = { resource: 'horizontalpodautoscalers', uid: 'h', version: 2 }
  const object = {
    ...objectOf(scaler),
    ...{ kind: 'HorizontalPodAutoscaler', spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' } } },
  }
  const scaled = (version: number, replicas: number): Observation =>
    watched({ ...deployment, version, spec: { replicas }, metadata: { managedFields, generation: version } })
  const decisions = decided(
    ['watch'],
    scaled(1, 1),
    known(readWatchEvent({ type: 'ADDED', object }, at(20), 'horizontalpodautoscalers')),
    scaled(3, 2),
  )
  expect(decisions.at(-1)).toMatchObject({ writer: { service: 'kubectl' }, cause: 'operator' })
})
