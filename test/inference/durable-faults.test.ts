import { expect, test } from '@jest/globals'
import { recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import {
  type Observation,
  type ObservationBatch,
  serializeObservations,
} from '../../src/model/kubernetes-observations.ts'
import { NANOS_PER_MS } from '../../src/model/time-and-size.ts'
import type { PendingObservationBatch } from '../../src/store/inference-transactions.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'

const OBSERVED = recordedObservations(['watch']).filter(({ object }) => object.namespace === 'shop')
const START_MS = Number((OBSERVED[0]?.seenNs ?? 0n) / NANOS_PER_MS)

const telling = (
  observations: ObservationBatch['observations'],
  position = 'there',
): PendingObservationBatch => ({
  ...{ cluster: 'test', stream: 'watch', position },
  body: serializeObservations(observations),
})

async function opened(): Promise<TestWriter> {
  const writer = await TestWriter.open({}, ':memory:', new TestClock(START_MS))
  while (writer.writer.inference.infer(100));
  return writer
}

function decideAll({ writer, clock }: TestWriter): void {
  clock.advance(10_000)
  while (writer.inference.infer(100));
}

const decided = (writer: TestWriter): unknown[] =>
  writer.db
    .prepare(
      `SELECT o.object, w.version, c.text FROM span_objects w JOIN spans s ON s.id = w.span JOIN cpids c ON c.id = s.cpid
       JOIN objects o ON o.id = w.object WHERE w.role = 1 ORDER BY 1, 2`,
    )
    .raw()
    .all()

async function soundly(): Promise<unknown[]> {
  const writer = await opened()
  writer.writer.inference.record([telling(OBSERVED)])
  decideAll(writer)
  return decided(writer)
}

const SOUND = await soundly()

test('what cannot be stored is not acknowledged, nor is its place, and may be told again', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  writer.fillDisk()
  expect(() => inference.record([telling(OBSERVED)])).toThrow('full')
  writer.freeDisk()
  expect(inference.position('test', 'watch')).toBeUndefined()
  expect(inference.record([telling(OBSERVED)])).toEqual([{ kind: 'stored' }])
  expect(inference.position('test', 'watch')).toBe('there')
  decideAll(writer)
  expect(decided(writer)).toEqual(SOUND)
})

test('what cannot be decided because of the disk is decided once there is room, and the same', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  inference.record([telling(OBSERVED)])
  writer.clock.advance(10_000)
  inference.infer(50)
  writer.fillDisk()
  expect(() => {
    while (inference.infer(100));
  }).toThrow('full')
  writer.freeDisk()
  decideAll(writer)
  expect(decided(writer)).toEqual(SOUND)
  expect(writer.rows('k8s_tellings')).toBe(0)
  expect(inference.takeSetAside()).toEqual([])
})

test('a write that cannot be decided is set aside, told of, and stops no other', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  const [some] = OBSERVED.filter(({ object }) => object.resource === 'pods')
  if (some?.source !== 'watch') throw new Error('no Pod was recorded')
  const object = { ...some.object, uid: 'poisoned', name: 'poisoned' }
  const poisoned = {
    ...some,
    object,
    version: some.version + 1_000_000n,
    facts: {},
  } as unknown as Observation
  inference.record([telling([...OBSERVED, poisoned])])
  decideAll(writer)
  expect(decided(writer)).toEqual(SOUND)
  expect(inference.takeSetAside()).toMatchObject([
    { stage: 'inference', kind: 'watch of pods/shop/poisoned' },
    { stage: 'inference', kind: 'write of pods shop/poisoned' },
  ])
  expect(writer.rows("set_aside WHERE stage = 'inference'")).toBe(2)
  expect(writer.rows('k8s_tellings')).toBe(0)
})

test('what cannot be read, or not be compared with what others tell of it, is set aside once and told of, and stops no other', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  const [pod] = OBSERVED.filter(({ object }) => object.resource === 'pods')
  if (pod?.source !== 'watch') throw new Error('no Pod was recorded')
  const object = { ...pod.object, uid: 'poisoned', name: 'poisoned' }
  // It says nothing of itself, so that it cannot be told whether the deletion made it.
  const mute = { ...pod, object, version: pod.version + 1_000_000n, facts: undefined }
  const request = {
    actor: { user: 'ann', userAgent: '' },
    verb: 'delete',
    subresource: '',
    tellsVersion: false,
  }
  const deletion = {
    ...{ source: 'audit', object, version: undefined, facts: undefined, gone: false, seenNs: pod.seenNs },
    request: { ...request, startNs: pod.seenNs, endNs: pod.seenNs, auditId: 'a' },
  }
  const nameless = { ...pod, object: undefined, version: pod.version + 1_000_001n }
  inference.record([telling([...OBSERVED, mute, deletion, nameless] as unknown as Observation[])])
  decideAll(writer)
  decideAll(writer)
  const others = decided(writer).filter((row) => !String(row).includes('poisoned'))
  expect(others).toEqual(SOUND)
  expect(inference.takeSetAside()).toMatchObject([{ kind: 'watch' }, { kind: 'watch of pods/shop/poisoned' }])
  expect(writer.rows("set_aside WHERE stage = 'inference'")).toBe(2)
  expect(writer.rows('k8s_tellings')).toBe(0)
})

test('a row of the inbox that cannot be read is set aside at the next start, and the others are decided', async () => {
  const writer = await opened()
  writer.writer.inference.record([telling(OBSERVED)])
  writer.stores.transactor.run(({ inference }) => inference.addBatch('test', Buffer.from('no telling')))
  const again = writer.reopened()
  decideAll(again)
  decideAll(again)
  expect(decided(again)).toEqual(SOUND)
  expect(again.writer.inference.takeSetAside()).toMatchObject([{ stage: 'inference', kind: 'telling' }])
  expect(again.rows('k8s_tellings')).toBe(0)
})

test('more than may wait is refused for now, and taken once the rest is decided', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  const body = serializeObservations(OBSERVED)
  let told = 0
  while (inference.record([{ cluster: 'test', stream: 'watch', body }])[0]?.kind === 'stored') told++
  expect(told * body.length).toBeGreaterThan(16 * 1024 * 1024)
  expect(inference.record([{ cluster: 'other', stream: 'watch', body }])).toMatchObject([{ kind: 'busy' }])
  decideAll(writer)
  expect(inference.record([telling(OBSERVED)])).toEqual([{ kind: 'stored' }])
  expect(decided(writer)).toEqual(SOUND)
})

test('a worked out mergelog that cannot be recorded keeps no other from it', async () => {
  const writer = await opened()
  const { inference } = writer.writer
  const hold = (of: string, sources: unknown): unknown => {
    const told = {
      service: 's',
      cluster: 'test',
      object: 'v1/pods/shop/a',
      reason: 'worked out',
      timeNs: '1',
    }
    const request = Buffer.from(JSON.stringify({ cpid: of, sources, ...told }))
    const insert = 'INSERT INTO held_items (cpid, signal, request, due_ms) VALUES (?, 2, ?, 0)'
    return writer.db.prepare(insert).run(Buffer.alloc(16), request)
  }
  writer.spans('s', [
    { trace: 1, id: 1, cpid: cpid(1) },
    { trace: 1, id: 2, cpid: cpid(2) },
  ])
  hold(cpid(1), null)
  hold(cpid(2), [])
  while (inference.infer(100));
  expect(inference.takeSetAside()).toMatchObject([{ stage: 'inference', kind: 'worked out mergelog' }])
  expect(writer.db.prepare('SELECT cpid FROM audit_mergelogs').pluck().all()).toEqual([cpid(2)])
})
