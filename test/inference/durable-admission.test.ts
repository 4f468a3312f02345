import { expect, test } from '@jest/globals'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAdmissionReview, readWatchEvent } from '../../src/kube/objects/observations.ts'
import { type Observation, serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { migratedMemory } from '../support/migrated-memory.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'

const START_MS = Date.UTC(2026, 0, 1)
const SEEN = { seenNs: nanosOfMs(START_MS), traceparent: '' }
const pod: JsonObject = {
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '6' },
}
const oldObject = { ...pod, metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '5' } }

function read(one: Observation | string): Observation {
  if (typeof one === 'string') throw new Error(one)
  return one
}

const admitted = read(
  readAdmissionReview(
    {
      request: {
        ...{ operation: 'UPDATE', name: 'web', namespace: 'shop', object: pod, oldObject },
        resource: { group: '', version: 'v1', resource: 'pods' },
        userInfo: { username: 'alice' },
      },
    },
    SEEN,
  ),
)
const seen = read(readWatchEvent({ type: 'MODIFIED', object: pod }, SEEN.seenNs))

/** A cluster of which nothing but admission and a watch tells. */
async function started(): Promise<TestWriter> {
  const db = await migratedMemory()
  const inference = {
    ...{ relations: RELATIONS, operators: [], controllers: [], windowMs: 500, whoWaitMs: 2_000 },
    clusters: { test: { versions: true, requests: false, admissions: true } },
  }
  const writer = TestWriter.on(db, { inference }, new TestClock(START_MS))
  while (writer.writer.inference.infer(50));
  return writer
}

const tell = ({ writer }: TestWriter, told: readonly Observation[]): unknown =>
  writer.inference.record([{ cluster: 'test', stream: 'all', body: serializeObservations(told) }])

test('a request that makes no write is kept no longer than it may be asked for', async () => {
  const writer = await started()
  expect(tell(writer, [admitted])).toEqual([{ kind: 'stored' }])
  writer.clock.advance(4_400)
  while (writer.writer.inference.infer(50));
  expect(writer.rows('k8s_tellings')).toBe(1)
  writer.clock.advance(200)
  while (writer.writer.inference.infer(50));
  expect(writer.rows('k8s_tellings')).toBe(0)
})

test('requests that make no write are counted once, whatever else waits; those that make one are not', async () => {
  const writer = await started()
  const unmatched = (): number[] =>
    writer.writer.inference
      .takeCounts()
      .decided.flatMap((one) => (one.unmatched === 0 ? [] : [one.unmatched]))
  tell(writer, [admitted, seen])
  writer.clock.advance(1_000)
  tell(writer, [admitted, admitted])
  writer.clock.advance(3_400)
  while (writer.writer.inference.infer(50));
  expect(unmatched()).toEqual([])
  tell(writer, [admitted])
  writer.clock.advance(1_200)
  while (writer.writer.inference.infer(50));
  expect(unmatched()).toEqual([2])
  expect(unmatched()).toEqual([])
})

test('where admission has told who wrote, a write is decided after the window, for that user', async () => {
  const writer = await started()
  tell(writer, [admitted, seen])
  writer.clock.advance(501)
  while (writer.writer.inference.infer(50));
  const { decided } = writer.writer.inference.takeCounts()
  expect(decided).toMatchObject([{ operator: 1 }])
  expect(writer.rows('k8s_tellings')).toBe(0)
})

test('where it has not, the write waits for that as long as it would for audit', async () => {
  const writer = await started()
  tell(writer, [seen])
  writer.clock.advance(1_999)
  while (writer.writer.inference.infer(50));
  expect(writer.writer.inference.takeCounts().decided).toEqual([])
  writer.clock.advance(2)
  while (writer.writer.inference.infer(50));
  expect(writer.writer.inference.takeCounts().decided).toHaveLength(1)
})
