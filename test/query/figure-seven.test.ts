import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CausewayQueries } from '../../src/model/queries.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { TestWriter } from '../support/test-writer.ts'
import { all, ask, id, inParts, numbersOf } from './asking.ts'
import { FIGURE_7, figureSeven, TABLE_2 } from './figure-seven.ts'

let writer: TestWriter
let queries: CausewayQueries

beforeAll(async () => {
  writer = await figureSeven()
  queries = writer.queries()
})

afterAll(() => writer[Symbol.dispose]())

const NUMBERS = Object.keys(FIGURE_7).map(Number)
const ANCESTORS: Record<number, number[]> = {
  1: [],
  2: [],
  3: [1, 2],
  4: [],
  5: [3, 4, 1, 2],
  6: [],
  7: [2, 4, 6],
  8: [],
}
const ROOTS: Record<number, number[]> = {
  1: [1],
  2: [2],
  3: [1, 2],
  4: [4],
  5: [4, 1, 2],
  6: [6],
  7: [2, 4, 6],
  8: [8],
}

test.each(NUMBERS)('the related CPIDs of %i are those of Table 2', (number) => {
  expect(numbersOf(all(queries.related(id(number))))).toEqual(TABLE_2[number])
})

test.each(NUMBERS)('the ancestors of %i, nearest first', (number) => {
  expect(numbersOf(all(queries.ancestors(id(number))))).toEqual(ANCESTORS[number])
})

test.each(NUMBERS)('the roots of %i', (number) => {
  expect(numbersOf(all(queries.roots(id(number))))).toEqual(ROOTS[number])
})

test.each(NUMBERS)('the mergelogs related to %i', (number) => {
  const mergelogs = all(queries.mergelogsOf(id(number), undefined))
  expect(numbersOf(mergelogs.map((mergelog) => mergelog.cpid))).toEqual(TABLE_2[number])
  for (const mergelog of mergelogs) {
    expect(numbersOf(mergelog.sources)).toEqual(FIGURE_7[numbersOf([mergelog.cpid])[0] ?? 0])
  }
})

test('a CPID as JSON', () => {
  expect(ask(writer, { kind: 'cpid', cpid: id(5) })).toEqual({
    cpid: cpid(5),
    timestamp: '2026-01-01T00:00:00.005000000Z',
    sources: [cpid(3), cpid(4)],
    explained: true,
    service: 'paper',
    object: null,
  })
})

test('a list of CPIDs as JSON', () => {
  expect(ask(writer, { kind: 'roots', cpid: id(7) })).toEqual({
    cpid: cpid(7),
    roots: [cpid(2), cpid(4), cpid(6)],
  })
})

test('all mergelogs, in parts and at once', () => {
  const parts = inParts<{ cpid: string }>(writer, { kind: 'mergelogs', part: {} }, 'mergelogs', 3)
  expect(parts.map((part) => numbersOf(part.map((mergelog) => mergelog.cpid)))).toEqual([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8],
  ])
  const whole = ask<{ mergelogs: unknown[]; next: unknown }>(writer, {
    kind: 'mergelogs',
    part: { limit: 8 },
  })
  expect(whole.next).toBeNull()
  expect(whole.mergelogs[0]).toEqual({
    cpid: cpid(1),
    sources: [],
    timestamp: '2026-01-01T00:00:00.001000000Z',
    service: 'paper',
    object: 'apps/v1/deployments/default/web-1?uid=u1&rv=1',
    reason: null,
    cluster: 'kind',
  })
})

test('related mergelogs in parts', () => {
  const question = { kind: 'mergelogs', cpid: id(2), part: {} } as const
  const parts = inParts<{ cpid: string }>(writer, question, 'mergelogs', 1)
  expect(parts.map((part) => numbersOf(part.map((mergelog) => mergelog.cpid)))).toEqual([[2], [3], [5], [7]])
})
