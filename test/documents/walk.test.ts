import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { formatted } from '../../lab/charts/formatted.ts'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'
import { calledOnlyIn, countsOf, ranOf, type CoverageReport } from '../../lab/walk/coverage.ts'
import { walkTable, withWalks } from '../../lab/walk/walk-table.ts'
import { ROOT } from './documented-commands.ts'

const LONGEST_MS = 240_000
const SOURCES = 'file:///checkout/src/'
const ALL_MET = { functions: 1, files: 1, rooms: 1 }
const WALKS = { span: ALL_MET, mergelog: ALL_MET, search: ALL_MET, pod: ALL_MET, start: { files: 1 } }

/** A thread's report; a function is its name and how often it was called. */
function reportOf(scripts: Record<string, [name: string, count: number][]>): CoverageReport {
  const range = (startOffset: number, count: number) => ({ startOffset, endOffset: 1_000, count })
  return {
    result: Object.entries(scripts).map(([url, functions]) => ({
      url,
      functions: [
        { functionName: '', ranges: [range(0, 1)] },
        // A branch that was not taken says nothing of its function.
        ...functions.map(([functionName, count], at) => ({
          functionName,
          ranges: [range(at * 10, count), range(at * 10 + 1, 0)],
        })),
      ],
    })),
  }
}

test('what ran is the functions called in any thread; bodies of files, field initializers and other programs are not', () => {
  const main = reportOf({
    [`${SOURCES}main.ts`]: [],
    [`${SOURCES}graph/a.ts`]: [
      ['called', 2],
      ['', 1],
      ['not', 0],
      ['<instance_members_initializer>', 1],
    ],
    'file:///checkout/src-other/b.ts': [['called', 1]],
    'node:fs': [['called', 1]],
  })
  const store = reportOf({
    [`${SOURCES}graph/a.ts`]: [['called', 1]],
    [`${SOURCES}linker/in/c.ts`]: [['called', 1]],
  })
  const ran = ranOf([main, store], SOURCES)
  expect([...ran.files].sort()).toEqual(['graph/a.ts', 'linker/in/c.ts', 'main.ts'])
  expect([...ran.functions].sort()).toEqual(['graph/a.ts:0', 'graph/a.ts:10', 'linker/in/c.ts:0'])
})

test('what ran without the item too is not counted; files and rooms are those of what is left', () => {
  const idle = ranOf([reportOf({ [`${SOURCES}graph/a.ts`]: [['called', 9]] })], SOURCES)
  const walked = ranOf(
    [
      reportOf({
        [`${SOURCES}main.ts`]: [['called', 1]],
        [`${SOURCES}graph/a.ts`]: [
          ['called', 1],
          ['also', 1],
        ],
        [`${SOURCES}graph/in/b.ts`]: [['called', 1]],
        [`${SOURCES}linker/loaded-alone.ts`]: [['not', 0]],
      }),
    ],
    SOURCES,
  )
  const called = calledOnlyIn(walked, idle)
  expect(called).toEqual(['graph/a.ts:10', 'graph/in/b.ts:0', 'main.ts:0'])
  expect(countsOf(called)).toEqual({ functions: 3, files: 3, rooms: 1 })
})

test('ARCHITECTURE.md has the table as it is written, with whatever numbers were counted last', async () => {
  const text = readFileSync(`${ROOT}ARCHITECTURE.md`, 'utf8')
  const withoutNumbers = (markdown: string): string =>
    markdown
      .replaceAll(/\d+(?= *\|| \(aim)/g, 'n')
      .replaceAll(/\b(met|missed)\b/g, 'm')
      .replaceAll(/ +|-+/g, ' ')
  const written = await formatted('ARCHITECTURE.md', withWalks(text, WALKS))
  expect(withoutNumbers(written)).toBe(withoutNumbers(text))
  expect(walkTable(WALKS)).toContain('1 (aim: at most 200, met)')
  expect(walkTable({ ...WALKS, start: { files: 351 } })).toContain('351 (aim: at most 350, missed)')
  expect(() => withWalks('no marks', WALKS)).toThrow('lacks the marks')
})

test(
  'an item is followed through every thread of a real Causeway',
  async () => {
    await using walk = new RunningProgram({
      name: 'npm run walk',
      command: process.execPath,
      args: ['lab/walk/walk.ts', '--json'],
      directory: ROOT,
    })
    const counts = { functions: expect.any(Number), files: expect.any(Number), rooms: expect.any(Number) }
    await walk.ending(LONGEST_MS)
    const walks = JSON.parse(await walk.output()) as Record<
      string,
      { functions: number; files: number; rooms: number }
    >
    expect(walks).toEqual({
      ...{ span: counts, mergelog: counts, search: counts, pod: counts },
      start: { files: expect.any(Number) },
    })
    // At the least receiver, otlp, graph, linker and exporter for a span; a Pod is inferred before it goes the same way.
    expect(walks['span']!.rooms).toBeGreaterThanOrEqual(5)
    expect(walks['pod']!.functions).toBeGreaterThan(walks['span']!.functions / 2)
    for (const item of ['span', 'mergelog', 'search', 'pod']) {
      const { functions, files, rooms } = walks[item]!
      expect([item, rooms > 1 && files > rooms && functions > files]).toEqual([item, true])
    }
  },
  LONGEST_MS,
)
