import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './query-api.ts'

const LONG = 20_000

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await TestWriter.open({}, path)
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('web', [
      { trace: 1, id: 1, cpid: cpid(1), attributes: { note: `${'a'.repeat(LONG)}!`, hex: 'ab'.repeat(16) } },
    ])
    writer.pass(1_000_000)
    return writer
  })
})
afterAll(() => api[Symbol.asyncDispose]())

async function search(query: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${api.url}/api/search?${new URLSearchParams({ q: query }).toString()}`)
  return { status: response.status, text: await response.text() }
}

test.each(['(a+)+$', '(a|aa)+', '(a|a?)+', '(.*a){12}', 'a{0,100}a{0,100}a{0,100}b'])(
  'a search with %s is answered, though it could backtrack for ever',
  async (pattern) => {
    const { status, text } = await search(`{ span.note =~ "${pattern}" }`)
    expect({ status, traces: (JSON.parse(text) as { traces: unknown[] }).traces }).toEqual({
      status: 200,
      traces: [],
    })
  },
)

test.each(['(?:(a+)+b?){17}', '(?i:(a+)+)', '(a{16}){16}'])(
  'a search with %s, which nothing could bound, is refused',
  async (pattern) => {
    const { status, text } = await search(`{ span.note =~ "${pattern}" }`)
    expect(status).toBe(400)
    expect(text).toContain('sure to end')
  },
)

test('a search with a usual expression finds what it means', async () => {
  expect((await search('{ span.hex =~ "[0-9a-f]{32}" && span.note =~ "a+!" }')).text).toContain('"traceID"')
})
