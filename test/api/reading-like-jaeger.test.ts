import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import {
  cascadesForBackends,
  exchangesWith,
  restored,
  type StoredExchanges,
} from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

/** Recorded from a real Jaeger by test/interop/reading-like-jaeger.test.ts. */
const RECORDED = restored(
  JSON.parse(
    readFileSync(new URL('../golden/exchanges/jaeger.json', import.meta.url), 'utf8'),
  ) as StoredExchanges,
)

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
})
afterAll(() => api[Symbol.asyncDispose]())

test.each(RECORDED)('$request is answered as by Jaeger', async (recorded) => {
  expect(await exchangesWith(api.url, [recorded.request])).toEqual([recorded])
  expect(await exchangesWith(`${api.url}/jaeger`, [recorded.request])).toEqual([
    { ...recorded, request: recorded.request },
  ])
})

// Which trace that is, Jaeger leaves open.
test.each([
  '/api/traces?service=deployment-controller&start=1767225600000000&end=1767229200000000&limit=1',
  '/api/v3/traces?query.service_name=deployment-controller&query.start_time_min=2026-01-01T00:00:00Z&query.start_time_max=2026-01-02T00:00:00Z&query.num_traces=1',
])('%s is answered with one trace', async (request) => {
  const answer = await (await api.fetch(request)).text()
  const traceIds = new Set([...answer.matchAll(/"traceI[dD]":"([0-9a-f]{32})"/g)].map(([, id]) => id))
  expect(traceIds.size).toBe(1)
})

test('lists are JSON that has nothing escaped for HTML', async () => {
  const [trace] = RECORDED.map(({ request }) => request).filter((request) =>
    request.startsWith('/api/traces?service=odd'),
  )
  expect(await (await api.fetch(`/jaeger${trace ?? ''}`)).text()).toContain(String.raw`[1,\"<b>&\"]`)
})
