import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { all, ask, id, numbersOf } from './asking.ts'
import { figureSeven } from './figure-seven.ts'

test('a CPID without a mergelog is known, and counts as a root', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  writer.clock.advance(1000)
  writer.mergelogs('controller', [{ new: cpid(2), sources: [cpid(1), cpid(9)], time: 1 }])
  const queries = writer.queries()
  expect(ask(writer, { kind: 'cpid', cpid: id(1) })).toEqual({
    cpid: cpid(1),
    timestamp: null,
    sources: null,
    explained: false,
    service: null,
    object: null,
  })
  expect(ask(writer, { kind: 'cpid', cpid: id(2) })).toMatchObject({ explained: false })
  expect(numbersOf(all(queries.roots(id(2))))).toEqual([1, 9])
  expect(numbersOf(all(queries.related(id(1))))).toEqual([1, 2])
})

test('CPIDs without a mergelog stand where they were first sighted', async () => {
  using writer = await TestWriter.open()
  writer.clock.advance(5)
  // The clock stands at 5 ms when CPIDs 3 and 5 are sighted as sources.
  writer.mergelogs('controller', [
    { new: cpid(9), sources: [cpid(2), cpid(5), cpid(3), cpid(8)], time: 20 },
    { new: cpid(2), time: 4 },
    { new: cpid(8), time: 6 },
  ])
  expect(numbersOf(all(writer.queries().ancestors(id(9))))).toEqual([2, 3, 5, 8])
})

test('pruned and unknown CPIDs are told apart', async () => {
  using writer = await figureSeven(undefined, { retention: { maxCpids: 7 } })
  writer.pass(300_001)
  expect(writer.writer.prune(1000)).toMatchObject({ cpids: 1 })
  for (const kind of ['cpid', 'related', 'ancestors', 'roots'] as const) {
    expect(ask(writer, { kind, cpid: id(1) })).toBe('pruned')
    expect(ask(writer, { kind, cpid: id(99) })).toBe('unknown')
  }
  for (const kind of ['mergelogs', 'spans', 'logs'] as const) {
    expect(ask(writer, { kind, cpid: id(1), part: {} })).toBe('pruned')
    expect(ask(writer, { kind, cpid: id(99), part: {} })).toBe('unknown')
  }
  expect(ask(writer, { kind: 'cascade', root: id(1) })).toBe('pruned')
  expect(ask(writer, { kind: 'cascade', root: id(99) })).toBe('unknown')
  // The mergelog of 3 still names both sources; the graph has only one left.
  expect(ask(writer, { kind: 'cpid', cpid: id(3) })).toMatchObject({ sources: [cpid(1), cpid(2)] })
  expect(ask(writer, { kind: 'roots', cpid: id(3) })).toEqual({ cpid: cpid(3), roots: [cpid(2)] })
})

test.each(['', 'x', '1.2', '1.', '-', '99999999999999999999', '1e3', ' 1'])(
  '%j is no cursor of spans',
  async (after) => {
    using writer = await TestWriter.open()
    expect(ask(writer, { kind: 'spans', part: { after } })).toBe('badCursor')
  },
)

test('a CPID with many ways up to it has each ancestor once, at its shortest distance', async () => {
  using writer = await TestWriter.open()
  // A ladder: every CPID merges the two before it, so that the number of paths grows as Fibonacci's numbers do.
  const rungs = 90
  writer.mergelogs('controller', [
    { new: cpid(1) },
    { new: cpid(2), sources: [cpid(1)], time: 1 },
    ...Array.from({ length: rungs }, (_, at) => ({
      new: cpid(at + 3),
      sources: [cpid(at + 1), cpid(at + 2)],
      time: at + 2,
    })),
  ])
  const queries = writer.queries()
  const ancestors = numbersOf(all(queries.ancestors(id(rungs + 2))))
  expect(ancestors.slice(0, 4)).toEqual([rungs, rungs + 1, rungs - 2, rungs - 1])
  expect(new Set(ancestors).size).toBe(rungs + 1)
  expect(numbersOf(all(queries.roots(id(rungs + 2))))).toEqual([1])
})
