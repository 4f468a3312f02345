import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { Soundness } from '../retention/soundness.ts'
import { liveCpids } from './stored.ts'

const SETTLED = 300_001

/** One CPID: its sources are among those before it. */
interface DrawnCpid {
  sources: number[]
  hasMergelog: boolean
  /** How many objects each of its spans wrote. */
  spans: number[]
}

const graphs = fc.array(
  fc.record({
    sources: fc.array(fc.nat(8), { maxLength: 3 }),
    hasMergelog: fc.boolean(),
    spans: fc.array(fc.nat(3), { maxLength: 2 }),
  }),
  { minLength: 3, maxLength: 9 },
)

/** The sources that a CPID's mergelog names, each once. */
function sourcesOf({ sources, hasMergelog }: DrawnCpid, at: number): number[] {
  return hasMergelog && at > 0 ? [...new Set(sources.map((source) => source % at))] : []
}

/** Which CPIDs have to survive: the oldest without sources goes, with all that it alone led to, while there are too many. */
function survivors(drawn: readonly DrawnCpid[], maxCpids: number): number[] {
  const live = new Map(drawn.map((one, at) => [at, new Set(sourcesOf(one, at))]))
  while (live.size > maxCpids) {
    const going = [...live].filter(([, sources]) => sources.size === 0).slice(0, 1)
    for (let next = going.pop(); next !== undefined; next = going.pop()) {
      live.delete(next[0])
      for (const other of live) if (other[1].delete(next[0]) && other[1].size === 0) going.push(other)
    }
  }
  return [...live.keys()].map((at) => at + 1)
}

async function stored(drawn: readonly DrawnCpid[], maxCpids: number): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention: { maxCpids } })
  // In order of age; a CPID without a mergelog is as old as its first span.
  for (const [at, one] of drawn.entries()) {
    const spans = one.spans.map((objects, span) => ({
      trace: at + 1,
      id: 1 + at * 10 + span,
      cpid: cpid(at + 1),
      attributes: {
        'cpid.wrote': Array.from({ length: objects }, (_, name) => `v1/pods/a/${at}-${name}?rv=1`),
      },
    }))
    writer.spans('controller', [{ trace: at + 1, id: 9 + at * 10, cpid: cpid(at + 1) }, ...spans])
    const sources = sourcesOf(one, at).map((source) => cpid(source + 1))
    if (one.hasMergelog) writer.mergelogs('controller', [{ new: cpid(at + 1), sources, time: at }])
    writer.clock.advance(1)
  }
  writer.pass(10_000)
  writer.pass(SETTLED)
  return writer
}

/** Prunes in turns that end after so many looks at the clock; after each the database is sound. */
function pruneInSteps(writer: TestWriter, looks: number): void {
  const sound = new Soundness(writer.db)
  for (let more = true, turns = 0; more; turns++) {
    let left = looks
    let writtenWhenOver: number | undefined
    const mayGoOn = (): boolean => {
      if (left-- > 0) return true
      writtenWhenOver ??= writer.rowsWritten
      return false
    }
    more = writer.writer.prune(1_000, { mayGoOn }).more
    // The row of the counters is all that a turn writes once it is over.
    if (writtenWhenOver !== undefined) expect(writer.rowsWritten - writtenWhenOver).toBeLessThan(2)
    writer.link()
    sound.expect()
    expect(turns).toBeLessThan(1_000)
  }
}

test('the same CPIDs survive, after whichever step each turn ends', async () => {
  await fc.assert(
    fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), async (drawn, maxCpids) => {
      for (const looks of [0, 1, 2, 5, Infinity]) {
        using writer = await stored(drawn, maxCpids)
        pruneInSteps(writer, looks)
        expect({ looks, left: liveCpids(writer) }).toEqual({ looks, left: survivors(drawn, maxCpids) })
      }
    }),
    { numRuns: 8, interruptAfterTimeLimit: 5_000 },
  )
})

interface Most {
  rows: number
  freedPages: number
}

/** Prunes, and returns the most rows that were written, and the most pages that were given back, between two looks at the clock. */
function mostBetweenLooks(writer: TestWriter): Most {
  const most = { rows: 0, freedPages: 0 }
  const freePages = (): number => Number(writer.db.pragma('freelist_count', { simple: true }))
  for (let more = true; more;) {
    let rows = writer.rowsWritten
    let pages = freePages()
    const look = (): boolean => {
      most.rows = Math.max(most.rows, writer.rowsWritten - rows)
      most.freedPages = Math.max(most.freedPages, freePages() - pages)
      rows = writer.rowsWritten
      pages = freePages()
      return true
    }
    more = writer.writer.prune(200, { mayGoOn: look }).more
    look()
  }
  return most
}

const OLD_AND_NEW = [
  { new: cpid(1), time: 1 },
  { new: cpid(2), time: 100_000 },
]

test('a CPID that very many merged goes in short steps', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1 } })
  writer.mergelogs('kubectl', OLD_AND_NEW)
  const star = Array.from({ length: 300 }, (_, at) => ({ new: cpid(10 + at), sources: [cpid(1)], time: 2 }))
  writer.mergelogs('controller', star)
  writer.pass(SETTLED)
  // Each of 200 decisions, and the count of rows that name its scope.
  expect(mostBetweenLooks(writer).rows).toBeLessThan(450)
  expect(liveCpids(writer)).toEqual([2])
})

test('what the removal of a CPID explains is explained a part at a time', async () => {
  using writer = await TestWriter.open({ retention: { maxCpids: 401 } })
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  const chains = Array.from({ length: 400 }, (_, at) => ({
    new: cpid(10 + at),
    sources: at < 100 ? [cpid(1), cpid(2)] : [cpid(10 + at - 100)],
    time: 2,
  }))
  writer.mergelogs('controller', chains)
  writer.mergelogs('kubectl', [{ new: cpid(2), time: 100_000 }])
  writer.pass(10_000)
  writer.pass(SETTLED)
  expect(mostBetweenLooks(writer).rows).toBeLessThan(450)
  writer.link()
  expect(writer.rows('cpids WHERE explained = 0')).toBe(0)
})

test.each([
  ['of a CPID', cpid(1)],
  ['without a CPID', undefined],
])('spans %s with many objects each go object by object', async (_, carried) => {
  using writer = await TestWriter.open({ retention: { maxCpids: 1, maxAgeMs: 3_600_000 } })
  writer.mergelogs('kubectl', OLD_AND_NEW)
  const spans = Array.from({ length: 15 }, (_unused, at) => ({
    trace: 1,
    id: 1 + at,
    ...(carried !== undefined && { cpid: carried }),
    attributes: { 'cpid.wrote': Array.from({ length: 100 }, (_no, name) => `v1/pods/a/${at}-${name}?rv=1`) },
  }))
  writer.spans('controller', spans)
  writer.pass(10_000)
  writer.pass(3_600_000)
  writer.writer.prune(0)
  writer.pass(3_600_000)
  expect(mostBetweenLooks(writer).rows).toBeLessThan(600)
  expect([writer.rows('spans'), writer.rows('objects'), writer.rows('span_objects')]).toEqual([0, 0, 0])
})

test.each(['spans', 'logs', 'spans without a CPID', 'logs without a CPID'])(
  'large %s go a few megabytes at a time',
  async (kind) => {
    using writer = await TestWriter.open({ retention: { maxCpids: 1, maxAgeMs: 3_600_000 } })
    writer.mergelogs('kubectl', OLD_AND_NEW)
    const text = 'x'.repeat(100_000)
    const carried = kind.includes('without') ? {} : { cpid: cpid(1) }
    for (let at = 0; at < 60; at++) {
      if (kind.startsWith('spans'))
        writer.spans('controller', [{ trace: 1, id: 1 + at, ...carried, attributes: { text } }])
      else writer.logs('controller', [{ body: `${text}${at}`, time: at, ...carried }])
    }
    writer.pass(10_000)
    writer.pass(3_600_000)
    writer.writer.prune(0)
    writer.pass(3_600_000)
    expect(mostBetweenLooks(writer).freedPages).toBeLessThan(1_000)
    expect([writer.rows('spans'), writer.rows('logs')]).toEqual([0, 0])
  },
)
