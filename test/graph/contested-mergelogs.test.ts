import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Sender } from '../../src/model/otlp-requests.ts'
import { loadText, SMALLEST } from '../config/load-text.ts'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { type TestSettings, TestWriter } from '../support/test-writer.ts'

const sender: Sender = { username: 'anybody' }
const RULES = "{ rules: [{ match: { username: '*' }, merge_from: { clusters: ['*'], services: ['*'] } }] }"

async function opened(rules = RULES, settings: TestSettings = {}): Promise<TestWriter> {
  const { cpid: connector } = loadText(SMALLEST.replace('cpid: }', `cpid: { senders: ${rules} } }`)).config
  return TestWriter.open({ ...settings, senders: connector.senders! })
}

interface Who {
  service: string
  cluster: string
}
const OWNER: Who = { service: 'deployment-controller', cluster: 'eu' }
const NEIGHBOUR: Who = { service: 'kubelet', cluster: 'eu' }
const THIEF: Who = { service: 'thief', cluster: 'us' }

let number = 0
function span(writer: TestWriter, { service, cluster }: Who, of: number): void {
  number++
  const request = spansRequest(service, [{ trace: number, id: number, cpid: cpid(of) }], cluster)
  expect(writer.ingest('traces', request, sender)).toMatchObject({ stored: 1 })
}

function mergelog(
  writer: TestWriter,
  { service, cluster }: Who,
  of: number,
  sources: number[] = [],
): boolean {
  const request = mergelogsRequest(service, [{ new: cpid(of), sources: sources.map(cpid) }], cluster)
  const outcome = writer.ingest('logs', request, sender)
  return outcome.kind === 'accepted' && outcome.rejected === 0
}

const rows = ({ db }: TestWriter, select: string) => db.prepare(select).all()
const owners = (writer: TestWriter) => rows(writer, 'SELECT service FROM audit_mergelogs ORDER BY cpid')
const edges = (writer: TestWriter) =>
  rows(writer, 'SELECT source, cpid FROM audit_edges ORDER BY source, cpid')

test('a CPID belongs to the sender whose span carried it first: its mergelog takes the place of a thief’s', async () => {
  using writer = await opened()
  mergelog(writer, OWNER, 1)
  mergelog(writer, THIEF, 7)
  span(writer, OWNER, 2)
  expect(mergelog(writer, THIEF, 2, [7])).toBe(true)
  expect(mergelog(writer, OWNER, 2, [1])).toBe(true)
  expect(edges(writer)).toEqual([{ source: cpid(1), cpid: cpid(2) }])
  expect(
    rows(
      writer,
      'SELECT service, sender, kept_service, sources, kept_sources FROM audit_contested_mergelogs',
    ),
  ).toEqual([
    {
      service: 'thief',
      sender: null,
      kept_service: 'deployment-controller',
      sources: JSON.stringify([cpid(7)]),
      kept_sources: JSON.stringify([cpid(1)]),
    },
  ])
  // And it stays the owner's.
  expect(mergelog(writer, THIEF, 2, [7, 8])).toBe(false)
  expect(
    rows(writer, 'SELECT reason, sender FROM audit_contested_mergelogs ORDER BY arrived, reason'),
  ).toEqual([
    { reason: 'contested', sender: null },
    { reason: 'different_sources', sender: 'anybody' },
  ])
  writer.pass(1_000_000)
  span(writer, OWNER, 2)
  writer.pass(1_000_000)
  const roots = 'SELECT c.roots, (SELECT id FROM cpids WHERE text = ?) AS root FROM cpids c WHERE c.text = ?'
  const { roots: list, root } = writer.db.prepare(roots).get(cpid(1), cpid(2)) as {
    roots: string
    root: number
  }
  expect(JSON.parse(list)).toEqual([root])
})

test('the owner’s mergelog takes the place of an identical one of a thief, so that only the owner may merge the change', async () => {
  using writer = await opened()
  span(writer, OWNER, 2)
  mergelog(writer, THIEF, 2)
  expect(mergelog(writer, OWNER, 2)).toBe(true)
  expect(owners(writer)).toEqual([{ service: 'deployment-controller' }])
  expect(mergelog(writer, OWNER, 2)).toBe(true)
  expect(rows(writer, 'SELECT reason FROM audit_rejected_mergelogs')).toEqual([{ reason: 'contested' }])
})

test('somebody of the same cluster has a better claim than somebody of another', async () => {
  using writer = await opened()
  span(writer, NEIGHBOUR, 2)
  mergelog(writer, THIEF, 2, [7])
  expect(mergelog(writer, OWNER, 2, [1])).toBe(true)
  expect(owners(writer)).toEqual([{ service: 'deployment-controller' }])
  const explained = (): unknown =>
    writer.db.prepare('SELECT explained FROM cpids WHERE text = ?').pluck().get(cpid(2))
  expect(explained()).toBe(0)
  mergelog(writer, OWNER, 1)
  expect(explained()).toBe(1)
})

test('nobody claims what has its mergelog already', async () => {
  using writer = await opened()
  mergelog(writer, OWNER, 2, [1])
  span(writer, THIEF, 2)
  expect(mergelog(writer, THIEF, 2, [7])).toBe(false)
  expect(owners(writer)).toEqual([{ service: 'deployment-controller' }])
})

test('a mergelog with a better claim that closes a cycle is refused, and changes nothing', async () => {
  using writer = await opened()
  span(writer, OWNER, 2)
  mergelog(writer, THIEF, 2, [7])
  mergelog(writer, NEIGHBOUR, 3, [2])
  expect(mergelog(writer, OWNER, 2, [3])).toBe(false)
  expect(owners(writer)).toEqual([{ service: 'thief' }, { service: 'kubelet' }])
  expect(edges(writer)).toHaveLength(2)
})

/** As if Causeway had worked out the mergelog of a CPID. */
function workedOut(writer: TestWriter, of: number): void {
  writer.db
    .prepare('UPDATE mergelogs SET worked_out = 1 WHERE cpid = (SELECT id FROM cpids WHERE text = ?)')
    .run(cpid(of))
}

test('a worked-out mergelog gives way only to senders of its own cluster', async () => {
  using writer = await opened()
  span(writer, OWNER, 2)
  mergelog(writer, NEIGHBOUR, 2, [7])
  workedOut(writer, 2)
  expect(mergelog(writer, THIEF, 2, [8])).toBe(false)
  expect(mergelog(writer, NEIGHBOUR, 2, [1])).toBe(true)
  workedOut(writer, 2)
  expect(mergelog(writer, OWNER, 2, [3])).toBe(true)
  expect(edges(writer)).toEqual([{ source: cpid(3), cpid: cpid(2) }])
  expect(rows(writer, 'SELECT reason FROM audit_rejected_mergelogs')).toEqual([
    { reason: 'different_sources' },
  ])
})

test('without a policy the first mergelog stays, whoever sent it', async () => {
  using writer = await TestWriter.open({})
  span(writer, OWNER, 2)
  mergelog(writer, THIEF, 2, [7])
  expect(mergelog(writer, OWNER, 2, [1])).toBe(false)
  expect(rows(writer, 'SELECT count(*) AS n FROM cpids WHERE claim IS NOT NULL')).toEqual([{ n: 0 }])
})

test('whatever takes the place of what, the graph is that of the mergelogs that stand', async () => {
  const who = fc.constantFrom(OWNER, NEIGHBOUR, THIEF)
  const of = fc.integer({ min: 1, max: 8 })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('span' as const), who, of }),
    fc.record({ kind: fc.constant('mergelog' as const), who, of, sources: fc.array(of, { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('work out' as const), of }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      using writer = await opened()
      for (const one of steps) {
        if (one.kind === 'span') span(writer, one.who, one.of)
        else if (one.kind === 'work out') workedOut(writer, one.of)
        else mergelog(writer, one.who, one.of, one.sources)
        writer.pass(1)
      }
      const stored = rows(writer, 'SELECT m.cpid AS target, hex(m.sources) AS sources FROM mergelogs m') as {
        target: number
        sources: string
      }[]
      const named = stored.flatMap(({ target, sources }) =>
        (sources.match(/.{32}/g) ?? []).map((hex) => `${hex} ${target}`),
      )
      const kept = rows(
        writer,
        'SELECT hex(c.uuid) AS hex, e.target FROM edges e JOIN cpids c ON c.id = e.source',
      ) as {
        hex: string
        target: number
      }[]
      expect(kept.map(({ hex, target }) => `${hex} ${target}`).sort()).toEqual(named.sort())
      const wrong = `SELECT id FROM cpids c WHERE in_degree <> (SELECT count(*) FROM edges WHERE target = c.id)
        OR has_mergelog <> (SELECT count(*) FROM mergelogs WHERE cpid = c.id)
        OR unexplained_sources <> (SELECT count(*) FROM edges e JOIN cpids s ON s.id = e.source WHERE e.target = c.id AND s.explained = 0)`
      expect(rows(writer, wrong)).toEqual([])
      const upward = `WITH RECURSIVE above (start, id) AS (SELECT target, source FROM edges
        UNION SELECT a.start, e.source FROM above a JOIN edges e ON e.target = a.id) SELECT * FROM above WHERE start = id`
      expect(rows(writer, upward)).toEqual([])
    }),
    { numRuns: 40 },
  )
})

describe('which changes its spans may join', () => {
  const policy = `{ rules: [{ match: { username: trusted } }, { match: { username: alice }, clusters: [eu], join: own }] }`
  const alice: Sender = { username: 'alice' }
  const trusted: Sender = { username: 'trusted' }
  const carrying = (cluster: string) => spansRequest('a', [{ trace: 2, id: 2, cpid: cpid(9) }], cluster)

  test('with join: own, spans may join changes whose mergelog came from their own cluster', async () => {
    using writer = await opened(policy)
    writer.ingest('logs', mergelogsRequest('kubectl', [{ new: cpid(9) }], 'us'), trusted)
    expect(writer.ingest('traces', carrying('eu'), alice)).toMatchObject({
      stored: 0,
      rejected: 1,
      message:
        'alice of cluster "eu" may send no spans of changes of another cluster; see join of connectors::cpid::senders',
    })
    expect(writer.ingest('traces', carrying('eu'), trusted)).toMatchObject({ stored: 1 })
  })

  test('with join: own, spans may join changes whose first span came from their own cluster, and unknown changes', async () => {
    using writer = await opened(policy)
    expect(writer.ingest('traces', carrying('us'), trusted)).toMatchObject({ stored: 1 })
    expect(writer.ingest('traces', carrying('eu'), alice)).toMatchObject({ stored: 0, rejected: 1 })
    expect(
      writer.ingest('traces', spansRequest('a', [{ trace: 3, id: 3, cpid: cpid(8) }], 'eu'), alice),
    ).toMatchObject({
      stored: 1,
    })
    writer.ingest('logs', mergelogsRequest('kubectl', [{ new: cpid(8) }], 'eu'), trusted)
    expect(
      writer.ingest('traces', spansRequest('b', [{ trace: 4, id: 4, cpid: cpid(8) }], 'eu'), alice),
    ).toMatchObject({
      stored: 1,
    })
    expect(writer.rows('spans')).toBe(3)
  })
})

test.each(['cascade', 'links'] as const)(
  'in mode %s a mergelog in place of another sends no span id into a trace again',
  async (mode) => {
    using writer = await opened(RULES, { linking: { mode } })
    mergelog(writer, OWNER, 1)
    span(writer, OWNER, 1)
    writer.pass(400_000)
    mergelog(writer, OWNER, 5)
    span(writer, OWNER, 5)
    writer.pass(100)
    span(writer, OWNER, 2)
    expect(mergelog(writer, THIEF, 2, [1, 5])).toBe(true)
    writer.pass(11_000)
    expect(mergelog(writer, OWNER, 2, [1, 5])).toBe(true)
    writer.pass(11_000)
    const ids = writer.sent().map(({ traceId, spanId }) => `${traceId} ${spanId}`)
    expect(writer.sent().filter(({ name }) => name === 'merged into').length).toBeGreaterThan(0)
    expect(new Set(ids).size).toBe(ids.length)
  },
)
