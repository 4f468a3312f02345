import { afterAll, expect, test } from '@jest/globals'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import { type Observation, serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'
import { TestWriter } from '../support/test-writer.ts'
import { MINUTE, NOTED, PRUNE_EVERY_MS, Turns } from './support/turns.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-turns-'))
const path = (name: string): string => join(folder, `${name}.db`)

afterAll(() => rmSync(folder, { recursive: true }))

const YEAR = 365 * 24 * 60 * MINUTE

test.each([
  [YEAR, '8760 h'],
  [18 * MINUTE, '18 min'],
  [89 * MINUTE, '89 min'],
  [120 * MINUTE, '2 h'],
])('a leap of the clock by %i ms is told of, with what to do', async (ms, text) => {
  using turns = await Turns.begun(path(`leap-${ms}`), { retention: { maxAgeMs: YEAR } })
  turns.timers.pass(PRUNE_EVERY_MS)
  turns.store.clock.setWall(turns.store.clock.wallMs() + ms)
  turns.timers.pass(PRUNE_EVERY_MS)
  expect(turns.said('clockLeapt')).toEqual([
    {
      kind: 'clockLeapt',
      reason: expect.stringMatching(new RegExp(`went forward by about ${text};.*set it right`)),
    },
  ])
})

test('into a damaged database nothing more is written, and senders are asked to come again', async () => {
  using turns = await Turns.begun(path('damaged'))
  turns.send(1)
  turns.timers.pass(MINUTE)
  expect(turns.said('ingested')).toMatchObject([{ outcomes: [{ id: 1, outcome: { kind: 'accepted' } }] }])
  turns.health.noteFailure(Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' }))
  const changes = (): unknown => turns.store.db.prepare('SELECT total_changes()').pluck().get()
  const before = changes()
  turns.send(2)
  turns.moved('otlp/a', 1)
  turns.timers.pass(MINUTE)
  expect(turns.said('ingested')).toMatchObject([
    {
      outcomes: [{ outcome: { kind: 'failed', reason: expect.stringContaining('the database is damaged') } }],
    },
  ])
  expect(changes()).toBe(before)
})

test('what cannot be sent is kept as far as its table goes, however long it cannot be noted', async () => {
  using turns = await Turns.begun(path('many'))
  turns.store.refuseWrites()
  for (let at = 0; at < 60; at++)
    turns.turns.setAside(Array.from({ length: 50 }, (_, more) => ({ ...NOTED, item: at * 50 + more })))
  turns.store.allowWrites()
  const changes = (): number => Number(turns.store.db.prepare('SELECT total_changes()').pluck().get())
  const before = changes()
  turns.timers.pass(1_000)
  expect(changes() - before).toBeLessThan(1_500)
  const noted = turns.store.db.prepare('SELECT count(*) AS count, max(item) AS last FROM set_aside').get()
  expect(noted).toEqual({ count: 1_000, last: 2_999 })
})

test('what another process leaves to be linked is linked, though nobody sends', async () => {
  using turns = await Turns.begun(path('elsewhere'))
  turns.send(1)
  turns.timers.pass(1_000)
  const { linkLag } = turns.store.writer
  expect(linkLag).toBe(0)
  using other = await TestWriter.open({}, path('elsewhere'))
  other.db.exec('UPDATE progress SET linked_arrival = 0')
  turns.turns.setAside([NOTED])
  expect(turns.store.writer.linkLag).toBeGreaterThan(0)
  turns.timers.pass(1_000)
  expect(turns.store.writer.linkLag).toBe(0)
})

test.each([
  [false, [3_000]],
  [true, [500, 500, 500, 500, 500, 500]],
])(
  '3,000 spans are linked in as few commits as they may be while somebody waits: %p',
  async (waits, commits) => {
    using turns = await Turns.begun(path(`commits-${waits}`))
    turns.isAwaited = waits
    turns.send(
      1,
      Array.from({ length: 3_000 }, (_, at) => ({ trace: 1, id: at + 1 })),
    )
    turns.timers.pass(1_000)
    expect(turns.said('linked').map(({ counts }) => counts.unattributed)).toEqual(commits)
  },
)

test('a folder that cannot be looked into for a while ends nothing', async () => {
  const home = join(folder, 'home')
  mkdirSync(home)
  using turns = await Turns.begun(path('home/looked'))
  turns.send(1)
  turns.timers.next()
  turns.store.refuseWrites()
  // A name that leads to itself: whoever asks what is behind it gets an error.
  renameSync(home, `${home}-moved`)
  symlinkSync(home, home)
  turns.timers.pass(MINUTE)
  expect(turns.troubles).toContainEqual(expect.stringContaining('shortening the write-ahead log'))
  rmSync(home)
  renameSync(`${home}-moved`, home)
  turns.store.allowWrites()
  turns.timers.pass(MINUTE)
  expect(turns.troubles).toEqual([])
  expect(turns.store.writer.linkLag).toBe(0)
})

test('once stopped it touches the database no more, whatever was about to be done', async () => {
  const turns = await Turns.begun(path('stopped'), { retention: { maxAgeMs: YEAR } })
  turns.send(1)
  turns.timers.next()
  turns.send(2)
  turns.turns.stop()
  expect(turns.said('ingested')).toHaveLength(2)
  turns.store[Symbol.dispose]()
  turns.timers.pass(MINUTE)
  expect(turns.troubles).toEqual([])
  expect(turns.timers.size).toBe(0)
})

test('it rests after some seconds without work, once, and again after more work', async () => {
  let rests = 0
  const rest = (): void => {
    rests++
    throw new Error('no memory can be given back')
  }
  using turns = await Turns.begun(path('rests'), {}, rest)
  turns.timers.pass(MINUTE)
  expect(rests).toBe(1)
  turns.send(1)
  turns.timers.pass(MINUTE)
  expect(rests).toBe(2)
  turns.turns.stop()
  turns.timers.pass(MINUTE)
  expect(rests).toBe(2)
})

test('what full blocks of spans contain is kept when nothing else is to be done, and after it failed too', async () => {
  using turns = await Turns.begun(path('blocks'), { rowsABlock: 2 })
  const kept = (): number => turns.store.rows('span_blocks')
  for (let id = 1; id <= 5; id++) turns.send(id)
  turns.timers.pass(2_100)
  expect(kept()).toBe(2)
  turns.store.db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON span_blocks BEGIN SELECT raise(ABORT, 'full'); END",
  )
  for (let id = 6; id <= 9; id++) turns.send(id)
  turns.timers.pass(2_100)
  expect([kept(), turns.troubles]).toEqual([2, [expect.stringContaining('for searches')]])
  turns.store.db.exec('DROP TRIGGER full')
  turns.timers.pass(2_100)
  expect(kept()).toBe(4)
})

test('a position that cannot be saved is set aside, and those of other exporters are saved', async () => {
  using turns = await Turns.begun(path('positions'))
  const { writer } = turns.store
  turns.store.keepExporters('traces', ['otlp/a', 'otlp/b', 'otlp/c'])
  turns.moved('otlp/a', 7)
  turns.moved('otlp/b', 0.5)
  turns.moved('otlp/c', 8)
  turns.timers.pass(1_000)
  expect(turns.said('setAside')).toMatchObject([
    { items: [{ stage: 'sending', kind: 'position in traces', exporter: 'otlp/b' }] },
  ])
  expect(Object.fromEntries(writer.reader.positions('traces'))).toEqual({
    'otlp/a': 7,
    'otlp/b': 0,
    'otlp/c': 8,
  })
  expect(writer.gauges().setAside).toBe(1)
})

const WRITES = 600

test('writes of clusters are decided in steps of some milliseconds, however long each takes', async () => {
  using turns = await Turns.begun(path('slow-decisions'))
  const { store, timers } = turns
  const seenNs = nanosOfMs(store.clock.wallMs())
  const observations = Array.from({ length: WRITES }, (_, at): Observation => {
    const metadata = { name: `n${at}`, namespace: 'shop', uid: `u${at}`, resourceVersion: `${at + 1}` }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
    const read = readWatchEvent({ type: 'ADDED', object }, seenNs)
    if (typeof read === 'string') throw new Error(read)
    return read
  })
  const body = serializeObservations(observations)
  // What an earlier process left undecided is read first.
  timers.pass(1_000)
  turns.turns.observe({ kind: 'observe', id: 1, cluster: 'test', stream: 'watch', body })
  // Each row of a decided write takes a millisecond.
  store.db.function('takes_a_while', () => {
    store.clock.advance(1)
    return null
  })
  store.db.exec('CREATE TEMP TRIGGER slow AFTER INSERT ON main.spans BEGIN SELECT takes_a_while(); END')
  timers.pass(2 * MINUTE)
  const left = turns.said('inferred').map(({ waiting }) => waiting)
  const steps = left.map((waiting, at) => (left[at - 1] ?? WRITES) - waiting)
  expect([store.rows('spans'), left.at(-1)]).toEqual([WRITES, 0])
  expect(Math.max(...steps)).toBeLessThan(101)
  expect(Math.max(...steps.slice(3))).toBeLessThan(26)
})
