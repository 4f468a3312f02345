import { expect, test } from '@jest/globals'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import { type Observation, serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { migratedMemory } from '../support/migrated-memory.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'

const START_MS = Date.UTC(2026, 0, 1)

/** A cluster of which nothing but a watch tells. */
async function started(): Promise<TestWriter> {
  const db = await migratedMemory()
  const inference = {
    ...{ relations: RELATIONS, operators: [], controllers: [], windowMs: 500, whoWaitMs: 2_000 },
    clusters: { test: { versions: true, requests: false, isFollowed: true } },
  }
  const writer = TestWriter.on(db, { inference }, new TestClock(START_MS))
  while (writer.writer.inference.infer(50));
  return writer
}

function version(number: number, padding = ''): Observation {
  const metadata = {
    ...{ name: `web-${number}${padding}`, namespace: 'shop', uid: `u${number}` },
    resourceVersion: String(number),
  }
  const object = { kind: 'Pod', apiVersion: 'v1', metadata }
  const read = readWatchEvent({ type: 'ADDED', object }, nanosOfMs(START_MS))
  if (typeof read === 'string') throw new Error(read)
  return read
}

const tell = ({ writer }: TestWriter, told: readonly Observation[]): unknown =>
  writer.inference.record([{ cluster: 'test', stream: 'pods', body: serializeObservations(told) }])

function decidedAfter(writer: TestWriter, ms: number): number {
  writer.clock.advance(ms)
  while (writer.writer.inference.infer(50));
  const { decided } = writer.writer.inference.takeCounts()
  return decided.reduce((sum, { operator, exact, inferred }) => sum + operator + exact + inferred, 0)
}

test('what was told before all streams have caught up is decided once they have', async () => {
  const writer = await started()
  tell(writer, [version(7)])
  expect(decidedAfter(writer, 2_000)).toBe(0)
  writer.writer.inference.setBehind('test', 'k8s_objects', true)
  writer.writer.inference.setBehind('test', 'k8s_objects/other', true)
  writer.writer.inference.setBehind('test', 'k8s_objects', false)
  expect(decidedAfter(writer, 2_000)).toBe(0)
  writer.writer.inference.setBehind('test', 'k8s_objects/other', false)
  // A watch may be answered, and then say that it must list.
  expect(decidedAfter(writer, 2_900)).toBe(0)
  expect(decidedAfter(writer, 200)).toBe(1)
})

test('a watch that begins anew is waited for again; others are not kept waiting for long', async () => {
  const writer = await started()
  writer.writer.inference.setBehind('test', 'k8s_objects', false)
  tell(writer, [version(7)])
  expect(decidedAfter(writer, 600)).toBe(1)
  writer.writer.inference.setBehind('test', 'k8s_objects', true)
  tell(writer, [version(8)])
  expect(decidedAfter(writer, 9_900)).toBe(0)
  expect(decidedAfter(writer, 200)).toBe(1)
  // Streams that stay away are no longer waited for.
  tell(writer, [version(9)])
  expect(decidedAfter(writer, 600)).toBe(1)
})

test('where nobody says how streams are, it is not waited for long either', async () => {
  const writer = await started()
  tell(writer, [version(7)])
  expect(decidedAfter(writer, 9_900)).toBe(0)
  expect(decidedAfter(writer, 200)).toBe(1)
})

test('once half of what may wait does, it is decided, so that there is room for what is to come', async () => {
  const writer = await started()
  const padding = 'x'.repeat(10_000)
  let number = 0
  const told = (): Observation[] => Array.from({ length: 100 }, () => version(++number, padding))
  for (let mebibytes = 0; mebibytes < 7; mebibytes++)
    expect(tell(writer, told())).toEqual([{ kind: 'stored' }])
  expect(decidedAfter(writer, 600)).toBe(0)
  for (let mebibytes = 0; mebibytes < 3; mebibytes++)
    expect(tell(writer, told())).toEqual([{ kind: 'stored' }])
  const decided = decidedAfter(writer, 600)
  expect(decided).toBeGreaterThan(100)
  expect(decided).toBeLessThan(1_000)
})
