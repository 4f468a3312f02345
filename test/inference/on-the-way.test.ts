import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { inCausalOrder } from '../../src/kube/inference/cluster-inference.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { ClusterWrite, Observation } from '../../src/model/kubernetes-observations.ts'
import { at, known, timeAt } from '../support/read-observation.ts'

const MS = 1_000_000n
const LINE = { windowNs: 500n * MS, whoWaitNs: 2_000n * MS, isWatched: true }

const metadataOf = (name: string, uid: string, version: number): JsonObject => ({
  ...{ name, uid, resourceVersion: String(version) },
  ...(!name.includes('.') && { namespace: 'shop' }),
})

const ADDRESS = {
  kind: 'IPAddress',
  apiVersion: 'networking.k8s.io/v1',
  metadata: metadataOf('10.0.0.7', 'u1', 5),
  spec: { parentRef: { group: '', resource: 'services', namespace: 'shop', name: 'web' } },
}
const SERVICE = { kind: 'Service', apiVersion: 'v1', metadata: metadataOf('web', 'u2', 6), spec: {} }

const watched = (type: string, object: JsonObject, ms: number): Observation =>
  known(readWatchEvent({ type, object }, at(ms)))

function audited(
  user: string,
  verb: string,
  object: JsonObject,
  [from, to]: readonly [number, number],
): Observation {
  const { apiVersion, metadata } = object as { apiVersion: string; metadata: Record<string, string> }
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  const resource = { IPAddress: 'ipaddresses', Service: 'services', Pod: 'pods' }[object['kind'] as string]
  const { name = '', namespace, uid = '' } = metadata
  const answer = verb === 'delete' ? { kind: 'Status', metadata: {}, details: { name, uid } } : object
  return known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb, auditID: `${verb} ${uid}`, requestURI: '/' },
      ...{ responseStatus: { code: 201 }, user: { username: user }, responseObject: answer },
      objectRef: {
        ...{ resource: resource ?? '', name, apiGroup: group, apiVersion: version },
        ...(namespace !== undefined && { namespace }),
      },
      ...{ requestReceivedTimestamp: timeAt(from), stageTimestamp: timeAt(to) },
    }),
  )
}

test('what the API server writes on the way waits for the write that it was asked for', () => {
  const line = new WriteQueue(LINE)
  line.add(watched('ADDED', ADDRESS, 2), at(2))
  line.add(audited('system:apiserver', 'create', ADDRESS, [1, 2]), at(3))
  line.add(watched('ADDED', SERVICE, 4), at(4))
  // The request for the Service is not told of yet: nobody knows what the address is for.
  expect(line.takeDue(at(900))).toEqual([])
  line.add(audited('alice', 'create', SERVICE, [0, 4]), at(950))
  const writes = inCausalOrder(line.takeDue(at(960)), { get: () => undefined })
  expect(writes.map(({ object, within }) => [object.resource, within?.uid])).toEqual([
    ['services', undefined],
    ['ipaddresses', 'u2'],
  ])
})

test('it waits no longer than for who wrote', () => {
  const line = new WriteQueue(LINE)
  line.add(watched('ADDED', ADDRESS, 2), at(2))
  line.add(audited('system:apiserver', 'create', ADDRESS, [1, 2]), at(3))
  expect(line.takeDue(at(650))).toEqual([])
  expect(line.takeDue(at(703)).map(({ object }) => object.resource)).toEqual(['ipaddresses'])
})

const addressOf = (name: string, number: number, version: number): JsonObject => ({
  ...{ ...ADDRESS, metadata: metadataOf(`10.0.0.${number}`, `address ${number}`, version) },
  spec: { parentRef: { ...ADDRESS.spec.parentRef, name } },
})
const service = (name: string, version: number): JsonObject => ({
  ...{ ...SERVICE, metadata: metadataOf(name, `uid of ${name}`, version) },
})

test('what is written on the way is decided with what it is for, though something else on the way is between', () => {
  const audit = [
    audited('system:apiserver', 'create', addressOf('web', 7, 5), [1, 2]),
    audited('system:apiserver', 'create', addressOf('api', 8, 6), [12, 13]),
    audited('alice', 'create', service('web', 7), [0, 14]),
    audited('bob', 'create', service('api', 8), [11, 15]),
    // Nobody has told yet who wrote what comes behind.
    watched('ADDED', service('late', 9), 60),
  ]
  const watch = [
    watched('ADDED', addressOf('web', 7, 5), 3),
    watched('ADDED', addressOf('api', 8, 6), 50),
    watched('ADDED', service('web', 7), 51),
    watched('ADDED', service('api', 8), 52),
  ]
  const decided = (told: Observation[], whoWaitNs: bigint): [string, string | undefined][] => {
    const line = new WriteQueue({ ...LINE, whoWaitNs })
    for (const [at0, one] of told.entries()) line.add(one, at([3, 50, 51, 52, 60][at0] ?? 0))
    const taken = [710, 760].map((ms) => inCausalOrder(line.takeDue(at(ms)), { get: () => undefined }))
    return taken.flat().map(({ object, within }) => [object.name, within?.uid])
  }
  const expected = [
    ['web', undefined],
    ['10.0.0.7', 'uid of web'],
    ['api', undefined],
    ['10.0.0.8', 'uid of api'],
  ]
  expect(decided(audit, LINE.whoWaitNs)).toEqual(expected)
  expect(decided(watch, 0n)).toEqual(expected)
})

test('a quota that the API server wrote follows from what is created just after it and is counted', () => {
  const quotaBy = (version: number, manager: string): JsonObject => ({
    ...{ kind: 'ResourceQuota', apiVersion: 'v1', spec: { hard: { 'count/configmaps': '5' } } },
    metadata: {
      ...metadataOf('few', 'u9', version),
      managedFields: [{ manager, operation: 'Update', subresource: 'status', time: timeAt(0) }],
    },
  })
  const made = (kind: string, name: string, version: number): JsonObject => ({
    ...{ kind, apiVersion: 'v1', metadata: metadataOf(name, `uid of ${name}`, version), spec: {} },
  })
  const order = (manager: string): [string, string | undefined][] => {
    const line = new WriteQueue({ ...LINE, whoWaitNs: 0n })
    const told = [
      watched('ADDED', made('ConfigMap', 'old', 4), 1),
      watched('MODIFIED', quotaBy(5, manager), 2),
      watched('ADDED', made('Service', 'web', 6), 3),
      watched('MODIFIED', made('ConfigMap', 'old', 7), 3),
      watched('ADDED', made('ConfigMap', 'new', 8), 4),
    ]
    for (const one of told) line.add(one, at(5))
    const writes = inCausalOrder(line.takeDue(at(9_000)), { get: () => undefined })
    return writes.map(({ object, within }) => [object.name, within?.uid])
  }
  expect(order('kube-apiserver').at(-1)).toEqual(['few', 'uid of new'])
  expect(order('kube-controller-manager')[1]).toEqual(['few', undefined])
})

const PODS = ['web-1', 'web-2'] as const
/** The API server counts an eviction, evicts, and the budget's controller counts again. */
const STEPS = [...PODS.flatMap((pod) => [`count ${pod}`, `evict ${pod}`]), 'count again']

test('whatever is counted on the way and again, each object keeps the order of its versions', () => {
  const stepped = (step: string, index: number): JsonObject => {
    const [what, pod = ''] = step.split(' ')
    const version = index + 1
    const meta =
      what === 'evict' ? metadataOf(pod, `uid of ${pod}`, version) : metadataOf('few', 'u9', version)
    const disruptedPods = PODS.includes(pod as (typeof PODS)[number]) ? { [pod]: timeAt(version) } : {}
    return what === 'evict'
      ? {
          kind: 'Pod',
          apiVersion: 'v1',
          metadata: { ...meta, deletionTimestamp: timeAt(9) },
          spec: {},
          status: {},
        }
      : { kind: 'PodDisruptionBudget', apiVersion: 'policy/v1', metadata: meta, status: { disruptedPods } }
  }
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...STEPS), { maxLength: 12 }), (steps) => {
      const line = new WriteQueue({ ...LINE, whoWaitNs: 0n })
      steps.forEach((step, index) => line.add(watched('MODIFIED', stepped(step, index), index), at(index)))
      const ordered = inCausalOrder(line.takeDue(at(9_000)), { get: () => undefined })
      const versionsOf = (writes: readonly ClusterWrite[]) => writes.map(({ version }) => Number(version))
      const inOrder = (versions: readonly number[]) => versions.toSorted((one, other) => one - other)
      expect(inOrder(versionsOf(ordered))).toEqual(steps.map((_, index) => index + 1))
      for (const own of Map.groupBy(ordered, ({ object }) => object.uid).values())
        expect(versionsOf(own)).toEqual(inOrder(versionsOf(own)))
      for (const [place, { within }] of ordered.entries())
        if (within !== undefined)
          expect(ordered.slice(0, place).map(({ version }) => version)).toContain(within.version)
    }),
  )
})

test('of what has one name after the other each deletion is one write', () => {
  const line = new WriteQueue(LINE)
  const pod = (uid: string, version: number): JsonObject => ({
    ...{ kind: 'Pod', apiVersion: 'v1', metadata: metadataOf('web-1', uid, version), spec: {}, status: {} },
  })
  for (const [at0, uid] of [
    [0, 'a'],
    [20, 'b'],
    [40, 'c'],
  ] as const) {
    line.add(audited('somebody', 'create', pod(uid, at0 + 1), [at0, at0 + 1]), at(at0 + 2))
    line.add(watched('ADDED', pod(uid, at0 + 1), at0 + 2), at(at0 + 2))
    line.add(audited('collector', 'delete', pod(uid, 0), [at0 + 10, at0 + 11]), at(at0 + 12))
    line.add(watched('DELETED', pod(uid, at0 + 10), at0 + 12), at(at0 + 12))
  }
  expect(
    line
      .takeDue(at(5_000))
      .map(({ version, object, request }) => [Number(version), object.uid, request?.actor.user]),
  ).toEqual([
    [1, 'a', 'somebody'],
    [10, 'a', 'collector'],
    [21, 'b', 'somebody'],
    [30, 'b', 'collector'],
    [41, 'c', 'somebody'],
    [50, 'c', 'collector'],
  ])
})
