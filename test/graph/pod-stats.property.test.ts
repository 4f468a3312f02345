import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { MOST_POINTS, STEP_SECONDS, unpackSeries } from '../../src/store/sqlite/pod-points.ts'
import { cpid } from '../support/otlp-requests.ts'
import { metricsRequest } from '../support/pod-metrics.ts'
import { TestWriter } from '../support/test-writer.ts'

const MINUTE = 60_000
const BEFORE = 5 * MINUTE
const AFTER = 15 * MINUTE
const CPU = 'k8s.pod.cpu.usage'
const PODS = 4
const CLUSTERS = ['', 'here', 'there'] as const

/** One thing that happens, and how long after the one before. */
type Happening = { after: number } & (
  | { kind: 'measured'; pod: number; cluster: (typeof CLUSTERS)[number]; value: number }
  | { kind: 'written'; pod: number; root: number }
  | { kind: 'pruned' }
)

const after = fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: MINUTE, max: 8 * MINUTE }))
const pod = fc.integer({ min: 1, max: PODS })
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('measured' as const),
      ...{ after, pod },
      cluster: fc.constantFrom(...CLUSTERS),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('written' as const),
      ...{ after, pod },
      root: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pruned' as const), after }) },
)

interface Kept {
  root: string
  uid: string
  points: { seconds: number; value: number }[]
}

function kept({ db }: TestWriter): Kept[] {
  const rows = db
    .prepare<[], { root: string; uid: string; points: Buffer }>(
      `SELECT c.text AS root, p.uid, p.points FROM pod_series p JOIN traces t ON t.id = p.trace JOIN cpids c ON c.id = t.root`,
    )
    .all()
  return rows.map(({ root, uid, points }) => ({ root, uid, points: unpackSeries(points) }))
}

test('what was measured of a Pod stays with each cascade that wrote it, from some minutes before to some after, and goes with it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { minLength: 1, maxLength: 60 }), async (happenings) => {
      using writer = await TestWriter.open({ retention: { maxAgeMs: 2 * 60 * MINUTE } })
      const startMs = writer.clock.wallMs()
      const measured: { atMs: number; pod: number; cluster: string; value: number }[] = []
      const written: { atMs: number; pod: number; root: number }[] = []
      let span = 0
      for (const one of happenings) {
        writer.pass(one.after)
        const atMs = writer.clock.wallMs() - startMs
        if (one.kind === 'measured') {
          const { pod: of, cluster, value } = one
          measured.push({ atMs, pod: of, cluster, value })
          const metrics = { [CPU]: [[atMs, value]] } as const
          writer.ingest(
            'metrics',
            metricsRequest([{ uid: `pod-${of}`, metrics, ...(cluster !== '' && { cluster }) }]),
          )
        } else if (one.kind === 'written') {
          span++
          written.push({ atMs, pod: one.pod, root: one.root })
          writer.mergelogs('kubectl', [{ new: cpid(one.root), time: atMs }], 'here')
          const wrote = `v1/pods/default/web-${one.pod}?uid=pod-${one.pod}&rv=${span}`
          writer.spans(
            'controller',
            [
              {
                ...{ trace: span, id: span, cpid: cpid(one.root), start: atMs, end: atMs },
                attributes: { 'cpid.wrote': [wrote] },
              },
            ],
            'here',
          )
        } else while (writer.writer.prune(100, { isCalendarRight: true }).more);
      }
      writer.pass(11 * MINUTE)

      for (const { root, uid, points } of kept(writer)) {
        expect(points.length).toBeLessThanOrEqual(MOST_POINTS)
        const writes = written.filter((one) => cpid(one.root) === root && `pod-${one.pod}` === uid)
        const [first, last] = [Math.min, Math.max].map((of) => of(...writes.map(({ atMs }) => atMs)))
        for (const { seconds, value } of points) {
          const source = measured.find(
            (one) => Math.trunc((startMs + one.atMs) / 1_000) === seconds && one.value === value,
          )
          expect(source).toMatchObject({ pod: Number(uid.slice('pod-'.length)) })
          expect(source?.cluster).not.toBe('there')
          expect(seconds * 1_000).toBeGreaterThanOrEqual(startMs + first! - BEFORE)
          expect(seconds * 1_000).toBeLessThanOrEqual(startMs + last! + AFTER)
        }
        expect(new Set(points.map(({ seconds }) => Math.floor(seconds / STEP_SECONDS))).size).toBe(
          points.length,
        )
      }

      // Nothing is missing that was measured about when the Pod was written, or soon after, by a cascade that is there.
      // A change that goes on after it has settled has a second cascade.
      const there = new Map<string, Kept['points']>()
      for (const { root, uid, points } of kept(writer)) {
        const key = `${root} ${uid}`
        there.set(key, [...(there.get(key) ?? []), ...points])
      }
      const roots = new Set(
        writer.db
          .prepare<[], string>('SELECT c.text FROM traces t JOIN cpids c ON c.id = t.root')
          .pluck()
          .all(),
      )
      if (happenings.some(({ kind }) => kind === 'pruned')) return
      for (const { atMs, pod: of, cluster } of measured) {
        for (const write of written) {
          if (write.pod !== of || cluster === 'there' || !roots.has(cpid(write.root))) continue
          if (atMs < write.atMs - BEFORE + 1_000 || atMs > write.atMs + AFTER - 1_000) continue
          const step = Math.floor(Math.trunc((startMs + atMs) / 1_000) / STEP_SECONDS)
          const points = there.get(`${cpid(write.root)} pod-${of}`) ?? []
          expect(points.map(({ seconds }) => Math.floor(seconds / STEP_SECONDS))).toContain(step)
        }
      }
    }),
    { numRuns: 60 },
  )
})

test('points of years of a Pod leave no more than a fixed number, of all the time', async () => {
  using writer = await TestWriter.open()
  const startMs = writer.clock.wallMs()
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }])
  for (let turn = 1; turn <= 100; turn++) {
    const atMs = writer.clock.wallMs() - startMs
    const wrote = `v1/pods/default/web?uid=a&rv=${turn}`
    writer.spans('controller', [
      {
        ...{ trace: turn, id: turn, cpid: cpid(1), start: atMs, end: atMs },
        attributes: { 'cpid.wrote': [wrote] },
      },
    ])
    const points = Array.from({ length: 30 }, (_, at) => [atMs + at * 10_000, turn] as const)
    writer.ingest('metrics', metricsRequest([{ uid: 'a', metrics: { [CPU]: points } }]))
    writer.pass(5 * MINUTE)
  }
  writer.pass(11 * MINUTE)
  const all = kept(writer)
  expect(all.length).toBeGreaterThan(0)
  for (const { points } of all) {
    expect(points.length).toBeLessThanOrEqual(MOST_POINTS)
    expect(points.length).toBeGreaterThan(10)
  }
  expect(writer.rows('waiting_pod_points')).toBe(0)
})

test('points for which there is no room are counted', async () => {
  using writer = await TestWriter.open()
  const leftOutOf = (value: number): number => {
    const metrics = { [CPU]: [[0, value]] } as const
    const bytes = metricsRequest([{ uid: 'pod-1', metrics }])
    return writer.writer.ingest([{ signal: 'metrics', bytes }]).counts.podPointsLeftOut
  }
  expect(leftOutOf(1)).toBe(0)
  writer.db
    .prepare('INSERT INTO waiting_pod_points (arrived_ms, cluster, upto_bytes, points) VALUES (0, ?, ?, ?)')
    .run('', 65 * 2 ** 20, '{}')
  expect(leftOutOf(2)).toBe(1)
})

test('however many series and cascades the Pods of a request have, a turn of the store keeps points of a few', async () => {
  using writer = await TestWriter.open()
  const [cascades, pods, containers] = [16, 5, 60]
  for (let root = 1; root <= cascades; root++) {
    writer.mergelogs('kubectl', [{ new: cpid(root), time: 0 }])
    const wrote = Array.from(
      { length: pods },
      (_, at) => `v1/pods/default/web-${at}?uid=pod-${at}&rv=${root}`,
    )
    const attributes = { 'cpid.wrote': wrote }
    writer.spans('controller', [{ trace: root, id: root, cpid: cpid(root), start: 0, end: 0, attributes }])
  }
  const sketches = Array.from({ length: pods * containers }, (_, at) => ({
    uid: `pod-${at % pods}`,
    container: `container-${at}`,
    metrics: { 'container.cpu.usage': [[0, at]] } as const,
  }))
  writer.ingest('metrics', metricsRequest(sketches))
  writer.link()
  writer.clock.advance(11 * MINUTE)
  let before = 0
  let turns = 0
  while (writer.writer.reader.arePodPointsDue()) {
    writer.writer.decidePodPoints(() => false)
    turns++
    const now = writer.rows('pod_series')
    expect(now - before).toBeLessThan(4_000)
    before = now
  }
  expect(turns).toBeGreaterThan(1)
  expect(before).toBe(cascades * pods * containers)
})
