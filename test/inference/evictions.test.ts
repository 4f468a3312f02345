import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readAdmissionReview, readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { rfc3339 } from '../../src/model/time-and-size.ts'
import { known } from '../support/read-observation.ts'

const NOW = 1_767_225_600_000_000_000n
const SETTINGS = { windowNs: 10n, whoWaitNs: 100n, isWatched: true }
const MARKED = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] }
const GOING = { deletionTimestamp: rfc3339(NOW) }

function seen(version: number, metadata: object = {}, status: object = {}): Observation {
  const whole = { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(version), ...metadata }
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: whole, status }
  return known(readWatchEvent({ type: 'MODIFIED', object } as unknown as JsonObject, NOW + BigInt(version)))
}

/** The API server marks a Pod that somebody evicts, and then deletes it, both for one request. */
const versions = [seen(1), seen(2, {}, MARKED), seen(3, GOING, MARKED)]

const evictedBy = (username: string, userAgent: string, atNs = 0n): Observation =>
  known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb: 'create', auditID: 'a1', requestURI: '/' },
      responseStatus: { code: 201 },
      user: { username },
      userAgent,
      objectRef: {
        ...{ resource: 'pods', apiVersion: 'v1', namespace: 'shop', name: 'web-1' },
        subresource: 'eviction',
      },
      responseObject: { kind: 'Status' },
      ...{ requestReceivedTimestamp: rfc3339(NOW + atNs), stageTimestamp: rfc3339(NOW + atNs + 5n) },
    }),
  )
const audited = evictedBy('bob', 'kubectl/v1.36.3')

const admitted = known(
  readAdmissionReview(
    {
      request: {
        ...{ resource: { group: '', version: 'v1', resource: 'pods' }, subResource: 'eviction' },
        ...{ operation: 'CREATE', namespace: 'shop', name: 'web-1', userInfo: { username: 'bob' } },
        object: { kind: 'Eviction', metadata: { name: 'web-1' } },
      },
    },
    { seenNs: NOW, traceparent: '' },
  ),
)

function whoOf(settings: object, ...observations: Observation[]): [number, string][] {
  const line = new WriteQueue({ ...SETTINGS, ...settings })
  for (const observation of observations) line.add(observation, NOW)
  return line
    .takeDue(NOW + 1_000n)
    .map(({ version, request }) => [Number(version), request?.actor.user ?? 'nobody'])
}

test('an eviction makes two versions, and both are of its request; what comes later is not', () => {
  const later = seen(4, GOING, { ...MARKED, phase: 'Failed' })
  const expected = [
    [1, 'nobody'],
    [2, 'bob'],
    [3, 'bob'],
    [4, 'nobody'],
  ]
  expect(whoOf({}, audited, ...versions, later)).toEqual(expected)
  expect(whoOf({ isAudited: false }, admitted, ...versions, later)).toEqual(expected)
})

test('a Pod that was marked and not deleted, or is written by others then, has its mark of the eviction alone', () => {
  const later = seen(3, {}, { ...MARKED, phase: 'Running' })
  const expected = [
    [1, 'nobody'],
    [2, 'bob'],
    [3, 'nobody'],
  ]
  expect(whoOf({}, audited, ...versions.slice(0, 2), later).slice(0, 3)).toEqual(expected)
  expect(whoOf({ isAudited: false }, admitted, ...versions.slice(0, 2), later)).toEqual(expected)
})

test.each([
  { sources: ['audit', 'watch'] as const, by: 'kubectl' },
  { sources: ['watch'] as const, by: 'unknown' },
])('an eviction begins one change with the mark ($sources)', ({ sources, by }) => {
  const told = by === 'unknown' ? versions : [audited, ...versions]
  const { decisions } = replay(told, sources)
  const [, mark, deletion] = decisions
  expect(decisions.map(({ part }) => part)).toEqual(['creation', 'deletion', 'deletion'])
  expect(mark).toMatchObject({ cause: 'operator', sources: [], writer: { service: by } })
  expect(deletion).toMatchObject({ cause: 'inferred', sources: undefined, writer: { service: by } })
  expect(deletion?.cpid).toBe(mark?.cpid)
  expect(deletion?.reads.map(({ known }) => known.version)).toEqual([2n])
})

const TAINTED = { taints: [{ key: 'old', effect: 'NoSchedule' }] }
const CORDONED = { unschedulable: true }

/**
 * What is decided of a node, a Pod of a ReplicaSet on it, what somebody does to both, and the eviction of the Pod, which an audit log alone does
 * not show marked.
 */
function evictedFrom(
  node: readonly object[],
  by?: Observation,
  isMarkSeen = true,
): { cause: string | undefined; reads: string[] } {
  const managedFields = [{ manager: 'kubectl', operation: 'Update', time: rfc3339(NOW), fieldsV1: {} }]
  const told = (
    version: number,
    kind: string,
    name: string,
    spec: object,
    more: object = {},
  ): Observation => {
    const namespace = kind === 'Node' ? '' : 'shop'
    const metadata = { name, namespace, uid: name, resourceVersion: String(version), managedFields, ...more }
    const object = { kind, apiVersion: kind === 'ReplicaSet' ? 'apps/v1' : 'v1', metadata, spec }
    return known(readWatchEvent({ type: 'MODIFIED', object } as unknown as JsonObject, NOW + BigInt(version)))
  }
  const ownerReferences = [{ kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true }]
  const pod = { spec: { nodeName: 'n1' }, name: 'web-1', uid: 'u1', ownerReferences }
  const marked = known(
    readWatchEvent(
      {
        type: 'MODIFIED',
        object: {
          ...{ kind: 'Pod', apiVersion: 'v1', spec: pod.spec, status: MARKED },
          metadata: {
            ...{ name: 'web-1', namespace: 'shop', uid: 'u1', ownerReferences, managedFields },
            resourceVersion: '30',
          },
        },
      },
      NOW + 30n,
    ),
  )
  const observations = [
    told(1, 'Node', 'n1', {}),
    told(2, 'ReplicaSet', 'web', { replicas: 1 }, { generation: 1 }),
    told(3, 'Pod', 'web-1', pod.spec, { uid: 'u1', ownerReferences }),
    ...node.map((spec, at) => told(10 + at, 'Node', 'n1', spec)),
    told(20, 'ReplicaSet', 'web', { replicas: 2 }, { generation: 2 }),
    ...(by === undefined ? [] : [by]),
    ...(isMarkSeen ? [marked] : []),
  ]
  const sources = [
    ...(by === undefined ? [] : (['audit'] as const)),
    ...(isMarkSeen ? (['watch'] as const) : []),
  ]
  const { decisions } = replay(observations, sources)
  const decision = decisions.find(({ write, part }) => write.object.uid === 'u1' && part === 'deletion')
  const reads = decision?.reads.filter(({ isPassive }) => isPassive !== true) ?? []
  return {
    cause: decision?.cause,
    reads: reads.map(({ identity, known }) => `${identity.name}@${known.version}`),
  }
}

test('a program evicts a Pod for what closed its node, and a person drains what is cordoned', () => {
  const account = evictedBy('system:serviceaccount:ops:mover', 'mover/v1')
  const forNode = { cause: 'inferred', reads: ['n1@10'] }
  expect(evictedFrom([TAINTED])).toEqual(forNode)
  expect(evictedFrom([TAINTED], account)).toEqual(forNode)
  expect(evictedFrom([CORDONED], account)).toEqual(forNode)
  const accountLater = evictedBy('system:serviceaccount:ops:mover', 'mover/v1', 25n)
  expect(evictedFrom([CORDONED], accountLater, false)).toEqual(forNode)
  const byPerson = { cause: 'operator', reads: [] }
  expect(evictedFrom([CORDONED])).toEqual(byPerson)
  expect(evictedFrom([CORDONED], audited)).toEqual(byPerson)
  expect(evictedFrom([])).toEqual(byPerson)
  expect(evictedFrom([TAINTED, {}])).toEqual(byPerson)
  expect(evictedFrom([CORDONED], evictedBy('bob', 'kubectl/v1.36.3', 25n), false)).toEqual(byPerson)
})
