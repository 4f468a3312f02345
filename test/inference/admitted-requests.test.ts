import { expect, test } from '@jest/globals'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readAdmissionReview, readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { ClusterWrite, Observation } from '../../src/model/kubernetes-observations.ts'
import { rfc3339 } from '../../src/model/time-and-size.ts'
import { known } from '../support/read-observation.ts'

const SETTINGS = { windowNs: 10n, whoWaitNs: 100n, isWatched: true }
const NOW = 1_767_225_600_000_000_000n
const PODS = { group: '', version: 'v1', resource: 'pods' }

const pod = (version: string, metadata: JsonObject = {}): JsonObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: version, ...metadata },
})
const going = { deletionTimestamp: rfc3339(NOW) }

const seen = (object: JsonObject, type = 'MODIFIED'): Observation =>
  known(readWatchEvent({ type, object }, NOW))

/** What admission tells of a request of a user, with a trace named after it. */
const admitted = (user: string, request: JsonObject): Observation =>
  known(
    readAdmissionReview(
      {
        request: {
          resource: PODS,
          namespace: 'shop',
          name: 'web-1',
          userInfo: { username: user },
          ...request,
        },
      },
      { seenNs: NOW, traceparent: `trace of ${user}` },
    ),
  )

const audited = (user: string, verb: string, more: JsonObject = {}): Observation =>
  known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb, auditID: user, responseStatus: { code: 200 }, requestURI: '/' },
      objectRef: { resource: 'pods', apiVersion: 'v1', namespace: 'shop', name: 'web-1', uid: 'u1' },
      user: { username: user },
      responseObject: { kind: 'Status' },
      requestReceivedTimestamp: rfc3339(NOW),
      stageTimestamp: rfc3339(NOW),
      ...more,
    }),
  )

function decided(
  observations: readonly Observation[],
  settings: object = {},
): { writes: ClusterWrite[]; line: WriteQueue } {
  const line = new WriteQueue({ ...SETTINGS, ...settings })
  for (const observation of observations) line.add(observation, NOW)
  return { writes: line.takeDue(NOW + 1_000n), line }
}

const whoOf = ({ writes }: { writes: readonly ClusterWrite[] }): unknown[] =>
  writes.map(({ request }) => [request?.actor.user, request?.traceparent])

test('of two who delete at the same time, the trace is of the one whom audit names', () => {
  const told = decided([
    admitted('bob', { operation: 'DELETE', oldObject: pod('5') }),
    admitted('alice', { operation: 'DELETE', oldObject: pod('5') }),
    audited('alice', 'delete'),
    seen(pod('6', going)),
  ])
  expect(whoOf(told)).toEqual([['alice', 'trace of alice']])
  expect(told.line.takeUnmatched()).toBe(1)
})

test('admission is told of the one whom a person impersonates, and the trace is of the same request', () => {
  const told = decided([
    admitted('dave', { operation: 'DELETE', oldObject: pod('5') }),
    audited('bob', 'delete', { impersonatedUser: { username: 'dave' } }),
    seen(pod('6', going)),
  ])
  expect(whoOf(told)).toEqual([['bob', 'trace of dave']])
  expect(told.line.takeUnmatched()).toBe(0)
})

test('of those who deleted, the version before tells who made which', () => {
  const told = decided([
    admitted('kubelet', { operation: 'DELETE', oldObject: pod('6', going) }),
    admitted('alice', { operation: 'DELETE', oldObject: pod('5') }),
    seen(pod('6', going)),
    seen(pod('9', going), 'DELETED'),
  ])
  expect(whoOf(told)).toEqual([
    ['alice', 'trace of alice'],
    ['kubelet', 'trace of kubelet'],
  ])
})

test('who was refused made nothing: neither by another content, nor of a name that is there', () => {
  const labelled = (user: string, version: string): JsonObject => pod(version, { labels: { user } })
  const told = decided([
    admitted('mallory', { operation: 'UPDATE', object: labelled('mallory', '5'), oldObject: pod('5') }),
    admitted('mallory', { operation: 'CREATE', object: pod('', { uid: '' }) }),
    seen(labelled('alice', '6')),
  ])
  expect(whoOf(told)).toEqual([[undefined, undefined]])
  expect(told.line.takeUnmatched()).toBe(2)
})

test('a request alone is no write, and goes after a while', () => {
  const line = new WriteQueue(SETTINGS)
  line.add(admitted('alice', { operation: 'CREATE', object: pod('', { uid: '' }) }), NOW)
  expect([line.size, line.oldestNs]).toEqual([0, NOW])
  expect(line.takeDue(NOW + 209n)).toEqual([])
  expect(line.oldestNs).toBe(NOW)
  expect(line.takeDue(NOW + 210n)).toEqual([])
  expect([line.oldestNs, line.takeUnmatched()]).toEqual([undefined, 1])
})

test('however many are told, so many wait', () => {
  const line = new WriteQueue(SETTINGS)
  const one = admitted('alice', { operation: 'DELETE', oldObject: pod('5') })
  for (let at = 0; at < 20_010; at++) line.add(one, NOW)
  expect(line.takeUnmatched()).toBe(10)
})

test('where admission alone says who, nobody is waited for beyond the window', () => {
  const object = pod('6', { labels: { a: 'b' } })
  const told = [admitted('alice', { operation: 'UPDATE', object, oldObject: pod('5') }), seen(object)]
  for (const isAudited of [true, false]) {
    const line = new WriteQueue({ ...SETTINGS, isAudited })
    for (const observation of told) line.add(observation, NOW)
    expect(line.takeDue(NOW + 9n)).toHaveLength(0)
    expect(line.takeDue(NOW + 10n)).toHaveLength(isAudited ? 0 : 1)
    expect(line.takeDue(NOW + 100n)).toHaveLength(isAudited ? 1 : 0)
  }
})
