import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { LONGEST_ANSWER, largeNames, largeNamesQuestions } from '../support/hostile/large-names.ts'
import { START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

const START_MS = Number(START_NS / 1_000_000n)

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await TestWriter.open({}, path)
    writer.ingest('traces', Buffer.from(protobufOfJson('traces', largeNames(START_MS))))
    writer.pass(1_000_000)
    return writer
  })
})
afterAll(() => api[Symbol.asyncDispose]())

test('no answer shows a text as long as a request again for each span that has it', async () => {
  const asking = fc.asyncProperty(largeNamesQuestions(START_MS), async ({ path, body }) => {
    const response = await fetch(api.url + path, body === undefined ? {} : { method: 'POST', body })
    const text = await response.text()
    expect([200, 400]).toContain(response.status)
    // What is refused for its size alone says so.
    if (response.status === 400) expect(text).toContain('too large to compare')
    expect(text.length).toBeLessThan(LONGEST_ANSWER)
  })
  await fc.assert(asking, { numRuns: 20 })
  expect(api.troubles).toEqual([])
})
