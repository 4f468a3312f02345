import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { eventually } from '../../lab/harness/eventually.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

const SPANS = 20_000

let api: QueryApi

beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await TestWriter.open({}, path)
    const filler = 'x'.repeat(300)
    for (let from = 0; from < SPANS; from += 1000) {
      writer.spans(
        `service ${from}`,
        Array.from({ length: 1000 }, (_, at) => ({
          trace: from + 1,
          id: from + at + 1,
          cpid: cpid(1),
          attributes: { filler },
        })),
      )
    }
    writer.link()
    return writer
  })
})

afterAll(() => api[Symbol.asyncDispose]())

const SPANS_OF_1 = `/api/v1/cpids/${cpid(1)}/spans`

test('20,000 spans stream in bounded chunks', async () => {
  const response = await api.fetch(SPANS_OF_1)
  let chunks = 0
  let longest = 0
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array
    chunks++
    longest = Math.max(longest, bytes.length)
    text += decoder.decode(bytes, { stream: true })
  }
  expect(chunks).toBeGreaterThan(50)
  expect(longest).toBeLessThanOrEqual(128 * 1024)
  const { resourceSpans } = JSON.parse(text) as {
    resourceSpans: { scopeSpans: { spans: { spanId: string }[] }[] }[]
  }
  const ids = resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => span.spanId)),
  )
  expect(new Set(ids).size).toBe(SPANS)
})

test('while one reader stands still others are answered, and writing and checkpoints go on', async () => {
  const slow = request(api.url + SPANS_OF_1)
  slow.end()
  const [response] = (await once(slow, 'response')) as [IncomingMessage]
  response.pause()
  // What is on its way to it comes to a stand meanwhile.
  for (let question = 0; question < 30; question++)
    expect((await api.get(`cpids/${cpid(1)}`)).status).toBe(200)
  api.writer.mergelogs('controller', [{ new: cpid(2) }])
  expect((await api.get(`cpids/${cpid(2)}`)).status).toBe(200)
  // A reader that held on to the database would make every checkpoint busy; while a part is made it does for a moment.
  await eventually(() =>
    expect(api.writer.db.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]),
  )
  let length = 0
  for await (const chunk of response) length += (chunk as Buffer).length
  expect(length).toBeGreaterThan(SPANS * 300)
})

test('a thousand readers that stand still hold up neither a question nor writing', async () => {
  const readers = await Promise.all(
    Array.from({ length: 1000 }, async (_, at) => {
      const slow = request(`${api.url}/api/v1/cascades/${at % 2 === 0 ? cpid(1) : cpid(1).toUpperCase()}`)
      slow.on('error', () => undefined)
      slow.end()
      const [response] = (await once(slow, 'response')) as [IncomingMessage]
      response.pause()
      return slow
    }),
  )
  expect((await api.get(`cpids/${cpid(1)}`)).status).toBe(200)
  api.writer.mergelogs('controller', [{ new: cpid(3) }])
  expect((await api.get(`cpids/${cpid(3)}`)).status).toBe(200)
  await eventually(() =>
    expect(api.writer.db.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]),
  )
  for (const slow of readers) slow.destroy()
  expect((await api.get(`cpids/${cpid(1)}`)).status).toBe(200)
})

test('a reader that hangs up stops the answer, and is no trouble', async () => {
  for (let time = 0; time < 20; time++) {
    const hasty = request(api.url + SPANS_OF_1)
    hasty.on('error', () => undefined)
    hasty.end()
    if (time % 2 === 0) await once(hasty, 'response')
    hasty.destroy()
  }
  expect((await api.get(`cpids/${cpid(1)}`)).status).toBe(200)
  expect(api.troubles).toEqual([])
})
