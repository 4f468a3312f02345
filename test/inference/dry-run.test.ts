import { expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readAuditEvents } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { at, timeAt } from '../support/read-observation.ts'

const MS = 1_000_000n

function seen(type: string, version: number, ms: number): Observation {
  const metadata = { name: 'settings', namespace: 'shop', uid: 'u1', resourceVersion: String(version) }
  const read = readWatchEvent({ type, object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } }, at(ms))
  if (typeof read === 'string') throw new Error(read)
  return read
}

/** As a policy without bodies tells of it. */
function deletion(ms: number): readonly Observation[] {
  const read = readAuditEvents({
    ...{ stage: 'ResponseComplete', level: 'Metadata', verb: 'delete', auditID: 'id', requestURI: '/' },
    ...{ responseStatus: { code: 200 }, user: { username: 'carol' } },
    objectRef: { resource: 'configmaps', namespace: 'shop', name: 'settings', apiVersion: 'v1' },
    ...{ requestReceivedTimestamp: timeAt(ms), stageTimestamp: timeAt(ms) },
  })
  return typeof read === 'string' ? [] : read
}

/** Who began a change with what, where the cluster is watched or not, or its watch is behind. */
function begun(
  watch: 'watched' | 'behind' | 'not watched',
  ...observations: readonly Observation[]
): string[] {
  const isWatched = watch !== 'not watched'
  const queue = new WriteQueue({ windowNs: 500n * MS, whoWaitNs: 2_000n * MS, isWatched })
  const [objects, changes] = [new MemoryObjects(), new MemoryChanges()]
  const settings = { cluster: 'prod', operators: ['carol'], controllers: [], relations: RELATIONS }
  for (const observation of observations) queue.add(observation, observation.seenNs)
  return queue
    .takeDue(at(60_000), 100, { windowNs: 500n * MS, isBehind: watch === 'behind' })
    .flatMap((write) => {
      const decision = decide(write, objects, changes, settings)
      return decision === undefined
        ? []
        : [`${decision.part} by ${decision.writer.user ?? decision.writer.service}`]
    })
}

const MADE = seen('ADDED', 5, 0)

test('a deletion that the watch does not show was only tried', () => {
  expect(begun('watched', MADE, ...deletion(5_000))).toEqual(['creation by unknown'])
})

test('a deletion that the watch shows is by whoever asked for it', () => {
  expect(begun('watched', MADE, ...deletion(5_000), seen('DELETED', 6, 5_010))).toEqual([
    'creation by unknown',
    'deletion by carol',
  ])
})

test('without a watch it is believed', () => {
  expect(begun('not watched', MADE, ...deletion(5_000))).toEqual(['creation by unknown', 'deletion by carol'])
})

test('while the watch is behind it is believed too: it may show the deletion later', () => {
  expect(begun('behind', MADE, ...deletion(5_000))).toEqual(['creation by unknown', 'deletion by carol'])
})
