import { expect, test } from '@jest/globals'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START_MS = Date.UTC(2026, 0, 1)
const nanos = (ms: number): bigint => BigInt(START_MS + ms) * 1_000_000n

const objectOf = (version: number): Record<string, unknown> => ({
  ...{ kind: 'Pod', apiVersion: 'v1' },
  metadata: {
    ...{ name: `web-${version}`, namespace: 'shop', uid: `u-${version}` },
    resourceVersion: String(version),
  },
})

function watched(version: number, ms: number): Observation {
  const read = readWatchEvent({ type: 'ADDED', object: objectOf(version) as never }, nanos(ms))
  if (typeof read === 'string') throw new Error(read)
  return read
}

function audited(version: number, ms: number): Observation {
  const time = new Date(START_MS + ms).toISOString()
  const read = readAuditEvent({
    ...{ stage: 'ResponseComplete', verb: 'create', auditID: `id-${version}`, requestURI: '/' },
    ...{ responseStatus: { code: 201 }, user: { username: 'alice' } },
    objectRef: { resource: 'pods', name: `web-${version}`, namespace: 'shop', apiVersion: 'v1' },
    responseObject: objectOf(version) as never,
    ...{ requestReceivedTimestamp: time, stageTimestamp: time },
  })
  if (typeof read === 'string') throw new Error(read)
  return read
}

/** The version of each write, and by when it had been made, in nanoseconds since a start. */
function given(...told: Observation[]): [bigint | undefined, bigint][] {
  const line = new WriteQueue({ windowNs: nanos(500) - nanos(0), whoWaitNs: 0n, isWatched: true })
  for (const observation of told) line.add(observation, observation.seenNs)
  return line.takeDue(nanos(10_000)).map(({ version, seenNs }) => [version, seenNs - nanos(0)])
}

const MS = 1_000_000n

test('a version had been made when one above it was seen, and before that one was', () => {
  expect(given(watched(7, 10), watched(9, 12), watched(6, 13), watched(8, 15))).toEqual([
    [6n, 10n * MS],
    [7n, 10n * MS + 1n],
    [8n, 12n * MS],
    [9n, 12n * MS + 1n],
  ])
})

test('what came after all below it was made when it was seen', () => {
  expect(given(watched(6, 10), watched(7, 11), watched(8, 30))).toEqual([
    [6n, 10n * MS],
    [7n, 11n * MS],
    [8n, 30n * MS],
  ])
})

test('the clock of an API server says nothing of when a watch told of others', () => {
  expect(given(audited(7, 2), watched(6, 13))).toEqual([
    [6n, 13n * MS],
    [7n, 2n * MS],
  ])
})

test('a clock that was set back is followed', () => {
  const line = new WriteQueue({ windowNs: 0n, whoWaitNs: 0n, isWatched: true })
  const seen = [watched(6, 5_000), watched(7, 4_000)].flatMap((one) => {
    line.add(one, one.seenNs)
    return line.takeDue(one.seenNs).map(({ seenNs }) => seenNs - nanos(0))
  })
  expect(seen).toEqual([5_000n * MS, 4_000n * MS])
})
