import { expect, test } from '@jest/globals'
import { cpid, spansRequest, type MergelogSketch } from '../../support/otlp-requests.ts'
import { traceOf } from '../../support/sent-spans.ts'
import { TestWriter, type TestSettings } from '../../support/test-writer.ts'

/** Figure 7 of the paper; the mergelog of CPID n is n milliseconds old. */
const FIGURE_7: Record<number, number[]> = {
  1: [],
  2: [],
  3: [1, 2],
  4: [],
  5: [3, 4],
  6: [],
  7: [2, 4, 6],
  8: [],
}

async function figureSeven(settings: TestSettings): Promise<TestWriter> {
  const writer = await TestWriter.open(settings)
  const mergelogs = Object.entries(FIGURE_7).map(([id, sources]): MergelogSketch => ({
    new: cpid(Number(id)),
    sources: sources.map(cpid),
    time: Number(id),
  }))
  writer.mergelogs('paper', mergelogs)
  for (const id of Object.keys(FIGURE_7).map(Number)) {
    writer.spans('paper', [{ trace: id, id, cpid: cpid(id), name: `work of ${id}` }])
  }
  writer.pass(300_001)
  return writer
}

function live(writer: TestWriter): number[] {
  const cpids = writer.db
    .prepare<[], string>("SELECT cpid FROM audit_cpids WHERE state = 'live'")
    .pluck()
    .all()
  return cpids.map((id) => Number.parseInt(id.slice(-12), 16)).sort((a, b) => a - b)
}

// Worked by hand. Oldest candidate first: 1 goes alone (3 still has 2). 2 goes, and with it 3 (no edge left); 5 still
// has 4, 7 still has 4 and 6. 4 goes, and with it 5; 7 still has 6. 6 goes with 7. 8 is last.
test.each([
  [8, [1, 2, 3, 4, 5, 6, 7, 8]],
  [7, [2, 3, 4, 5, 6, 7, 8]],
  [6, [4, 5, 6, 7, 8]],
  [5, [4, 5, 6, 7, 8]],
  [4, [6, 7, 8]],
  [3, [6, 7, 8]],
  [2, [8]],
  [1, [8]],
])('Figure 7 pruned to at most %i CPIDs', async (maxCpids, left) => {
  using writer = await figureSeven({ retention: { maxCpids } })
  writer.writer.prune(1000)
  expect(live(writer)).toEqual(left)
})

test('what came while the clock was before 1970 is kept like all else', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 5 } })
  writer.clock.setWall(-86_400_000)
  writer.spans('early', [{ trace: 1, id: 1, cpid: cpid(1), name: 'work' }])
  writer.mergelogs('early', [{ new: cpid(2), sources: [] }])
  writer.pass(300_001)
  writer.writer.prune(1000)
  expect(live(writer)).toEqual([1, 2])
})

test('what belongs to a pruned CPID goes with it, and a tombstone stays', async () => {
  using writer = await figureSeven({ retention: { maxCpids: 5 } })
  const counts = writer.writer.prune(1000)
  expect(counts).toMatchObject({ cpids: 3, spans: 3, unsettled: 0, more: false })
  const names = writer.db.prepare<[], string>('SELECT name FROM spans ORDER BY id').pluck().all()
  expect(names).toEqual(['work of 4', 'work of 5', 'work of 6', 'work of 7', 'work of 8'])
  const tombstones = writer.db.prepare("SELECT count(*) AS n FROM audit_cpids WHERE state = 'pruned'").get()
  expect(tombstones).toEqual({ n: 3 })
  for (const table of ['mergelogs', 'edges', 'cpid_origins', 'traces', 'origin_traces']) {
    const { n } = writer.db.prepare<[], { n: number }>(`SELECT count(*) AS n FROM ${table}`).get() ?? {
      n: -1,
    }
    expect([table, n <= 5]).toEqual([table, true])
  }
  const left = writer.db
    .prepare('SELECT count(*) FROM change_spans WHERE cpid IN (SELECT id FROM cpids WHERE state = 1)')
    .pluck()
  expect(left.get()).toBe(0)
})

test('activity of a pruned root goes into its next episode', async () => {
  using writer = await figureSeven({ retention: { maxCpids: 5 } })
  writer.writer.prune(1000)
  const before = writer.writer.progress.lastDecision
  writer.spans('late', [{ trace: 50, id: 50, cpid: cpid(1), name: 'late work', start: 400_000 }])
  writer.link()
  const fresh = writer.sent(before)
  expect(fresh.map((span) => span.name)).toEqual(['episode', 'late work'])
  expect(fresh[0]?.attributes['cpid.episode']).toBe(1)
  expect(fresh[0]?.links[0]?.traceId).toBe(traceOf(cpid(1)))
})

test('a mergelog whose source is pruned is explained, and its activity goes into that root’s episode', async () => {
  using writer = await figureSeven({ retention: { maxCpids: 5 } })
  writer.writer.prune(1000)
  writer.mergelogs('late', [{ new: cpid(20), sources: [cpid(1)], time: 400_000 }])
  writer.link()
  const explained = writer.db.prepare('SELECT explained FROM audit_cpids WHERE cpid = ?').pluck()
  expect(explained.get(cpid(20))).toBe('yes')
  expect(writer.sent().at(-1)).toMatchObject({ name: 'merge' })
})

test('an open cascade stays, however small the limit', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
  writer.link()
  expect(writer.writer.prune(1000)).toMatchObject({ cpids: 0 })
  writer.pass(300_001)
  expect(writer.writer.prune(1000)).toMatchObject({ cpids: 1 })
})

test('what some exporter has not sent stays', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.keepExporters('traces', ['otlp_grpc/dead'])
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
  writer.pass(300_001)
  expect(writer.writer.prune(1000)).toMatchObject({ cpids: 0 })
  writer.exporterMoved('traces', 'otlp_grpc/dead')
  expect(writer.writer.prune(1000)).toMatchObject({ cpids: 1 })
})

test('age counts from the last activity in any trace of the root', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 3_600_000 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
  writer.pass(3_000_000)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  writer.pass(1_000_000)
  writer.writer.prune(1000)
  expect(live(writer)).toEqual([1])
  writer.pass(3_000_000)
  writer.writer.prune(1000)
  expect(live(writer)).toEqual([])
})

test('unattributed spans go with age', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 3_600_000 } })
  writer.spans('kubelet', [{ trace: 1, id: 11 }])
  writer.link()
  writer.writer.prune(1000)
  writer.pass(2_000_000)
  writer.spans('kubelet', [{ trace: 2, id: 21 }])
  writer.link()
  writer.writer.prune(1000)
  writer.pass(2_000_000)
  expect(writer.writer.prune(1000)).toMatchObject({ spans: 1 })
  expect(writer.rows('spans')).toBe(1)
})

test('bytes count pages in use; when settled cascades are not enough, open ones go and are counted', async () => {
  using writer = await TestWriter.open({ retention: { maxBytes: 1_500_000 } })
  const payload = 'x'.repeat(2_000)
  for (let id = 1; id <= 1_000; id++) {
    writer.mergelogs('kubectl', [{ new: cpid(id), time: id }])
    writer.spans('controller', [{ trace: id, id, cpid: cpid(id), attributes: { payload } }])
    if (id === 500) writer.pass(300_001)
  }
  writer.link()
  const counts = writer.writer.prune(10_000)
  expect(counts.unsettled).toBeGreaterThan(0)
  expect(counts.cpids).toBeGreaterThan(500)
  expect(writer.writer.gauges().usedBytes).toBeLessThanOrEqual(1_500_000)
  expect(live(writer).at(-1)).toBe(1_000)
})

test('tombstones are at most as many as CPIDs may be', async () => {
  using writer = await figureSeven({ retention: { maxCpids: 2 } })
  writer.writer.prune(1000)
  expect(writer.writer.gauges()).toMatchObject({ cpids: 1, tombstones: 2 })
  writer.spans('late', [{ trace: 60, id: 60, cpid: cpid(1) }])
  writer.link()
  expect(live(writer)).toEqual([1, 8])
})

test('a request repeated after a lost reply stores nothing twice', async () => {
  using writer = await TestWriter.open()
  const request = spansRequest('kubectl', [{ trace: 1, id: 11, cpid: cpid(1) }])
  expect(writer.ingest('traces', request)).toEqual({ kind: 'accepted', stored: 1, rejected: 0, message: '' })
  expect(writer.ingest('traces', request)).toEqual({ kind: 'accepted', stored: 0, rejected: 0, message: '' })
  expect(writer.rows('spans')).toBe(1)
})

test('CPIDs and tombstones are counted without looking at them', async () => {
  using writer = await figureSeven({ retention: { maxCpids: 6 } })
  const counted = (): unknown => {
    const { cpids, tombstones } = writer.writer.gauges()
    const rows = writer.db
      .prepare(
        'SELECT coalesce(sum(state = 0), 0) AS cpids, coalesce(sum(state = 1), 0) AS tombstones FROM cpids',
      )
      .get()
    expect({ cpids, tombstones }).toEqual(rows)
    return rows
  }
  expect(counted()).toEqual({ cpids: 8, tombstones: 0 })
  writer.writer.prune(1000)
  expect(counted()).toEqual({ cpids: 5, tombstones: 3 })
  writer.rollBack(() => writer.db.exec('DELETE FROM cpids'))
  expect(counted()).toEqual({ cpids: 5, tombstones: 3 })
  writer.spans('paper', [{ trace: 20, id: 20, cpid: cpid(1) }])
  writer.mergelogs('paper', [{ new: cpid(2), time: 20 }])
  expect(counted()).toEqual({ cpids: 7, tombstones: 1 })
  using fewer = await figureSeven({ retention: { maxCpids: 2 } })
  fewer.writer.prune(1000)
  expect(fewer.writer.gauges()).toMatchObject({ cpids: 1, tombstones: 2 })
})
