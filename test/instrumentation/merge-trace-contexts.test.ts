import { describe, test, expect } from '@jest/globals'
import {
  mergeTraceContexts,
  type Merged,
} from '../../packages/instrumentation/src/merge/merge-trace-contexts.ts'
import type { TraceContext } from '../../packages/instrumentation/src/context/trace-context.ts'

/** A context as `c < a b`: c, which lists a and b as its ancestors. */
function parse(sketch: string): TraceContext {
  const [cpid = '', ancestors = ''] = sketch.split('<').map((part) => part.trim())
  return { cpid, ancestors: ancestors.split(' ').filter(Boolean) }
}

/** The outcome as `c < a b`, and `= x + y` where it is merged from x and y. */
function draw({ context, mergelog }: Merged): string {
  const drawn = [context.cpid, '<', ...context.ancestors].join(' ')
  return mergelog === undefined ? drawn : `${drawn} = ${mergelog.sources.join(' + ')}`
}

function merge(sketches: string[], maxAncestors = 10): string {
  return draw(mergeTraceContexts(sketches.map(parse), { maxAncestors, newCpid: () => 'new' }))
}

describe('one CPID stands for the others', () => {
  test.each([
    ['it is the only one', ['c < b a'], 'c < b a'],
    ['the object was changed again before anything merged (Figure 8)', ['β < α', 'α'], 'β < α'],
    ['it lists all the others', ['a', 'd < b a c', 'b', 'c'], 'd < b a c'],
    ['it descends from one through another', ['a < b', 'b < c', 'c'], 'a < b c'],
    ['it descends through a chain, given in any order', ['d', 'b < c', 'a < b', 'c < d'], 'a < b c d'],
    ['the same CPID comes twice', ['c < a', 'c < b'], 'c < a b'],
    ['only both lists of the same CPID say all', ['c < a', 'b', 'c < b', 'a'], 'c < a b'],
    ['it lists itself', ['c < c b', 'b'], 'c < b'],
    ['another lists itself', ['c < b', 'b < b'], 'c < b'],
    ['its list repeats itself', ['c < b b a b', 'b'], 'c < b a'],
  ])('%s', (_, given, expected) => expect(merge(given)).toBe(expected))
})

describe('changes merge into a new one', () => {
  test.each([
    ['neither descends from the other', ['a', 'b'], 'new < a b = a + b'],
    ['they only share an ancestor', ['a < x', 'b < x'], 'new < a b x = a + b'],
    ['one descends from some of the others', ['a', 'c < a', 'b'], 'new < c b a = c + b'],
    ['two claim each other', ['a < b x', 'b < a y'], 'new < a b = a + b'],
    ['three claim each other in a ring', ['a < b', 'b < c', 'c < a'], 'new < a b c = a + b + c'],
    [
      'two claim each other and a third claims both',
      ['a < b c', 'b < c', 'c < b'],
      'new < a b c = a + b + c',
    ],
    ['the same CPID comes twice', ['a', 'b', 'a'], 'new < a b = a + b'],
  ])('%s', (_, given, expected) => expect(merge(given)).toBe(expected))
})

describe('ancestors are nearest first', () => {
  test.each([
    ['its own list before what the others add', ['c < b', 'b < a x'], 10, 'c < b a x'],
    ['what the others add, in turn', ['d < b c', 'b < b1 b2', 'c < c1 c2'], 10, 'd < b c b1 c1 b2 c2'],
    ['no more than may be', ['d < b c', 'b < b1 b2', 'c < c1 c2'], 3, 'd < b c b1'],
    ['its own list is cut too', ['d < c b a'], 2, 'd < c b'],
    ['sources, then theirs in turn', ['a < a1 a2 a3', 'b < b1'], 10, 'new < a b a1 b1 a2 a3 = a + b'],
    [
      'those of a merged ancestor come a place later',
      ['a < x', 'x < y', 'b < b1 b2'],
      10,
      'new < a b x b1 b2 y = a + b',
    ],
    ['more sources than may be', ['a', 'b', 'c'], 2, 'new < a b = a + b + c'],
    ['none wanted of a new CPID', ['a < x', 'b'], 0, 'new < = a + b'],
    ['none wanted of one that stands', ['b < a', 'a'], 0, 'b <'],
  ])('%s', (_, given, most, expected) => expect(merge(given, most)).toBe(expected))
})

test('no contexts begin a root change', () => {
  expect(merge([])).toBe('new < = ')
})

test('a thousand contexts merge, or find the one that stands for them', () => {
  const cpids = Array.from({ length: 1000 }, (_, number) => `c${number}`)
  const apart = mergeTraceContexts(
    cpids.map((cpid) => ({ cpid, ancestors: [`${cpid}x`] })),
    { maxAncestors: 10, newCpid: () => 'new' },
  )
  expect(apart.mergelog?.sources).toEqual(cpids)
  expect(apart.context.ancestors).toEqual(cpids.slice(0, 10))
  const chained = cpids.map((cpid, number) => ({ cpid, ancestors: [`c${number + 1}`] }))
  expect(mergeTraceContexts(chained.toReversed(), { maxAncestors: 10, newCpid: () => 'new' })).toEqual({
    context: { cpid: 'c0', ancestors: cpids.slice(1, 11) },
  })
})
