import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

/** Milliseconds that spans take: one ends before it starts. */
const LENGTHS = [-5, 0, 1, 20]

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over((path) => TestWriter.open({}, path))
  const spans = LENGTHS.map((length, at) => ({ trace: at + 1, id: at + 1, start: 100, end: 100 + length }))
  api.writer.spans('web', spans)
  api.writer.pass(10_001)
})
afterAll(() => api[Symbol.asyncDispose]())

async function found(query: string): Promise<string[]> {
  const response = await api.fetch(`/jaeger/api/traces?service=web${query}`)
  const { data } = (await response.json()) as { data: { traceID: string }[] }
  return data.map(({ traceID }) => traceID).sort()
}

test('to Jaeger a duration of 0 is no limit', async () => {
  const zero = fc.constantFrom('0', '0s', '0ms', '0h0m0s', '+0', '')
  await fc.assert(
    fc.asyncProperty(zero, zero, async (least, most) => {
      const limits = new URLSearchParams({ minDuration: least, maxDuration: most }).toString()
      expect(await found(`&${limits}`)).toHaveLength(LENGTHS.length)
    }),
    { numRuns: 30 },
  )
  expect(await found('&minDuration=1ms&maxDuration=0ms')).toEqual(await found('&minDuration=1ms'))
})
