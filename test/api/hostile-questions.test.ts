import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

const LONG = 20_000

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await TestWriter.open({}, path)
    writer.mergelogs('kubectl', [{ new: cpid(1) }])
    writer.spans('web', [
      {
        trace: 1,
        id: 1,
        cpid: cpid(1),
        attributes: {
          note: `${'a'.repeat(LONG)}!`,
          short: `${'a'.repeat(3_000)}!`,
          hex: 'ab'.repeat(16),
          many: Array<string>(100).fill('a'.repeat(4_000)),
        },
      },
    ])
    writer.pass(1_000_000)
    return writer
  })
})
afterAll(() => api[Symbol.asyncDispose]())

async function search(query: string): Promise<{ status: number; text: string }> {
  const response = await api.fetch(`/api/search?${new URLSearchParams({ q: query }).toString()}`)
  return { status: response.status, text: await response.text() }
}

function traces(text: string): unknown[] {
  return (JSON.parse(text) as { traces: unknown[] }).traces
}

test.each([
  '(a+)+$',
  '(a|aa)+',
  '(a|a?)+',
  '(.*a){12}',
  'a{0,100}a{0,100}a{0,100}b',
  '(?:(a+)+b?){17}',
  '(?i:(a+)+)',
])('a search with %s is answered, though it could backtrack for ever', async (pattern) => {
  const { status, text } = await search(`{ span.short =~ "${pattern}" }`)
  expect({ status, traces: traces(text) }).toEqual({ status: 200, traces: [] })
})

test.each(['((x{1,1000}){1,1000}){1,1000}', '.{0,1000}.{0,1000}.{0,1000}', 'a'.repeat(257)])(
  'a search with %s, which nothing could bound, is refused with what to write',
  async (pattern) => {
    const { status, text } = await search(`{ span.note =~ "${pattern}" }`)
    expect(status).toBe(400)
    expect(text).toMatch(
      /not a regular expression that can be taken.*: write |write at most 256|write counts/s,
    )
  },
)

test('a search with a usual expression finds what it means', async () => {
  expect((await search('{ span.hex =~ "[0-9a-f]{32}" && span.short =~ "a+!" }')).text).toContain('"traceID"')
})

test('a text that is too long for expressions meets none, and the answer says so', async () => {
  for (const operator of ['=~', '!~']) {
    const { text } = await search(`{ span.note ${operator} "a+!" }`)
    expect(traces(text)).toEqual([])
    const { status, message } = JSON.parse(text) as { status: string; message: string }
    expect(status).toBe('PARTIAL')
    expect(message).toContain('one may have 4096 characters')
  }
})

test('of a span with very many texts no more are matched than a large expression on a long text costs', async () => {
  const { text } = await search('{ span.many =~ "(?:.?){500}b" }')
  expect(traces(text)).toEqual([])
  expect(text).toContain('"PARTIAL"')
})
