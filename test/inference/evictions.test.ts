import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readAdmissionReview, readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { rfc3339 } from '../../src/model/time-and-size.ts'

const NOW = 1_767_225_600_000_000_000n
const SETTINGS = { windowNs: 10n, whoWaitNs: 100n, isWatched: true }
const MARKED = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] }
const GOING = { deletionTimestamp: rfc3339(NOW) }

function known(read: Observation | string): Observation {
  if (typeof read === 'string') throw new Error(read)
  return read
}

function seen(version: number, metadata: object = {}, status: object = {}): Observation {
  const whole = { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(version), ...metadata }
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: whole, status }
  return known(readWatchEvent({ type: 'MODIFIED', object } as unknown as JsonObject, NOW + BigInt(version)))
}

/** The API server marks a Pod that somebody evicts, and then deletes it, both for one request. */
const versions = [seen(1), seen(2, {}, MARKED), seen(3, GOING, MARKED)]

const audited = known(
  readAuditEvent({
    ...{ stage: 'ResponseComplete', verb: 'create', auditID: 'a1', requestURI: '/' },
    responseStatus: { code: 201 },
    user: { username: 'bob' },
    userAgent: 'kubectl/v1.36.3',
    objectRef: {
      ...{ resource: 'pods', apiVersion: 'v1', namespace: 'shop', name: 'web-1' },
      subresource: 'eviction',
    },
    responseObject: { kind: 'Status' },
    ...{ requestReceivedTimestamp: rfc3339(NOW), stageTimestamp: rfc3339(NOW + 5n) },
  }),
)

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
