import { afterEach, expect, test } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { FromQuery, ToQuery } from '../../src/app/query-messages.ts'
import { serveQueries } from '../../src/app/serve-queries.ts'
import type { CausewayQueries, MergelogFacts } from '../../src/model/query-port.ts'
import { id } from '../query/asking.ts'

const ports: MessagePort[] = []

afterEach(() => {
  for (const port of ports.splice(0)) port.close()
})

/** Queries in which only the list of all mergelogs works, and has no end. */
class EndlessQueries {
  pages = 0
  isReturned = false

  cpid(): never {
    throw new Error('the disk is on fire')
  }

  *mergelogs(): Generator<MergelogFacts[]> {
    try {
      for (;;) {
        this.pages++
        yield Array.from({ length: 100 }, (_, at) => mergelog(at))
      }
    } finally {
      this.isReturned = true
    }
  }
}

function mergelog(at: number): MergelogFacts {
  return {
    position: [1n, BigInt(at)],
    cpid: id(at + 1),
    sources: [],
    timeNs: 1n,
    service: undefined,
    object: undefined,
    reason: undefined,
    cluster: undefined,
  }
}

function served(): { queries: EndlessQueries; tell: (message: ToQuery) => void; heard: FromQuery[] } {
  const queries = new EndlessQueries()
  const { port1, port2 } = new MessageChannel()
  ports.push(port1, port2)
  const heard: FromQuery[] = []
  port1.on('message', (message: FromQuery) => heard.push(message))
  serveQueries(port2, {
    queries: queries as unknown as CausewayQueries,
    salt: '',
    dataVersion: () => '1',
    onStop: () => undefined,
  })
  return { queries, tell: (message) => port1.postMessage(message), heard }
}

const ASK: ToQuery = { kind: 'ask', id: 1, question: { kind: 'mergelogs', part: {} }, known: [] }
const chunksIn = (heard: readonly FromQuery[]): number => heard.filter(({ kind }) => kind === 'chunk').length

test('no more than four chunks are under way unread', async () => {
  const { queries, tell, heard } = served()
  tell(ASK)
  await pause(100)
  expect(chunksIn(heard)).toBe(4)
  const { pages } = queries
  await pause(50)
  expect(queries.pages).toBe(pages)
  tell({ kind: 'read', id: 1 })
  tell({ kind: 'read', id: 1 })
  await pause(100)
  expect(chunksIn(heard)).toBe(6)
  for (const message of heard)
    if (message.kind === 'chunk') expect(message.text.length).toBeLessThan(128 * 1024)
})

test('an answer that nobody reads any more is not made further', async () => {
  const { queries, tell, heard } = served()
  tell(ASK)
  await pause(50)
  tell({ kind: 'cancel', id: 1 })
  tell({ kind: 'read', id: 1 })
  await pause(50)
  expect(queries.isReturned).toBe(true)
  expect(chunksIn(heard)).toBe(4)
})

test('a question that fails is answered so, and others go on', async () => {
  const { tell, heard } = served()
  tell({ kind: 'ask', id: 7, question: { kind: 'cpid', cpid: id(1) }, known: [] })
  tell(ASK)
  await pause(50)
  expect(heard).toContainEqual({ kind: 'failed', id: 7, reason: 'the disk is on fire' })
  expect(chunksIn(heard)).toBe(4)
})
