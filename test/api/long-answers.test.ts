import { on } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { expect, test } from '@jest/globals'
import { cpidOfDigits } from '../../src/model/merge-graph.ts'
import type { CausewayQueries } from '../../src/model/queries.ts'
import { systemTimers } from '../../src/platform/system-clock.ts'
import type { Asker, Question, Reply } from '../../src/query/question.ts'
import { CostlyAskers } from '../../src/query/threads/short-answers.ts'
import type { AnswerLength, FromQuery, ToQuery } from '../../src/query/threads/query-messages.ts'
import { QueryThreads } from '../../src/query/threads/query-threads.ts'
import { serveQueries } from '../../src/query/threads/query-thread.ts'
import { figureSeven } from '../query/figure-seven.ts'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'

/** A row of so many characters is one piece of work, whoever waits. */
const LARGE = 24_000_000
const ROWS = 2
const LONG: Question = { kind: 'spans', part: {} }
const SHORT: Question = { kind: 'cpid', cpid: cpidOfDigits(cpid(2).replaceAll('-', '')) }
const MUCH: Asker = { address: '10.0.0.1', connection: 1 }
const NEIGHBOUR: Asker = { address: '10.0.0.1', connection: 2 }

async function textOf(reply: Reply): Promise<string> {
  if (reply.kind !== 'found') throw new Error(reply.kind)
  let text = ''
  for await (const chunk of reply.text) text += chunk
  return text
}

test('nobody waits for the long answers of somebody else', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  for (let row = 1; row <= ROWS; row++)
    writer.ingest(
      'traces',
      spansRequest('large', [
        { trace: 9_000 + row, id: 9_000 + row, attributes: { note: 'x'.repeat(LARGE) } },
      ]),
    )
  await using queries = new QueryThreads(path)

  // The neighbour has shown that it asks what is answered soon, the other one what is not.
  await queries.ask(SHORT, [], undefined, NEIGHBOUR)
  const whole = await textOf(await queries.ask(LONG, [], undefined, MUCH))
  expect(whole.length).toBeGreaterThan(ROWS * LARGE)

  const order: string[] = []
  const long = queries.ask(LONG, [], undefined, MUCH).then(async (reply) => {
    order.push('long begins')
    expect(await textOf(reply)).toBe(whole)
    order.push('long ends')
  })
  for (let at = 0; at < 3; at++) {
    await textOf(await queries.ask(SHORT, [], undefined, NEIGHBOUR))
    order.push('short')
  }
  await long
  expect(order).toEqual(['short', 'short', 'short', 'long begins', 'long ends'])
})

test('an answer is known again by its etag, whichever thread gave it', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  await using queries = new QueryThreads(path)
  const cascades = JSON.parse(
    await textOf(await queries.ask({ kind: 'cascades', filter: {}, part: {} })),
  ) as {
    cascades: { root: string }[]
  }
  const root = cpidOfDigits((cascades.cascades[0]?.root ?? '').replaceAll('-', ''))
  const first = await queries.ask({ kind: 'cascade', root }, [], undefined, NEIGHBOUR)
  if (first.kind !== 'found' || first.etag === undefined) throw new Error(first.kind)
  await textOf(first)
  writer.ingest(
    'traces',
    spansRequest('large', [{ trace: 9_001, id: 9_001, attributes: { note: 'x'.repeat(LARGE) } }]),
  )
  await textOf(await queries.ask(LONG, [], undefined, MUCH))
  for (const asker of [NEIGHBOUR, MUCH])
    expect(await queries.ask({ kind: 'cascade', root }, [first.etag], undefined, asker)).toMatchObject({
      kind: 'notModified',
    })
})

test('the first question of a connection is looked at, after others where its address has asked what took long', () => {
  const clock = { nowMs: 0 }
  const askers = new CostlyAskers(() => clock.nowMs)
  const of = (connection: number, address = '10.0.0.1'): Asker => ({ address, connection })
  const waits = (...connections: number[]): number[] =>
    connections.map((connection) => askers.waitMs(of(connection), 'not asked before'))
  const asked = (connection: number, what: 'short' | 'long', tookMs: number): void =>
    askers.asked(of(connection), `question of ${connection}`, what, tookMs)
  asked(1, 'short', 1)
  expect(waits(1, 2, 3)).toEqual([0, 0, 0])
  asked(2, 'long', 20)
  expect(waits(1, 2, 3, 4)).toEqual([0, Infinity, 80, 80])
  expect(askers.waitMs(of(5, '10.0.0.2'), 'not asked before')).toBe(0)
  asked(1, 'short', 10)
  asked(2, 'long', 10)
  clock.nowMs = 80
  expect(waits(1, 2, 3, 4)).toEqual([0, Infinity, 0, 0])
  asked(3, 'short', 1)
  expect(waits(2, 3, 4)).toEqual([Infinity, 0, 4])
  // Found costly twice, a connection counts as such for twice as long.
  clock.nowMs = 15_999
  expect(waits(2, 3, 4)).toEqual([Infinity, 0, 0])
  clock.nowMs = 60_081
  expect(waits(1, 2, 3, 4)).toEqual([0, 0, 0, 0])
})

test('a question that took long is tried again after a minute, and a connection that asked one ever later', () => {
  const clock = { nowMs: 0 }
  const askers = new CostlyAskers(() => clock.nowMs)
  const tries = { report: [] as number[], unknown: [] as number[] }
  for (; clock.nowMs < 300_000; clock.nowMs += 1_000) {
    if (askers.waitMs(NEIGHBOUR, 'report') === 0) {
      tries.report.push(clock.nowMs / 1_000)
      askers.asked(NEIGHBOUR, 'report', 'slow', 10)
    }
    const unknown = `asked at ${clock.nowMs}`
    if (askers.waitMs(MUCH, unknown) !== 0) continue
    tries.unknown.push(clock.nowMs / 1_000)
    askers.asked(MUCH, unknown, 'slow', 10)
  }
  expect(tries).toEqual({ report: [0, 60, 120, 180, 240], unknown: [1, 5, 13, 29, 61, 121, 181, 241] })
  expect(askers.wasShort('report')).toBe(false)
  askers.asked(NEIGHBOUR, 'report', 'short', 1)
  expect([askers.wasShort('report'), askers.waitMs(NEIGHBOUR, 'report')]).toEqual([true, 0])
})

test('what took a little long in a thread that has just begun is short as soon as another thread finds it so', async () => {
  using writer = await figureSeven(':memory:', {})
  const queries = writer.queries()
  const cascade = queries.cascade.bind(queries)
  let [cpuMs, takesMs] = [0, 11]
  queries.cascade = (root) => {
    cpuMs += takesMs
    return cascade(root)
  }
  using short = oneThread(queries, 'short', () => cpuMs)
  using long = oneThread(queries, 'any', () => cpuMs)
  const question = { kind: 'cascade', root: cpidOfDigits(cpid(1).replaceAll('-', '')) } as const
  const unknown = { ...SHORT, kind: 'roots' } as const
  expect(await short.answer(1, question, MUCH)).toEqual({ kind: 'long', id: 1 })
  expect(await short.answer(2, question, MUCH)).toEqual({ kind: 'long', id: 2 })

  expect(await long.answer(3, question, MUCH)).toMatchObject({ kind: 'found' })
  expect(await long.next()).toMatchObject({ kind: 'chunk' })
  expect(await long.next()).toEqual({ kind: 'end', id: 3, isShort: true })
  short.tell({ kind: 'short', question, connection: MUCH.connection })
  expect(await short.answer(4, question, MUCH)).toMatchObject({ kind: 'whole' })
  expect(await short.answer(5, unknown, MUCH)).toMatchObject({ kind: 'whole' })

  takesMs = 51
  expect(await short.answer(6, question, MUCH)).toEqual({ kind: 'long', id: 6 })
  expect(await long.answer(7, question, MUCH)).toMatchObject({ kind: 'found' })
  expect(await long.next()).toMatchObject({ kind: 'chunk' })
  expect(await long.next()).toEqual({ kind: 'end', id: 7 })
})

test('what reads too much stays long, in however little time another thread answered it', () => {
  const askers = new CostlyAskers(() => 0)
  askers.asked(MUCH, 'report', 'long', 1)
  expect(askers.waitMs(MUCH, 'not tried')).toBe(Infinity)
  askers.foundShort('report', MUCH.connection)
  askers.foundShort('not tried', MUCH.connection)
  expect(askers.waitMs(MUCH, 'report')).toBe(Infinity)
  expect(askers.waitMs(MUCH, 'not tried')).toBe(0)
  expect(askers.waitMs(MUCH, 'not asked before')).toBe(Infinity)
  askers.asked(MUCH, 'table', 'slow', 11)
  expect(askers.waitMs(NEIGHBOUR, 'table')).toBe(Infinity)
  askers.foundShort('table', MUCH.connection)
  expect([askers.waitMs(NEIGHBOUR, 'table'), askers.wasShort('table')]).toEqual([0, true])
})

test('a question that is known is taken for what it was, whoever asks it', () => {
  const clock = { nowMs: 0 }
  const askers = new CostlyAskers(() => clock.nowMs)
  const asker = (connection: number): Asker => ({ address: '10.0.0.1', connection })
  askers.asked(asker(1), 'short one', 'short', 1)
  askers.asked(asker(2), 'long one', 'long', 10)
  const waits = (key: string): number[] =>
    [1, 2, 3].map((connection) => askers.waitMs(asker(connection), key))
  expect(waits('short one')).toEqual([0, 0, 0])
  expect(waits('long one')).toEqual([Infinity, Infinity, Infinity])
  expect(waits('another')).toEqual([0, Infinity, 40])
  askers.asked(asker(2), 'long one', 'short', 1)
  expect(waits('long one')).toEqual([0, 0, 0])
  clock.nowMs = 60_001
  expect(waits('another')).toEqual([0, 0, 0])
})

test('the thread for short answers sorts no long walk', async () => {
  using writer = await figureSeven(':memory:', {})
  const hub = cpid(100_000)
  const mergelogs = Array.from({ length: 2_100 }, (_, at) => ({ new: cpid(200_000 + at), sources: [hub] }))
  writer.ingest('logs', mergelogsRequest('hub-ctl', mergelogs))
  using thread = oneThread(writer.queries(), 'short')
  const first = { kind: 'mergelogs', part: { limit: 1 } } as const
  const ofHub = { ...first, cpid: cpidOfDigits(hub.replaceAll('-', '')) }
  expect(await thread.answer(1, ofHub, MUCH)).toEqual({ kind: 'long', id: 1 })
  expect(await thread.answer(2, first, NEIGHBOUR)).toMatchObject({ kind: 'whole' })
})

test('the thread for short answers reads nothing more once an answer has taken long', async () => {
  using writer = await figureSeven(':memory:', {})
  const queries = writer.queries()
  const cascade = queries.cascade.bind(queries)
  const asked: string[] = []
  let cpuMs = 0
  queries.cascade = (root) => {
    cpuMs += 11
    return cascade(root)
  }
  queries.mergelogsIn = () => {
    asked.push('mergelogs')
    return []
  }
  using thread = oneThread(queries, 'short', () => cpuMs)
  const root = cpidOfDigits(cpid(1).replaceAll('-', ''))
  expect(await thread.answer(1, { kind: 'cascade', root }, MUCH)).toEqual({ kind: 'long', id: 1 })
  expect(asked).toEqual([])
})

test('the thread for short answers makes no text of large rows', async () => {
  using writer = await figureSeven(':memory:', {})
  writer.ingest(
    'traces',
    spansRequest('large', [{ trace: 9_001, id: 9_001, attributes: { note: 'x'.repeat(LARGE / 4) } }]),
  )
  using thread = oneThread(writer.queries(), 'short')
  expect(await thread.answer(1, SHORT, NEIGHBOUR)).toMatchObject({ kind: 'whole' })
  expect(await thread.answer(2, LONG, MUCH)).toEqual({ kind: 'long', id: 2 })
  expect(Math.max(...thread.made)).toBeLessThan(LARGE / 8)
  expect(await thread.answer(3, SHORT, NEIGHBOUR)).toMatchObject({ kind: 'whole' })
  // What is known to be short is answered whoever asks, and what is not known is long if long ones were asked before.
  expect(await thread.answer(4, SHORT, MUCH)).toMatchObject({ kind: 'whole' })
  expect(await thread.answer(5, { ...SHORT, kind: 'roots' }, MUCH)).toEqual({ kind: 'long', id: 5 })
})

interface OneThread extends Disposable {
  /** How long each text was that it made. */
  readonly made: readonly number[]
  answer(id: number, question: Question, asker: Asker): Promise<FromQuery>
  /** What it says next. */
  next(): Promise<FromQuery>
  tell(message: ToQuery): void
}

/** What answers questions in a thread of its own, in this one. */
function oneThread(
  queries: CausewayQueries,
  answers: AnswerLength,
  cpuMs: () => number = () => 0,
): OneThread {
  const { port1, port2 } = new MessageChannel()
  const made: number[] = []
  serveQueries(port2, {
    queries,
    answers,
    salt: '',
    dataVersion: () => '1',
    cpuMs,
    clock: { monotonicMs: () => 0 },
    timers: systemTimers,
    onMade: (length) => made.push(length),
    onStop: () => undefined,
  })
  const said = on(port1, 'message')
  const next = async (): Promise<FromQuery> => {
    const { value } = (await said.next()) as { value: [FromQuery] }
    return value[0]
  }
  return {
    made,
    answer: (id, question, asker) => {
      port1.postMessage({ kind: 'ask', id, question, known: [], asker } satisfies ToQuery)
      return next()
    },
    next,
    tell: (message) => port1.postMessage(message),
    [Symbol.dispose]: () => port1.close(),
  }
}

function freshFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'causeway-long-answers-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
