import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { at, known, timeAt } from '../support/read-observation.ts'

const made = (kind: string, name: string, version: number, ms: number): Observation =>
  known(
    readWatchEvent(
      {
        type: 'ADDED',
        object: {
          kind,
          apiVersion: 'v1',
          metadata: { name, namespace: 'shop', uid: `uid of ${name}`, resourceVersion: String(version) },
          spec: {},
        },
      },
      at(ms),
    ),
  )

/** Audit at level Metadata does not say which name an object got. */
const creation = (user: string, auditID: string, ms: number): Observation => {
  const time = timeAt(ms)
  return known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb: 'create', auditID, requestURI: '/api/v1/namespaces/shop/pods' },
      ...{ responseStatus: { code: 201 }, user: { username: user } },
      objectRef: { apiVersion: 'v1', resource: 'pods', namespace: 'shop' },
      ...{ requestReceivedTimestamp: time, stageTimestamp: time },
    }),
  )
}

/** Who is said to have created these Pods, whose versions wait behind one that was seen long after them. */
function saidOf(pods: readonly { user: string; afterMs: number }[]): unknown[] {
  const queue = new WriteQueue({
    windowNs: nanosOfMs(500),
    whoWaitNs: nanosOfMs(2_000),
    isWatched: true,
  })
  let ms = 0
  for (const [number, { user, afterMs }] of pods.entries()) {
    ms += afterMs
    queue.add(creation(user, `id-${number}`, ms), at(ms))
    queue.add(made('Pod', `p-${number}`, number + 2, ms), at(ms))
  }
  queue.add(made('Secret', 'late', 1, ms + 15_000), at(ms + 15_000))
  const due = queue.takeDue(at(ms + 60_000))
  expect(queue.size).toBe(0)
  return due.filter(({ object }) => object.name !== 'late').map(({ request }) => request?.actor.user)
}

const pods = (
  users: fc.Arbitrary<string>,
  afterMs: number,
): fc.Arbitrary<{ user: string; afterMs: number }[]> =>
  fc.array(fc.record({ user: users, afterMs: fc.nat(afterMs) }), { maxLength: 12 })

test('objects with generated names that one user created are its own, though their versions wait', () => {
  fc.assert(
    fc.property(pods(fc.constant('a'), 3_000), (created) => {
      expect(saidOf(created)).toEqual(created.map(({ user }) => user))
    }),
  )
})

test('of what several users created with generated names, nothing is said to be made by the wrong one', () => {
  fc.assert(
    fc.property(pods(fc.constantFrom('a', 'b', 'c'), 3_000), (created) => {
      for (const [number, user] of saidOf(created).entries())
        expect([undefined, created[number]?.user]).toContain(user)
    }),
  )
})
