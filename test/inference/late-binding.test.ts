import { expect, test } from '@jest/globals'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { at, known, timeAt } from '../support/read-observation.ts'

const MS = 1_000_000n
const LINE = { windowNs: 500n * MS, whoWaitNs: 2_000n * MS, isWatched: true }

function seen(version: number, ms: number, metadata: JsonObject, status: JsonObject): Observation {
  const named = { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(version) }
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { ...named, ...metadata },
    spec: { nodeName: 'n1' },
    status,
  }
  return known(readWatchEvent({ type: 'MODIFIED', object: pod }, at(ms)))
}

const BINDING = known(
  readAuditEvent({
    ...{ stage: 'ResponseComplete', verb: 'create', auditID: 'binding', requestURI: '/' },
    ...{ responseStatus: { code: 201 }, user: { username: 'system:kube-scheduler' } },
    objectRef: {
      resource: 'pods',
      subresource: 'binding',
      namespace: 'shop',
      name: 'web-1',
      apiVersion: 'v1',
    },
    responseObject: { kind: 'Status', metadata: {} },
    ...{ requestReceivedTimestamp: timeAt(0), stageTimestamp: timeAt(1) },
  }),
)

/** Versions, and who made them, of what is due in the end. */
function told(...observations: Observation[]): [number | undefined, string][] {
  const line = new WriteQueue(LINE)
  for (const observation of observations) line.add(observation, at(10))
  return line
    .takeDue(at(9_000))
    .map(({ version, request }) => [
      version === undefined ? undefined : Number(version),
      request?.actor.user ?? 'nobody',
    ])
}

const RUNS = { phase: 'Running', podIP: '10.0.0.1' }

test('a binding made the version in which the Pod has a node and nothing else yet', () => {
  expect(told(BINDING, seen(5, 2, {}, { phase: 'Pending' }), seen(6, 40, {}, RUNS))).toEqual([
    [5, 'system:kube-scheduler'],
    [6, 'nobody'],
  ])
})

test('a binding whose version nobody saw is a write by itself, and made no later version', () => {
  const goes = { deletionTimestamp: timeAt(50) }
  expect(told(BINDING, seen(6, 40, {}, RUNS), seen(7, 60, goes, { phase: 'Pending' }))).toEqual([
    [6, 'nobody'],
    [7, 'nobody'],
    [undefined, 'system:kube-scheduler'],
  ])
})
