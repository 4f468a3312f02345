import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { cpid, type MergelogSketch, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const HOUR = 3_600_000
const FAR = { past: '1', future: String(2n ** 63n - 1n), overflow: String(2n ** 64n - 1n) }

/** A root's mergelog with a time as it stands on the wire. */
function rootAt(id: number, timeUnixNano: string): Buffer {
  const attributes = [{ key: 'cpid.new', value: { stringValue: cpid(id) } }]
  const logRecords = [{ timeUnixNano, eventName: 'cpid.mergelog', attributes }]
  const json = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(json))))
}

function live(writer: TestWriter): string[] {
  return writer.db
    .prepare<[], string>("SELECT cpid FROM audit_cpids WHERE state = 'live'")
    .pluck()
    .all()
    .sort()
}

function edges(writer: TestWriter): string[] {
  return writer.db
    .prepare<[], string>(
      'SELECT hex(a.uuid) || hex(b.uuid) FROM edges JOIN cpids a ON a.id = source JOIN cpids b ON b.id = target',
    )
    .pluck()
    .all()
    .sort()
}

test.each(Object.entries(FAR))(
  'a mergelog from the far %s outlives no age and takes no stranger along',
  async (_, time) => {
    using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR } })
    writer.ingest('logs', rootAt(1, time))
    writer.mergelogs('stranger', [{ new: cpid(2) }])
    writer.pass(HOUR / 2)
    writer.mergelogs('stranger', [{ new: cpid(3), time: HOUR / 2 }])
    writer.writer.prune(1000)
    expect(live(writer)).toEqual([cpid(1), cpid(2), cpid(3)])
    writer.pass(HOUR / 2 + 1)
    writer.writer.prune(1000)
    expect(live(writer)).toEqual([cpid(3)])
  },
)

test.each(['future', 'overflow'] as const)(
  'a mergelog from the far %s is no younger than its arrival',
  async (when) => {
    using writer = await TestWriter.open({ retention: { maxCpids: 2 } })
    writer.ingest('logs', rootAt(1, FAR[when]))
    writer.clock.advance(1000)
    writer.mergelogs('stranger', [{ new: cpid(2), time: 1000 }])
    writer.clock.advance(1000)
    writer.mergelogs('stranger', [{ new: cpid(3), time: 2000 }])
    writer.pass(301_000)
    writer.writer.prune(1000)
    expect(live(writer)).toEqual([cpid(2), cpid(3)])
  },
)

test('a time beyond what is stored is shown as the last one there is', async () => {
  using writer = await TestWriter.open()
  writer.ingest('logs', rootAt(1, FAR.overflow))
  expect(writer.db.prepare('SELECT time FROM audit_mergelogs').pluck().get()).toMatch(/^2262-04-11T/)
})

test.each<[string, MergelogSketch, string]>([
  ['the same CPID with other sources', { new: cpid(3), sources: [cpid(1)] }, 'different sources'],
  ['a root named as a merge', { new: cpid(1), sources: [cpid(9)] }, 'different sources'],
  ['a merge named as a root', { new: cpid(3), sources: [] }, 'different sources'],
  ['itself as a source', { new: cpid(5), sources: [cpid(5)] }, 'names itself'],
  ['no CPID as itself', { new: 'nonsense', sources: [cpid(1)] }, 'is not a UUID'],
  ['no CPID among its sources', { new: cpid(5), sources: [cpid(1), 'nonsense'] }, 'is not a UUID'],
  ['a cycle of two', { new: cpid(8), sources: [cpid(4)] }, 'close a cycle'],
  ['a cycle of many', { new: cpid(8), sources: [cpid(7)] }, 'close a cycle'],
])('%s is refused with a reason, and nothing else changes', async (_, mergelog, reason) => {
  using writer = await TestWriter.open()
  writer.mergelogs('honest', [
    { new: cpid(1) },
    { new: cpid(2) },
    { new: cpid(3), sources: [cpid(1), cpid(2)] },
    { new: cpid(4), sources: [cpid(8)] },
    { new: cpid(6), sources: [cpid(4)] },
    { new: cpid(7), sources: [cpid(6)] },
  ])
  const before = edges(writer)
  const outcome = writer.mergelogs('forger', [mergelog])
  expect(outcome).toMatchObject({ kind: 'accepted', rejected: 1, message: expect.stringContaining(reason) })
  expect(edges(writer)).toEqual(before)
})

test('the same root begun by two senders is one root, and the first is believed', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('honest', [{ new: cpid(1), object: 'v1/pods/default/web' }])
  writer.mergelogs('stranger', [{ new: cpid(1), object: 'v1/secrets/default/x', time: 5 }])
  expect(writer.db.prepare('SELECT service, object FROM audit_mergelogs').all()).toEqual([
    { service: 'honest', object: 'v1/pods/default/web' },
  ])
})

test('a pruned CPID that is named again comes back without its edges', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('honest', [
    { new: cpid(1) },
    { new: cpid(2), sources: [cpid(1)], time: 1 },
    { new: cpid(3), time: 2 },
  ])
  writer.pass(301_000)
  writer.writer.prune(1000)
  expect(live(writer)).toEqual([cpid(3)])
  expect(writer.mergelogs('forger', [{ new: cpid(1), sources: [cpid(3)], time: 400_000 }])).toMatchObject({
    rejected: 0,
  })
  expect(writer.mergelogs('forger', [{ new: cpid(2), sources: [cpid(1)], time: 400_000 }])).toMatchObject({
    rejected: 0,
  })
  expect(writer.mergelogs('forger', [{ new: cpid(3), sources: [cpid(2)] }])).toMatchObject({ rejected: 1 })
  writer.pass(301_000)
})

/** No CPID is left when those that nothing points to are taken away again and again. */
function expectAcyclic(writer: TestWriter): void {
  let left = writer.db
    .prepare<[], { source: number; target: number }>('SELECT source, target FROM edges')
    .all()
  for (;;) {
    const targets = new Set(left.map(({ target }) => target))
    const rest = left.filter(({ source }) => targets.has(source))
    if (rest.length === left.length) break
    left = rest
  }
  expect(left).toEqual([])
}

const aRequest = fc.record({
  asEvent: fc.boolean(),
  merges: fc.array(fc.tuple(fc.nat(7), fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 3 })), {
    minLength: 1,
    maxLength: 3,
  }),
})

test('however mergelogs race, the graph has no cycle, and each is an edge or a refusal', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(aRequest, { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
      async (commits) => {
        using writer = await TestWriter.open()
        let serial = 0
        for (const requests of commits) {
          const sketches = requests.map(({ merges }) =>
            merges.map(([at, sources]) => ({
              new: cpid(at + 1),
              sources: sources.map((id) => cpid(id + 1)),
              time: ++serial,
            })),
          )
          const { outcomes } = writer.writer.ingest(
            sketches.map((merges, at) =>
              requests[at]!.asEvent
                ? { signal: 'traces' as const, bytes: asEvents(merges, ++serial) }
                : { signal: 'logs' as const, bytes: mergelogsRequest('racer', merges) },
            ),
          )
          expect(outcomes.map(({ kind }) => kind)).toEqual(requests.map(() => 'accepted'))
        }
        expectAcyclic(writer)
        const count = (table: string): number => writer.rows(table)
        const stored = new Set(commits.flat().flatMap(({ merges }) => merges.map(([at]) => at)))
        expect(count('mergelogs')).toBeLessThanOrEqual(stored.size)
        for (const at of stored) {
          const known = writer.db
            .prepare(
              `SELECT EXISTS (SELECT 1 FROM audit_mergelogs WHERE cpid = @cpid)
               OR EXISTS (SELECT 1 FROM rejected_mergelogs WHERE cpid = @cpid)`,
            )
            .pluck()
          expect(known.get({ cpid: cpid(at + 1) })).toBe(1)
        }
      },
    ),
    { numRuns: 60 },
  )
})

function asEvents(merges: readonly MergelogSketch[], trace: number): Buffer {
  const events = merges.map(({ new: id, sources = [], time = 0 }) => ({
    timeUnixNano: String(time),
    name: 'cpid.mergelog',
    attributes: [
      { key: 'cpid.new', value: { stringValue: id } },
      {
        key: 'cpid.sources',
        value: { arrayValue: { values: sources.map((stringValue) => ({ stringValue })) } },
      },
    ],
  }))
  return spansRequest('racer', [{ trace, id: trace, events }])
}

test('a mergelog has at most max_sources', async () => {
  using writer = await TestWriter.open({ maxSources: 3 })
  const merge = (id: number, sources: number) => ({
    new: cpid(id),
    sources: Array.from({ length: sources }, (_, at) => cpid(at + 100)),
  })
  expect(writer.mergelogs('big', [merge(1, 3), merge(2, 4)])).toMatchObject({
    rejected: 1,
    message: expect.stringContaining('more than 3 sources'),
  })
})

test('a request that cannot be stored stops none of those it came with', async () => {
  using writer = await TestWriter.open()
  writer.db.exec(`CREATE TEMP TRIGGER poison BEFORE INSERT ON spans WHEN NEW.name = 'poison'
    BEGIN SELECT RAISE(ABORT, 'poison'); END`)
  const requests = ['good', 'poison', 'fine', 'well'].map((name, at) => ({
    signal: 'traces' as const,
    bytes: spansRequest(`of ${name}`, [{ trace: at + 1, id: at + 1, name, cpid: cpid(at + 1) }]),
  }))
  const { outcomes, counts } = writer.writer.ingest(requests)
  expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'failed', 'accepted', 'accepted'])
  expect(counts.spans).toBe(3)
  // Nothing is taken for stored that went with the commit that failed.
  expect(writer.db.prepare('SELECT service, cpid FROM audit_spans ORDER BY cpid').all()).toEqual([
    { service: 'of good', cpid: cpid(1) },
    { service: 'of fine', cpid: cpid(3) },
    { service: 'of well', cpid: cpid(4) },
  ])
})

test('sources are a set: how often one is named makes no difference to how many there are', async () => {
  using writer = await TestWriter.open({ maxSources: 3 })
  const [one, two, three, four] = [1, 2, 3, 4].map(cpid)
  const twice = Array.from({ length: 1_025 }, (_, at) => (at % 2 === 0 ? one : two) ?? '')
  expect(writer.mergelogs('a', [{ new: cpid(9), sources: twice }])).toMatchObject({ rejected: 0 })
  expect(writer.mergelogs('a', [{ new: cpid(9), sources: [cpid(2), cpid(1)], time: 1 }])).toMatchObject({
    rejected: 0,
  })
  expect(writer.db.prepare('SELECT source_count FROM audit_mergelogs').pluck().all()).toEqual([2])
  const many = [one, two, three, four].map((source) => source ?? '')
  expect(writer.mergelogs('a', [{ new: cpid(8), sources: many }])).toMatchObject({ rejected: 1 })
  expect(writer.db.prepare('SELECT reason FROM audit_rejected_mergelogs').pluck().all()).toEqual([
    'too_many_sources',
  ])
})
