import { expect, test } from '@jest/globals'
import { cascadeTree } from '../../src/cli/cascade-command.ts'
import { terminalOf } from '../../src/cli/text.ts'
import type { LinkedSpan } from '../../src/model/queries.ts'
import { spanTree } from '../../src/query/span-tree.ts'
import { linkedSpan } from '../query/linked-span.ts'

const MS = 1_000_000n

interface Drawing {
  columns?: number
  terminalWidth?: number
  env?: Record<string, string>
  all?: boolean
}

function drawn(spans: LinkedSpan[], { columns, terminalWidth, env, all }: Drawing = {}): string {
  const screen = terminalOf({ terminalWidth, env: { ...(columns && { COLUMNS: String(columns) }), ...env } })
  const scale = { startNs: 0n, lastNs: 100n * MS }
  return [...cascadeTree(spanTree(spans), scale, screen, all ?? false)].join('')
}

const span = (id: number, parent: number, start: number, end: number, rest: Partial<LinkedSpan> = {}) =>
  linkedSpan(id, parent, { startNs: BigInt(start) * MS, endNs: BigInt(end) * MS, ...rest })

const WAITING = [
  span(1, 0, 0, 0, { name: 'change', row: undefined }),
  span(2, 1, 0, 20, { name: 'apply', service: 'kubectl' }),
  span(3, 2, 60, 90, { name: 'reconcile Deployment', service: 'deployment-controller', byCause: true }),
  span(4, 3, 70, 80, { name: 'list', service: 'deployment-controller', status: 2 }),
]

test('bars on one scale: what was waited for a write, what a span took, a moment', () => {
  expect(drawn(WAITING, { columns: 110 })).toBe(`\
span                      service                  start     took   waited  ░ waited █ took
change                    service                    0ns      0ns           │
  apply                   kubectl                    0ns     20ms           ███████
    reconcile Deployment  deployment-controller     60ms     30ms     40ms        ░░░░░░░░░░░░░░███████████
      list [error]        deployment-controller     70ms     10ms                                  █████
`)
})

test.each([40, 60, 80, 100, 200])('it fits %i columns', (columns) => {
  const long = span(5, 4, 95, 100, { name: 'a name that is '.repeat(9), service: 'service-'.repeat(9) })
  const deep = Array.from({ length: 20 }, (_, at) => span(at + 6, at + 5, 99, 100))
  for (const line of drawn([...WAITING, long, ...deep], { columns }).split('\n')) {
    expect(Array.from(line).length).toBeLessThanOrEqual(columns)
  }
})

test('a bar never leaves its column, whatever the times', () => {
  const odd = [
    span(1, 0, -50, 500, { name: 'longer than all' }),
    span(2, 1, 100, 100, { name: 'at the very end' }),
    span(3, 1, 50, 40, { name: 'ends before it begins' }),
    span(4, 1, 300, 400, { name: 'after the end' }),
  ]
  for (const line of drawn(odd, { columns: 80 }).split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  expect(drawn([span(1, 0, 0, 0)]).split('\n')[1]).toMatch(/│$/)
})

test('colours only on a terminal, and never against NO_COLOR', () => {
  const red = '\u001b[31m'
  expect(drawn(WAITING, { terminalWidth: 100 })).toContain(`${red}      list [error]`)
  for (const drawing of [
    {},
    { terminalWidth: 100, env: { NO_COLOR: '1' } },
    { terminalWidth: 100, env: { TERM: 'dumb' } },
  ]) {
    expect(drawn(WAITING, drawing)).not.toContain('\u001b')
  }
  expect(drawn(WAITING, { terminalWidth: 100, env: { NO_COLOR: '1' } })).toBe(drawn(WAITING))
})

test('a terminal that does not know its width is as wide as a file', () => {
  const env = { NO_COLOR: '1' }
  expect(drawn(WAITING, { terminalWidth: 0, env })).toBe(drawn(WAITING))
  expect(drawn(WAITING, { terminalWidth: 0, columns: 60, env })).toBe(drawn(WAITING, { columns: 60 }))
  expect(drawn(WAITING, { env: { COLUMNS: '0' } })).toBe(drawn(WAITING))
})

test('long lists and deep levels are cut, and what is cut is counted', () => {
  const wide = [span(1, 0, 0, 100), ...Array.from({ length: 320 }, (_, at) => span(at + 2, 1, 1, 2))]
  const lines = drawn(wide).split('\n')
  expect(lines).toHaveLength(203)
  expect(lines.at(-2)).toBe('… 121 more spans; --all shows them')
  const deep = Array.from({ length: 10_000 }, (_, at) => span(at + 1, at, 0, 1))
  expect(drawn(deep).split('\n').at(-2)).toBe('… 9975 spans deeper than 24 levels; --all shows them')
})

test('with --all every span has its line, its indentation bounded', () => {
  const deep = Array.from({ length: 10_000 }, (_, at) => span(at + 1, at, 0, 1))
  const lines = drawn(deep, { all: true }).split('\n')
  expect(lines).toHaveLength(10_002)
  expect(lines[10_000]).toMatch(/^ +9999› span 10000 {2,}service/)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100)
})

test('a write of a status that is being placed has its own line', () => {
  const seen = { user: undefined, cause: 'exact', gap: false } as const
  const update = (id: number, rest: Partial<LinkedSpan> = {}) =>
    span(id, 1, id, id, { name: 'update v1/pods status', seen, ...rest })
  const lines = drawn([span(1, 0, 0, 1), update(2), update(3), update(4, { beingPlaced: true })]).split('\n')
  expect(lines.map((line) => line.split(/ {2,}service/)[0])).toEqual([
    expect.stringMatching(/^span /),
    'span 1',
    '  … 2 status updates',
    '  update v1/pods status [being placed]',
    '… 2 status updates in lines of several; --all shows each',
    'being placed: it waits for what it follows from; no figure counts it, and the critical path does not lead through it',
    '',
  ])
})

test('what is odd about a span is said', () => {
  expect(drawn([span(1, 9, 0, 1, { status: 2, copy: true })])).toContain(
    'span 1 [error, copy, its parent is missing]',
  )
})
