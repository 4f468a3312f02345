import { expect, test } from '@jest/globals'
import { cpid, type MergelogSketch } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { exporterAt, liveCpids, pruneAll } from './stored.ts'

const SETTLED = 300_001
const OF_TRACES = [
  ...['traces', 'outbox', 'change_spans', 'trace_services', 'trace_actors', 'trace_writes'],
  ...['trace_namespaces', 'awaited_parents'],
]

const roots = (...ids: number[]): MergelogSketch[] => ids.map((id) => ({ new: cpid(id), time: id }))

/** CPID 1 is a tombstone, and CPIDs made of it are at work in its first episode. */
async function workOfTombstone(...made: number[]): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', roots(1, 2))
  writer.pass(SETTLED)
  expect(pruneAll(writer)).toBe(1)
  const time = 400_000
  for (const id of made)
    writer.mergelogs('controller', [{ new: cpid(id), sources: [cpid(1)], time: time + id }])
  for (const id of made) {
    const wrote = [`apps/v1/deployments/default/web-${id}?uid=u&rv=${id}`]
    writer.spans('controller', [
      {
        trace: id,
        id,
        parent: 1_000 + id,
        cpid: cpid(id),
        start: time + id,
        attributes: { 'cpid.wrote': wrote, 'cpid.cause': 'exact' },
      },
    ])
  }
  writer.link()
  return writer
}

test('an episode of a pruned root keeps its CPIDs while it is open, and while it is not sent', async () => {
  using writer = await workOfTombstone(20)
  exporterAt(writer)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([20])
  writer.pass(SETTLED)
  writer.mergelogs('kubectl', [{ new: cpid(30), time: 800_000 }])
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([20, 30])
  exporterAt(writer)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([30])
})

test('what an episode of a pruned root left goes with the last CPID in it', async () => {
  using writer = await workOfTombstone(20, 21)
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([21])
  expect(writer.rows('traces')).toBe(1)
  writer.mergelogs('kubectl', [{ new: cpid(40), time: 900_000 }])
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([40])
  const ofLast = {
    traces: 1,
    outbox: 2,
    change_spans: 1,
    trace_services: 0,
    trace_actors: 0,
    trace_writes: 0,
    trace_namespaces: 0,
    awaited_parents: 0,
  }
  expect(Object.fromEntries(OF_TRACES.map((table) => [table, writer.rows(table)]))).toEqual(ofLast)
})

test('the next episode of a pruned root is another one, when the one before is gone too', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 3_600_000 } })
  writer.mergelogs('kubectl', roots(1))
  for (const id of [20, 21, 22]) {
    writer.pass(4_000_000)
    expect(pruneAll(writer)).toBe(1)
    expect(writer.rows('traces')).toBe(0)
    const before = writer.writer.progress.lastDecision
    writer.mergelogs('controller', [{ new: cpid(id), sources: [cpid(1)], time: 4_000_000 * (id - 19) }])
    writer.link()
    const episode = writer.sent(before).find((span) => span.name === 'episode')
    expect(episode?.attributes['cpid.episode']).toBe(id - 19)
  }
})

test('however few tombstones may be, an open episode keeps that of its root and settles', async () => {
  using writer = await workOfTombstone(20)
  writer.mergelogs('kubectl', roots(3, 4, 5, 6))
  writer.pass(200_000)
  writer.spans('controller', [{ trace: 20, id: 22, cpid: cpid(20), start: 600_000 }])
  writer.pass(200_000)
  pruneAll(writer)
  expect(writer.writer.gauges().tombstones).toBe(1)
  writer.pass(SETTLED)
  const cascade = writer.sent().findLast((span) => span.name === 'cascade')
  expect(cascade?.attributes['cpid.id']).toBe(cpid(1))
  pruneAll(writer)
  pruneAll(writer)
  expect(writer.writer.gauges()).toMatchObject({ cpids: 1, tombstones: 1, openTraces: 0 })
})

test('a mergelog that is pruned by force before it was linked stops nothing, when its tombstone is gone too', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1, maxBytes: 1 } })
  writer.mergelogs('kubectl', roots(1, 2, 3, 4))
  expect(pruneAll(writer)).toBe(4)
  expect(writer.writer.gauges()).toMatchObject({ cpids: 0, tombstones: 1 })
  writer.spans('kubelet', [{ trace: 1, id: 11, name: 'after' }])
  writer.link()
  expect(writer.sent().map(({ name }) => name)).toEqual(['after'])
})

test('a parent that comes when its child is pruned is forwarded, and opens nothing for the child', async () => {
  using writer = await workOfTombstone(20, 21)
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([21])
  const before = writer.writer.progress.lastDecision
  writer.spans('kubelet', [{ trace: 20, id: 1_020, name: 'late parent' }])
  writer.link()
  const sent = writer.sent(before)
  expect(sent.map(({ name }) => name)).toEqual(['late parent'])
  expect(sent[0]?.attributes['cpid.original_trace_id']).toBeUndefined()
})

test('a CPID whose tombstone was forgotten begins anew', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', roots(1, 2, 3))
  writer.pass(SETTLED)
  expect(pruneAll(writer)).toBe(2)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1), start: 500_000 }])
  writer.pass(SETTLED)
  expect(liveCpids(writer)).toEqual([1, 3])
  const held = writer.rows('spans s JOIN cpids c ON c.id = s.cpid')
  expect(held).toBe(1)
})

test('what was written in an episode of several traces goes with the last of them, whichever goes first', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 }, linking: { maxTraceSpans: 4 } })
  writer.mergelogs('kubectl', roots(1, 2))
  writer.pass(SETTLED)
  expect(pruneAll(writer)).toBe(1)
  for (const id of [20, 21]) {
    writer.mergelogs('controller', [{ new: cpid(id), sources: [cpid(1)], time: 400_000 + id }])
    for (let at = 0; at < 6; at++) {
      const attributes = { 'cpid.wrote': [`v1/pods/default/web-${id}?rv=${at + 1}`] }
      writer.spans('controller', [
        { trace: id, id: 100 * id + at, cpid: cpid(id), start: 400_000 + id, attributes },
      ])
    }
    writer.link()
  }
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([21])
  const left = writer.rows('traces')
  expect(left).toBeGreaterThan(1)
  expect(writer.rows('trace_writes')).toBeGreaterThan(0)
  writer.mergelogs('kubectl', [{ new: cpid(40), time: 900_000 }])
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([40])
  expect(writer.rows('traces')).toBe(1)
  expect(writer.rows('trace_writes')).toBe(0)
})
