import { once } from 'node:events'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, expect, test } from '@jest/globals'
import type { CausewayQueries, MergelogFacts } from '../../src/model/queries.ts'
import type { Clock, Timers } from '../../src/model/time-and-size.ts'
import { systemClock, systemTimers } from '../../src/platform/system-clock.ts'
import type { FromQuery, ToQuery } from '../../src/query/threads/query-messages.ts'
import { serveQueries } from '../../src/query/threads/query-thread.ts'
import { id as cpidOf } from '../query/asking.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestTimers } from '../support/test-timers.ts'

const ports: MessagePort[] = []

afterEach(async () => {
  for (const port of ports.splice(0)) {
    port.postMessage({ kind: 'stop' } satisfies ToQuery)
    await once(port, 'close')
  }
})

/** Queries in which only the list of all mergelogs works, and has no end. */
class EndlessQueries {
  pages = 0
  bytesRead = 0
  /** What each mergelog says. */
  reason: string | undefined
  isReturned = false

  cpid(): never {
    throw new Error('the disk is on fire')
  }

  *mergelogs(): Generator<MergelogFacts[]> {
    try {
      for (;;) {
        this.pages++
        const count = this.reason === undefined ? 100 : 1
        yield Array.from({ length: count }, (_, at) => ({ ...mergelog(at), reason: this.reason }))
      }
    } finally {
      this.isReturned = true
    }
  }
}

function mergelog(at: number): MergelogFacts {
  return {
    position: [1n, BigInt(at)],
    cpid: cpidOf(at + 1),
    sources: [],
    timeNs: 1n,
    service: undefined,
    object: undefined,
    reason: undefined,
    cluster: undefined,
  }
}

/** What answers questions, and what it was heard to say. */
class Served {
  readonly queries = new EndlessQueries()
  readonly heard: FromQuery[] = []
  readonly #port: MessagePort
  #asked = 1_000
  #said = Promise.withResolvers<undefined>()

  constructor(clock: Clock = systemClock, timers: Pick<Timers, 'soon' | 'after'> = systemTimers) {
    const { port1, port2 } = new MessageChannel()
    ports.push(port1)
    this.#port = port1
    port1.on('message', (message: FromQuery) => {
      this.heard.push(message)
      this.#said.resolve(undefined)
    })
    serveQueries(port2, {
      queries: this.queries as unknown as CausewayQueries,
      salt: '',
      dataVersion: () => '1',
      onStop: () => undefined,
      clock,
      timers,
      onMade: () => undefined,
      cpuMs: () => clock.monotonicMs(),
    })
  }

  get chunks(): number {
    return this.heard.filter(({ kind }) => kind === 'chunk').length
  }

  tell(message: ToQuery): void {
    this.#port.postMessage(message)
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.#said = Promise.withResolvers()
      await this.#said.promise
    }
  }

  /** Lets it have many turns: as many other questions are asked and answered, one after the other. */
  async manyTurns(): Promise<void> {
    for (let turn = 0; turn < 50; turn++) {
      const id = ++this.#asked
      this.tell({ kind: 'ask', id, question: { kind: 'cpid', cpid: cpidOf(1) }, known: [], asker })
      await this.until(() => this.heard.some((message) => 'id' in message && message.id === id))
    }
  }
}

const asker = { address: '', connection: 0 }
const ASK: ToQuery = { kind: 'ask', id: 1, question: { kind: 'mergelogs', part: {} }, known: [], asker }

test('one chunk is made before anything is read, and no more than four are under way unread', async () => {
  const served = new Served()
  served.tell(ASK)
  await served.until(() => served.chunks === 1)
  const { pages } = served.queries
  await served.manyTurns()
  expect(served.queries.pages).toBe(pages)
  served.tell({ kind: 'read', id: 1 })
  await served.until(() => served.chunks === 5)
  served.tell({ kind: 'read', id: 1 })
  await served.until(() => served.chunks === 6)
  await served.manyTurns()
  expect(served.chunks).toBe(6)
  for (const message of served.heard)
    if (message.kind === 'chunk') expect(message.text.length).toBeLessThan(128 * 1024)
})

test('an answer that nobody reads any more is not made further', async () => {
  const served = new Served()
  served.tell(ASK)
  await served.until(() => served.chunks === 1)
  served.tell({ kind: 'cancel', id: 1 })
  served.tell({ kind: 'read', id: 1 })
  await served.manyTurns()
  expect(served.queries.isReturned).toBe(true)
  expect(served.chunks).toBe(1)
})

test('of very many long answers to one asker some are begun, and another one whenever one of them is over', async () => {
  const served = new Served()
  const most = 16
  const long = { question: { kind: 'mergelogs', part: {} }, known: [] } as const
  for (let id = 1; id <= most + 3; id++) served.tell({ kind: 'ask', id, ...long, asker })
  await served.until(() => served.chunks === most)
  served.tell({ kind: 'cancel', id: most + 1 })
  served.tell({ kind: 'cancel', id: 7 })
  await served.until(() => served.chunks > most)
  served.tell({ kind: 'read', id: most + 2 })
  await served.until(() => served.chunks === most + 5)
  const begun = served.heard.flatMap((message) => (message.kind === 'found' ? [message.id] : []))
  expect(begun.sort((one, other) => one - other)).toEqual([
    ...Array.from({ length: most }, (_, at) => at + 1),
    most + 2,
  ])
})

test('who asks very much keeps nobody else waiting', async () => {
  const served = new Served()
  const long = { question: { kind: 'mergelogs', part: {} }, known: [] } as const
  for (let id = 1; id <= 40; id++)
    served.tell({ kind: 'ask', id, ...long, asker: { address: 'much', connection: 1 } })
  served.tell({ kind: 'ask', id: 41, ...long, asker: { address: 'another', connection: 2 } })
  await served.until(() => served.heard.some((message) => message.kind === 'found' && message.id === 41))
  await served.manyTurns()
  expect(served.chunks).toBe(17)
})

test('a question that fails is answered so, and others go on', async () => {
  const served = new Served()
  served.tell({ kind: 'ask', id: 7, question: { kind: 'cpid', cpid: cpidOf(1) }, known: [], asker })
  served.tell(ASK)
  await served.until(() => served.chunks === 1)
  expect(served.heard).toContainEqual({ kind: 'failed', id: 7, reason: 'the disk is on fire' })
})

test('answers of large rows that nobody reads hold little together, and keep nobody waiting who holds nothing', async () => {
  const clock = new TestClock()
  const timers = new TestTimers(clock)
  const served = new Served(clock, {
    soon: (work) => systemTimers.soon(work),
    after: (ms, work) => timers.after(ms, work),
  })
  served.queries.reason = 'x'.repeat(9 * 1024 * 1024)
  const asked = { question: { kind: 'mergelogs', part: {} }, known: [] } as const
  for (let id = 1; id <= 32; id++)
    served.tell({ kind: 'ask', id, asker: { address: `asker ${id % 2}`, connection: id }, ...asked })
  await served.until(() => served.chunks === 2)
  await served.manyTurns()
  // The beginnings of two, one for each asker.
  expect([served.chunks, served.queries.pages]).toEqual([2, 2])
  // One of them ends once it has stood still, and the next one begins.
  timers.pass(2_000)
  await served.until(() => served.heard.some(({ kind }) => kind === 'unread'))
  await served.until(() => served.chunks === 3)
  for (const message of served.heard)
    if (message.kind === 'chunk') expect(message.text.length).toBeLessThanOrEqual(64 * 1024)
})
