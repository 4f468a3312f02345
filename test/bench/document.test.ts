import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import {
  filesOfRun,
  readBenchmarks,
  type BenchmarkData,
  type RunResult,
} from '../../lab/bench/document/benchmark-data.ts'
import { renderFiles } from '../../lab/bench/document/render-files.ts'
import type { SectionResult } from '../../lab/bench/measure/figures.ts'
import { FIGURES, type LoadResult, type Run } from '../../lab/bench/peers/peers-data.ts'
import { ratiosOf } from '../../lab/bench/peers/ratios.ts'

const REPORTS = fileURLToPath(new URL('../../docs/reports', import.meta.url))
const KEPT = {
  takenAt: '2026-01-02T03:04:05.000Z',
  machine: {
    node: '24.0.0',
    system: 'Linux',
    cpu: 'A & B <C>',
    cores: 2,
    memoryGib: 8,
    syncMs: 0.5,
    isInMemory: false,
  },
  settings: { rounds: 2, spans: 100_000 },
}
const SECTION: SectionResult = {
  name: 'invented',
  about: 'what nobody has a text for',
  figures: {
    rate: { label: 'rate', unit: 'spans/s', digits: 0, target: { atLeast: 1_000 } },
    share: { label: 'share', unit: '×', digits: 2, target: { atMost: 0.25 } },
    never: { label: 'never measured', unit: '', digits: 0 },
  },
  rounds: [
    { rate: 1_200, share: 0.5 },
    { rate: 1_400, share: 0.6 },
    { rate: 900, share: 0.7 },
  ],
  curves: [
    {
      title: 'Growth',
      xLabel: 'CPIDs',
      yLabel: 'ms',
      isLogX: true,
      series: [
        {
          name: 'linking',
          points: [
            { x: 10_000, median: 0.4, min: 0.3, max: 0.6 },
            { x: 1_000_000, median: 0.5, min: 0.4, max: 0.7 },
          ],
        },
      ],
    },
  ],
}

function runs(acknowledged: readonly number[], endToEnd: number): Run[] {
  const nothing = Object.fromEntries(Object.keys(FIGURES).map((name) => [name, Number.NaN])) as Run
  return acknowledged.map((rate) => ({ ...nothing, acknowledged: rate, endToEnd }))
}

const LOADS: LoadResult[] = [
  {
    load: 'large',
    programs: [
      { program: 'causeway', rounds: runs([90_000, 60_000], Number.NaN) },
      { program: 'causeway-export', rounds: runs([70_000, 60_000], 30_000) },
      { program: 'collector-fsync', rounds: runs([30_000, 40_000], 20_000) },
    ],
  },
]

function documentOf(data: BenchmarkData): Promise<Map<string, string>> {
  return renderFiles('/reports', data)
}

test('the document and its plots are what the kept data give; npm run bench:document writes them', async () => {
  const files = await renderFiles(REPORTS, readBenchmarks(REPORTS))
  for (const [path, text] of files) expect({ path, text: readFileSync(path, 'utf8') }).toEqual({ path, text })
  const kept = join(REPORTS, 'benchmarks')
  const plots = existsSync(kept) ? readdirSync(kept).filter((name) => name.endsWith('.svg')) : []
  expect(plots.filter((name) => !files.has(join(kept, name)))).toEqual([])
})

test('what is kept does not name folders of the machine it was measured on', async () => {
  const result: RunResult = {
    ...KEPT,
    options: {
      rounds: 2,
      directory: '/tmp/x',
      causeway: '/home/me/bin/causeway.js',
      json: '/tmp/y',
      nodeOptions: [],
    },
    sections: [SECTION],
  }
  const [[path, kept] = [], ...others] = filesOfRun('/reports', result)
  expect(others).toEqual([])
  expect(path).toBe('/reports/benchmarks/invented.json')
  expect(kept?.settings).toEqual({ rounds: 2 })
  const folder = join(REPORTS, 'benchmarks')
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    expect(readFileSync(join(folder, name), 'utf8')).not.toMatch(/"\/(tmp|home|root|Users|work|var)\b/)
})

test('any section has its figures, targets and curves', async () => {
  const files = await documentOf({ sections: [{ ...KEPT, section: SECTION }], peers: undefined })
  const document = files.get('/reports/benchmarks.md')!
  expect(document).toContain('## invented\n')
  expect(document).toMatch(
    /\| rate +\| +1,200 \| +900 \| +1,400 \| +spans\/s +\| at least 1,000 +\| +met +\|/,
  )
  expect(document).toMatch(
    /\| share +\| +0.60 \| +0.50 \| +0.70 \| +× +\| at most 0.25 +\| +\*\*missed\*\* \|/,
  )
  expect(document).toContain('1 of 2 are met')
  expect(document).not.toContain('never measured')
  expect(document).toContain('![Growth](benchmarks/invented-1.svg)')
  const svg = files.get('/reports/benchmarks/invented-1.svg')!
  for (const tick of ['>10 k<', '>100 k<', '>1 M<', '>linking<']) expect(svg).toContain(tick)
})

test('ratios are those of one round, and a program that was not measured has none', () => {
  const { figures, rounds } = ratiosOf(LOADS, 2)
  expect(Object.values(figures).map(({ target }) => target)).toEqual([
    { atLeast: 2 },
    { atLeast: 0.4 },
    undefined,
  ])
  expect(rounds.map((round) => Object.values(round))).toEqual([
    [3, 1 / 3, 1.5],
    [1.5, 0.5, 1.5],
  ])
})

test('the peers have a table for each load, bars with their spread, and ratios; as JSON keeps them', async () => {
  const peers = { ...KEPT, seconds: 61, peers: { loads: LOADS, ratios: ratiosOf(LOADS, 2) } }
  const kept = JSON.parse(JSON.stringify(peers)) as typeof peers
  const files = await documentOf({ sections: [], peers: kept })
  const document = files.get('/reports/benchmarks.md')!
  expect(document).toContain('### 512 spans a request, gRPC, 16 requests under way')
  expect(document).toContain('75,000 (60,000 to 90,000)')
  expect(document).not.toMatch(/NaN|undefined|null/)
  const pictures = [...document.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => `/reports/${path}`)
  expect(pictures).toEqual([
    '/reports/benchmarks/peers-acknowledged.svg',
    '/reports/benchmarks/peers-endToEnd.svg',
  ])
  for (const picture of pictures) expect(files.get(picture)).not.toMatch(/NaN|undefined/)
})
