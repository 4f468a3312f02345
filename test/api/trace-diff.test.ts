import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { QueryApi } from './support/query-api.ts'
import { recordedSpans, spansOfRecording } from './support/recorded-tempo.ts'

interface Recorded {
  base: string
  compare: string
  patch: { warnings: Warning[] }
  summary: { warnings?: Warning[] }
}
interface Warning {
  code: string
}

const DIFFS = JSON.parse(
  gunzipSync(readFileSync(new URL('../query/fixtures/tempo/diffs.json.gz', import.meta.url))).toString(),
) as Recorded[]
const [one = '', other = ''] = new Set(spansOfRecording().map(({ traceId }) => traceId))
const PATH = '/tempo/api/v2/traces/diff'

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(recordedSpans)
})
afterAll(() => api[Symbol.asyncDispose]())

async function post(body: unknown, path = PATH): Promise<{ status: number; text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(api.url + path, {
    method: 'POST',
    body: text,
    headers: { connection: 'close' },
  })
  return { status: response.status, text: await response.text() }
}

async function diff(base: string, compare: string, format?: string): Promise<unknown> {
  const { status, text } = await post({ base: { traceId: base }, compare: { traceId: compare }, format })
  expect([status, text]).toEqual([200, expect.stringContaining('"version"')])
  return JSON.parse(text)
}

/** What a warning says is our own. */
function codesOnly(answer: { warnings?: Warning[] }): object {
  const { warnings, ...rest } = answer
  return warnings === undefined ? rest : { ...rest, warnings: warnings.map(({ code }) => code) }
}

test.each(DIFFS)('$base and $compare differ as in Tempo', async ({ base, compare, patch, summary }) => {
  const answered = (await diff(base, compare)) as Recorded['patch']
  expect(codesOnly(answered)).toEqual(codesOnly(patch))
  const native = (await diff(base, compare, 'trace-summary-v0-native')) as Recorded['summary']
  expect(codesOnly(native)).toEqual(codesOnly(summary))
  expect(await diff(base, compare, 'trace-summary-v0-composed')).toEqual({
    version: 'trace-summary-v0-composed',
    summary: native,
    patch: answered,
  })
})

test('a trace does not differ from itself, without the prefix and by a short id too', async () => {
  const { status, text } = await post(
    { base: { traceId: one, start: 1, end: 2 }, compare: { traceId: one.toUpperCase() } },
    '/api/v2/traces/diff',
  )
  expect(status).toBe(200)
  expect(JSON.parse(text)).toMatchObject({ modified: [], added: [], removed: [] })
})

const asked = { base: { traceId: one }, compare: { traceId: other } }
test.each<[status: number, why: string, body: unknown]>([
  [404, 'trace not found', { ...asked, base: { traceId: '1234' } }],
  [400, 'invalid trace diff request body', ''],
  [400, 'invalid trace diff request body', 'null'],
  [400, 'invalid trace diff request body', '[[[['],
  [400, 'base', '{"__proto__":{"base":1}}'],
  [400, 'base', {}],
  [400, 'compare', { base: asked.base }],
  [400, 'base.traceId', { ...asked, base: { traceId: 'xyz' } }],
  [400, 'base.traceId', { ...asked, base: { traceId: '' } }],
  [400, 'base.traceId', { ...asked, base: { traceId: '1'.repeat(33) } }],
  [400, 'traceId', { ...asked, base: { traceId: 1 } }],
  [400, 'compare.start must be before', { ...asked, compare: { ...asked.compare, start: 2, end: 1 } }],
  [400, 'start', { ...asked, compare: { ...asked.compare, start: 1.5 } }],
  [400, 'format', { ...asked, format: 'other' }],
  [400, 'more', { ...asked, more: 1 }],
  [413, 'at most 16384 bytes', `${JSON.stringify(asked)}${' '.repeat(4_000_000)}`],
])('%i: %s', async (status, why, body) => {
  expect(await post(body)).toEqual({ status, text: expect.stringContaining(why) })
})

test('only POST is taken there, and nowhere else', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
    const response = await api.fetch(PATH, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  }
  expect((await post(asked, `/tempo/api/v2/traces/${one}`)).status).toBe(405)
  expect((await post(asked, '/jaeger/api/v2/traces/diff')).status).toBe(404)
  expect((await post({ ...asked, format: '' })).status).toBe(200)
})
