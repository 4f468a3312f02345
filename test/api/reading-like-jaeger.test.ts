import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { cascadesForBackends, exchangesWith, type Exchange } from './jaeger-exchanges.ts'
import { QueryApi } from './query-api.ts'

/** Recorded from a real Jaeger by test/interop/reading-like-jaeger.test.ts. */
const RECORDED = JSON.parse(
  readFileSync(new URL('../golden/exchanges/jaeger.json', import.meta.url), 'utf8'),
) as Exchange[]

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
