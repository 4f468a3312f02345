import { expect, test } from '@jest/globals'
import { cpid, mergelogEvent, type SpanSketch } from '../support/otlp-requests.ts'
import {
  changeIt,
  DEPLOYMENT,
  FIRST,
  makeIt,
  MERGED,
  MINUTE,
  observed,
  SECOND,
} from '../support/changed-again.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

const ALPHA = cpid(0xa)
const WAIT = 10_000
const UNKNOWN = 'v1/secrets/default/unknown?rv=77'
/** More than follows at once. */
const DEEP = 2_500

const podAt = (number: number): string => `v1/pods/default/p${number}?rv=1`

/** A piece of work with an original trace of its own that follows from others. */
function work(
  number: number,
  after: readonly (number | string)[],
  more: Partial<SpanSketch> = {},
): SpanSketch {
  const observed = after.map((one) => (typeof one === 'string' ? one : podAt(one)))
  const attributes = { 'cpid.observed': observed, 'cpid.wrote': [podAt(number)] }
  return { trace: number, id: number, cpid: ALPHA, start: number, end: number + 1, attributes, ...more }
}

/** Each follows from the one before, and the first from something that nobody says to have written; the last comes first. */
function chain(length: number): SpanSketch[] {
  return Array.from({ length }, (_, at) => work(length - at, [length - at === 1 ? UNKNOWN : length - at - 1]))
}

async function begun(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  return writer
}

/** Lets time go by, a second at a time. */
function pass(writer: TestWriter, seconds: number): void {
  for (let passed = 0; passed < seconds; passed++) writer.pass(1_000)
}

/** A change below which each span hangs under the one before. */
const nested = (...spans: string[]): string[] =>
  ['change @kubectl', ...spans].map((name, depth) => '  '.repeat(depth) + name)

const drawn = (writer: TestWriter): string[] => drawTrace(writer.sent(), traceOf(ALPHA)).split('\n')

const waiting = (writer: TestWriter): number => writer.rows('waiting')

test('a span that waits for a missing writer gives up first, and spans that wait for that span hang below it', async () => {
  using writer = await begun()
  writer.spans('one', chain(4))
  writer.pass(WAIT - 1)
  expect(drawn(writer)).toEqual(['change @kubectl'])
  writer.pass(1)
  expect(drawn(writer)).toEqual(nested('span 1 @one', 'span 2 @one', 'span 3 @one', 'span 4 @one'))
  expect(waiting(writer)).toBe(0)
})

test('a span that waits for a later span waits as long as that one, and no span waits longer than twice the wait', async () => {
  using writer = await begun()
  writer.spans('third', [work(3, [2])])
  pass(writer, 9)
  writer.spans('second', [work(2, [1])])
  pass(writer, 9)
  expect(drawn(writer)).toEqual(['change @kubectl'])
  writer.spans('first', [work(1, [UNKNOWN])])
  pass(writer, 3)
  expect(drawn(writer)).toEqual(['change @kubectl', '  span 3 @third'])
  pass(writer, 7)
  const tree = ['change @kubectl', '  span 3 @third', '  span 1 @first', '    span 2 @second']
  expect(drawn(writer).sort()).toEqual(tree.sort())
})

test('a span that is looked at early because a mergelog came gives up no sooner', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('merger', [{ new: MERGED, sources: [FIRST, SECOND] }, { new: SECOND }])
  writer.spans('two', [{ trace: 1, id: 2, parent: 1, cpid: MERGED, start: 3, end: 4 }])
  writer.spans('three', [{ trace: 1, id: 3, parent: 2, cpid: MERGED, start: 5, end: 6 }])
  pass(writer, 1)
  writer.mergelogs('kubectl', [{ new: FIRST }])
  pass(writer, 1)
  writer.spans('one', [{ trace: 1, id: 1, cpid: FIRST, start: 1, end: 2, attributes: observed(UNKNOWN) }])
  writer.pass(3 * WAIT)
  const activity = writer.db.prepare('SELECT root FROM audit_cascade_spans WHERE activity = ?').pluck()
  expect(activity.all('yes')).toEqual([FIRST, FIRST, FIRST])
})

test('a span that arrives after the span it waits for also waits for what that one waits for', async () => {
  using writer = await begun()
  writer.spans('second', [work(2, [1])])
  writer.link()
  writer.spans('third', [work(3, [2])])
  pass(writer, 9)
  writer.spans('first', [work(1, [UNKNOWN])])
  pass(writer, 10)
  expect(drawn(writer)).toEqual(nested('span 1 @first', 'span 2 @second', 'span 3 @third'))
})

test('a version that was waited for in vain is waited for again once its writer has arrived and waits itself', async () => {
  using writer = await begun()
  writer.spans('early', [work(9, [1])])
  writer.pass(3 * WAIT)
  writer.spans('first', [work(1, [UNKNOWN])])
  writer.pass(5_000)
  writer.spans('second', [work(2, [1])])
  writer.pass(5_001)
  expect(drawn(writer)).toEqual([
    'change @kubectl',
    '  span 9 @early',
    '  span 1 @first',
    '    span 2 @second',
  ])
})

test('one turn decides only a few spans of a long chain, and a restart in the middle goes on', async () => {
  using first = await begun()
  first.spans('one', chain(DEEP))
  first.link()
  first.clock.advance(WAIT)
  let after = first
  let before = waiting(after)
  for (let turns = 0; after.writer.reader.isAnythingDue(); turns++) {
    after.writer.linking.expire(500)
    expect(before - waiting(after)).toBeLessThanOrEqual(1_500)
    before = waiting(after)
    if (turns % 3 === 2) after = after.reopened()
  }
  expect(before).toBe(0)
  const tree = drawn(after)
  expect(tree).toHaveLength(DEEP + 1)
  for (const depth of [1, 2, 100, 256]) expect(tree[depth]).toBe(`${'  '.repeat(depth)}span ${depth} @one`)
})

test('one turn decides only a few of many spans that wait for one span', async () => {
  using writer = await begun()
  writer.spans(
    'one',
    Array.from({ length: DEEP }, (_, at) => work(at + 2, [1])),
  )
  writer.link()
  writer.spans('one', [work(1, [])])
  writer.writer.link(500)
  expect(waiting(writer)).toBeGreaterThanOrEqual(DEEP - 1_500)
  writer.pass(0)
  expect(waiting(writer)).toBe(0)
  expect(drawn(writer).filter((line) => line.startsWith('    span'))).toHaveLength(DEEP)
})

test('one turn decides only a few of many children that wait for their parent, and all get its CPID', async () => {
  using writer = await begun()
  const { trace } = work(1, [])
  writer.spans(
    'one',
    Array.from({ length: DEEP }, (_, at) => ({ trace, id: at + 2, parent: 1, name: 'child' })),
  )
  writer.link()
  writer.spans('one', [work(1, [])])
  writer.writer.link(500)
  expect(waiting(writer)).toBeGreaterThanOrEqual(DEEP - 1_500)
  writer.pass(0)
  expect(drawn(writer).filter((line) => line.startsWith('    child'))).toHaveLength(DEEP)
})

test('spans that wait for each other come to an end: one gives up, and spans that wait for them hang below them', async () => {
  using writer = await begun()
  writer.spans('tail', [work(5, [4]), work(4, [3])])
  writer.spans('knot', [work(1, [3]), work(2, [1]), work(3, [2])])
  writer.pass(WAIT)
  expect(drawn(writer)).toEqual(['change @kubectl'])
  writer.pass(1)
  expect(drawn(writer)).toEqual(
    nested('span 1 @knot', 'span 2 @knot', 'span 3 @knot', 'span 4 @tail', 'span 5 @tail'),
  )
  expectSoundTraces(writer.sent())
})

test('a circle of waiting spans that is too large to be searched ends too, after twice the wait', async () => {
  using writer = await begun()
  const large = 150
  writer.spans(
    'knot',
    Array.from({ length: large }, (_, at) => work(at + 1, [at === 0 ? large : at])),
  )
  writer.pass(WAIT)
  writer.pass(1)
  expect(waiting(writer)).toBe(large)
  writer.pass(WAIT)
  expect(waiting(writer)).toBe(0)
  expect(drawn(writer)).toHaveLength(large + 1)
})

test('a parent that observed what its child wrote waits for nobody', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.link()
  const mine = { trace: 70, cpid: MERGED, start: MINUTE + 100 }
  writer.spans('controller', [
    { ...mine, id: 71, parent: 70, name: 'update', attributes: { 'cpid.wrote': [podAt(5)] } },
    {
      ...mine,
      id: 70,
      name: 'reconcile',
      attributes: { 'cpid.observed': [`${DEPLOYMENT}?rv=20`, podAt(5)] },
    },
  ])
  writer.link()
  expect(waiting(writer)).toBe(0)
  expect(drawTrace(writer.sent(), traceOf(SECOND))).toContain(
    '    reconcile @controller\n        update @controller',
  )
})

test.each([
  ['nobody', []],
  [
    'a child of its own',
    [{ trace: 3, id: 31, parent: 3, cpid: ALPHA, attributes: { 'cpid.wrote': [`${DEPLOYMENT}?rv=9`] } }],
  ],
])('where %s wrote what a span observed it waits for who wrote the version before', async (_, children) => {
  using writer = await begun()
  const observes = { 'cpid.observed': [`${DEPLOYMENT}?rv=9`] }
  const writes = { 'cpid.observed': [podAt(1)], 'cpid.wrote': [`${DEPLOYMENT}?rv=8`] }
  writer.spans('before', [work(2, [], { attributes: writes })])
  writer.spans('observer', [...children, work(3, [], { attributes: observes })])
  writer.spans('first', [work(1, [UNKNOWN])])
  for (let looks = 0; looks < 2; looks++) writer.pass(WAIT)
  expect(drawn(writer).slice(0, 4)).toEqual(nested('span 1 @first', 'span 2 @before', 'span 3 @observer'))
})

test('a span that waits for a writer without a CPID leaves when the writer leaves', async () => {
  using writer = await begun()
  writer.spans('observer', [work(2, [1])])
  writer.pass(5_000)
  const attributes = { 'cpid.wrote': [podAt(1)] }
  writer.spans('stranger', [{ trace: 1, id: 1, parent: 99, attributes }])
  writer.pass(9_999)
  expect(waiting(writer)).toBe(2)
  writer.pass(1)
  expect(waiting(writer)).toBe(0)
  expect(drawn(writer)).toEqual(['change @kubectl', '  span 2 @observer'])
})

test('a merge waits for the span that told of it as long as that waits for others', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.pass(11_000)
  const told = { new: cpid(9), sources: [MERGED], time: 90_000 }
  const at = { cpid: cpid(9), start: 90_000 }
  writer.spans('teller', [{ ...work(60, [61, `${DEPLOYMENT}?rv=20`], at), events: [mergelogEvent(told)] }])
  pass(writer, 9)
  writer.spans('other', [work(61, [62], { cpid: MERGED })])
  pass(writer, 9)
  writer.spans('other', [work(62, [UNKNOWN, `${DEPLOYMENT}?rv=20`], { cpid: MERGED })])
  pass(writer, 1)
  expect(writer.sent().some(({ service }) => service === 'teller')).toBe(false)
  pass(writer, 12)
  const merges = writer.db
    .prepare<[], string>(`SELECT root FROM audit_cascade_spans WHERE name = 'span 60' AND activity = 'yes'`)
    .pluck()
    .all()
  expect(merges).toEqual([SECOND])
  writer.pass(300_001)
  const said = writer.sent().filter(({ name }) => name === 'cascade')
  expect(said.map(({ attributes }) => attributes['cpid.cascade.merges']).sort()).toEqual([0, 2])
})

test('a parent without a CPID that comes late is activity of what drives its children', async () => {
  using writer = await TestWriter.open()
  makeIt(writer)
  changeIt(writer)
  writer.link()
  const attributes = observed(`${DEPLOYMENT}?rv=20`)
  writer.spans('controller', [{ trace: 6, id: 61, parent: 60, cpid: MERGED, start: MINUTE + 50, attributes }])
  writer.pass(10_001)
  writer.spans('controller', [{ trace: 6, id: 60, start: MINUTE + 40, name: 'loop' }])
  writer.link()
  const activity = writer.db
    .prepare<[], string>(
      `SELECT root || ' ' || activity FROM audit_cascade_spans WHERE name = 'loop' ORDER BY root`,
    )
    .pluck()
    .all()
  expect(activity).toEqual([`${FIRST} no`, `${SECOND} yes`])
})
