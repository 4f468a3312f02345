import { expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { at, known, timeAt } from '../support/read-observation.ts'

const MS = 1_000_000n
const LINE = { windowNs: 500n * MS, whoWaitNs: 2_000n * MS, isWatched: true }

function pod(version: number, deletionGracePeriodSeconds: number): JsonObject {
  const metadata = { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(version) }
  const going = { deletionTimestamp: timeAt(0), deletionGracePeriodSeconds }
  return { kind: 'Pod', apiVersion: 'v1', metadata: { ...metadata, ...going } }
}

/** What a deletion is answered that finds the Pod gone in the end. */
function withoutVersion(): JsonObject {
  const { metadata, ...rest } = pod(0, 0)
  return { ...rest, metadata: { ...(metadata as JsonObject), resourceVersion: '' } }
}

function seen(type: string, version: number, ms: number, grace = 0): Observation {
  return known(readWatchEvent({ type, object: pod(version, grace) }, at(ms)))
}

function deleted(version: number | undefined, fromMs: number, toMs: number, username = 'kwok'): Observation {
  return known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb: 'delete', auditID: `id of ${version}`, requestURI: '/' },
      responseStatus: { code: 200 },
      user: { username },
      objectRef: { resource: 'pods', namespace: 'shop', name: 'web-1', apiVersion: 'v1' },
      requestObject: { kind: 'DeleteOptions', gracePeriodSeconds: 0 },
      responseObject: version === undefined ? withoutVersion() : pod(version, 0),
      ...{ requestReceivedTimestamp: timeAt(fromMs), stageTimestamp: timeAt(toMs) },
    }),
  )
}

/** Versions, and who made them, of what is due when a line was told of these. */
function due(nowMs: number, ...observations: Observation[]): [number, string][] {
  const line = new WriteQueue(LINE)
  for (const observation of observations) line.add(observation, at(10))
  return line
    .takeDue(at(nowMs))
    .map(({ version, request }) => [Number(version), request?.actor.user ?? 'nobody'])
}

test('a deletion at once makes two versions, and both are of its request', () => {
  const told = [seen('MODIFIED', 5, 4), seen('DELETED', 6, 6), deleted(6, 0, 7)]
  expect(due(600, ...told)).toEqual([
    [5, 'kwok'],
    [6, 'kwok'],
  ])
})

test('both versions of a deletion at once belong to the one change that it begins', () => {
  const line = new WriteQueue(LINE)
  const created = pod(4, 0)
  const { name, namespace, uid, resourceVersion } = created['metadata'] as Record<string, string>
  const alive = {
    ...created,
    metadata: { name: name!, namespace: namespace!, uid: uid!, resourceVersion: resourceVersion! },
  }
  line.add(known(readWatchEvent({ type: 'ADDED', object: alive }, at(0))), at(10))
  for (const told of [seen('MODIFIED', 5, 4), seen('DELETED', 6, 6), deleted(6, 2, 7, 'carol')])
    line.add(told, at(10))
  const [objects, changes] = [new MemoryObjects(), new MemoryChanges()]
  const settings = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
  const [, first, second] = line.takeDue(at(9_000)).map((write) => {
    const decision = decide(write, objects, changes, settings)
    if (decision?.sources !== undefined) changes.merge(decision.cpid, decision.sources)
    return decision
  })
  expect(first).toMatchObject({ cause: 'operator', writer: { user: 'carol' } })
  expect(second).toMatchObject({ cpid: first?.cpid, writer: { user: 'carol' } })
  expect(second?.completes).toBeUndefined()
})

test('a request at once did not make the version before, which leaves the Pod some time', () => {
  const told = [seen('MODIFIED', 5, 4, 30), seen('DELETED', 6, 6), deleted(6, 0, 7)]
  expect(due(600, ...told)).toEqual([])
  expect(due(2_010, ...told)).toEqual([
    [5, 'nobody'],
    [6, 'kwok'],
  ])
})

test('a request at once that made no version did not give the Pod the time that another gave it', () => {
  const told = [seen('MODIFIED', 5, 4, 1), seen('MODIFIED', 6, 5), seen('DELETED', 7, 6), deleted(7, 1, 9)]
  expect(due(2_010, deleted(undefined, 2, 9), ...told)).toEqual([
    [5, 'nobody'],
    [6, 'kwok'],
    [7, 'kwok'],
  ])
})

test('a request that began long after a version was seen did not make it', () => {
  const told = [seen('MODIFIED', 5, 4), seen('DELETED', 9, 1_030), deleted(9, 1_020, 1_031)]
  expect(due(600, ...told)).toEqual([])
  expect(due(2_010, ...told)).toEqual([
    [5, 'nobody'],
    [9, 'kwok'],
  ])
})

test('who deleted an object before is not who deletes the next of its name', () => {
  const line = new WriteQueue(LINE)
  line.add(deleted(6, 0, 7), at(10))
  line.add(seen('DELETED', 6, 6), at(10))
  line.takeDue(at(600))
  line.add(seen('MODIFIED', 5, 4), at(600))
  expect(line.takeDue(at(1_200))).toEqual([])
})
