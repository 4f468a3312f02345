import { expect, test } from '@jest/globals'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { replay } from '../../lab/harness/inference/replay.ts'
import { last, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import { inferWriter } from '../../src/kube/inference/write-attribution.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { WritePart } from '../../src/kube/inference/write-part.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { ClusterWrite, Observation } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'

/** A program that Causeway does not know as one that people use. */
const PROGRAM = 'deployer/1.0'

function writerNamed(
  username: string,
  userAgent = PROGRAM,
  part: WritePart = 'authored',
  objects = new MemoryObjects(),
): { service: string; role: string } {
  const told = readAuditEvent({
    ...{ stage: 'ResponseComplete', verb: 'update', responseStatus: { code: 200 } },
    ...{ user: { username }, userAgent, stageTimestamp: '2026-01-01T00:00:00Z' },
    objectRef: { apiVersion: 'v1', resource: 'configmaps', namespace: 'shop', name: 'web' },
  })
  if (typeof told === 'string') throw new Error(told)
  const write: ClusterWrite = { ...told, listed: undefined }
  const settings = { operators: [], controllers: [] }
  return inferWriter(write, part, undefined, { objects, settings })
}

test.each([
  ['system:admin', 'operator', 'deployer'],
  ['kubernetes-admin', 'operator', 'deployer'],
  ['ann', 'operator', 'deployer'],
  ['system:administrator', 'controller', 'administrator'],
  ['system:kube-scheduler', 'controller', 'kube-scheduler'],
  ['system:node:one', 'controller', 'kubelet'],
  ['system:serviceaccount:shop:deployer', 'controller', 'deployer'],
])('%s is a %s', (user, role, service) => {
  expect(writerNamed(user)).toMatchObject({ role, service })
})

test.each([
  ['flux/v0.0.0', 'operator', 'flux'],
  ['helm/v3.22.0', 'operator', 'helm'],
  ['Helm/3.19.2', 'operator', 'helm'],
  ['helm-controller/v0.0.0', 'controller', 'releaser'],
  ['flux-operator/v0.0.0', 'controller', 'releaser'],
  ['kubectl-create/v1.36.3', 'operator', 'kubectl-create'],
])('whoever uses %s as a service account is a %s', (program, role, service) => {
  expect(writerNamed('system:serviceaccount:flux-system:releaser', program)).toMatchObject({ role, service })
})

test('helm is one service, however it writes its name', () => {
  expect(writerNamed('ann', 'Helm/3.19.2')).toMatchObject({ service: 'helm', role: 'operator' })
})

test('system:admin is shown by name where the program has none', () => {
  expect(writerNamed('system:admin', '')).toMatchObject({ service: 'system:admin', role: 'operator' })
})

test.each(['creation', 'deletion'] as const)(
  'an account may begin a %s unless it reconciles something',
  (part) => {
    const user = 'system:serviceaccount:shop:deployer'
    const objects = new MemoryObjects()
    expect(writerNamed(user, PROGRAM, part, objects).role).toBe('unknown')
    objects.notePrimary('deployer', 'shops')
    expect(writerNamed(user, PROGRAM, part, objects).role).toBe('controller')
    const ofKubernetes = 'system:serviceaccount:kube-system:job-controller'
    expect(writerNamed(ofKubernetes, PROGRAM, part).role).toBe('controller')
  },
)

test('an account that reconciles nothing begins a change with a deletion, unless something new asks for it', () => {
  const START_MS = Date.UTC(2026, 0, 1)
  const timeAt = (ms: number): string => new Date(START_MS + ms).toISOString()
  const seen = (
    kind: string,
    version: number,
    ms: number,
    meta: JsonObject,
    rest: JsonObject,
  ): Observation => {
    const metadata = { name: kind, namespace: 'shop', uid: kind, resourceVersion: `${version}`, ...meta }
    const apiVersion = kind === 'Pod' ? 'v1' : 'apps/v1'
    const object = { kind, apiVersion, metadata, ...rest }
    const read = readWatchEvent({ type: 'MODIFIED', object }, nanosOfMs(START_MS + ms))
    if (typeof read === 'string') throw new Error(read)
    return read
  }
  const set = { spec: { replicas: 1, template: {} } }
  const owned = {
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'ReplicaSet', uid: 'ReplicaSet', controller: true },
    ],
  }
  const request = readAuditEvent({
    ...{ stage: 'ResponseComplete', level: 'Metadata', verb: 'delete', responseStatus: { code: 200 } },
    ...{ user: { username: 'system:serviceaccount:ci:restarter' }, userAgent: PROGRAM, requestURI: '/' },
    objectRef: { apiVersion: 'v1', resource: 'pods', namespace: 'shop', name: 'Pod' },
    ...{ requestReceivedTimestamp: timeAt(499_990), stageTimestamp: timeAt(500_001) },
  })
  if (typeof request === 'string') throw new Error(request)
  const { decisions } = replay(
    [
      seen('ReplicaSet', 5, 0, { generation: 1 }, set),
      seen('Pod', 6, 100, owned, { spec: { nodeName: 'one' } }),
      seen('ReplicaSet', 7, 200, { generation: 1 }, { ...set, status: { replicas: 1 } }),
      seen(
        'Pod',
        8,
        500_000,
        { ...owned, deletionTimestamp: timeAt(530_000) },
        { spec: { nodeName: 'one' } },
      ),
      request,
    ],
    ['audit', 'watch'],
  )
  expect(decisions.at(-1)).toMatchObject({
    part: 'deletion',
    cause: 'operator',
    writer: { service: 'restarter' },
  })
})

test.each([
  ['Pod', 'ReplicaSet', 'replicaset-controller'],
  ['ReplicaSet', 'Deployment', 'deployment-controller'],
])('whoever takes the owner of a %s away, and no label, is a person', (kind, owner, controller) => {
  const of = (app: string, isOwned = true): Sketch => ({
    ...{ kind, name: 'web-1' },
    meta: { labels: { app }, ...(isOwned && ownedBy(owner, 'web')) },
  })
  const web: Sketch = { kind: owner, name: 'web' }
  expect(last(web, of('web'), of('web', false))).toEqual(['unknown', 'operator'])
  expect(last(web, of('web'), of('other'), of('other', false))).toEqual([controller, 'inferred'])
})
