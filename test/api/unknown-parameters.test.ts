import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { ROUTES as API_ROUTES } from '../../src/query/http/routes.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { cascadesForBackends } from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

const VALUES: Record<string, string> = { cpid: cpid(2), root: cpid(1), other: cpid(11), spanId: hexSpan(11) }
const TRACE = cpid(1).replaceAll('-', '')
const V3_TIMES = 'query.startTimeMin=2026-01-01T00:00:00Z&query.startTimeMax=2026-01-02T00:00:00Z'

/** Every path of the API, and each that clients of Jaeger and Tempo use, with what it cannot do without. */
const ROUTES = [
  ...API_ROUTES.map(({ path, query }) => {
    const filled = `/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? '')}`
    const needed = ['ref', 'q', 'contains'].find((name) => query.some((one) => one === name))
    return needed === undefined ? filled : `${filled}?${needed}=web`
  }),
  '/jaeger/api/services',
  '/jaeger/api/services/web/operations',
  '/jaeger/api/operations?service=web',
  '/jaeger/api/dependencies',
  '/jaeger/api/traces?service=web',
  `/jaeger/api/traces?traceID=${TRACE}`,
  `/jaeger/api/traces/${TRACE}`,
  '/jaeger/api/metrics/calls?lookback=60000&service=web',
  '/jaeger/api/metrics/errors?lookback=60000&service=web',
  '/jaeger/api/metrics/latencies?quantile=0.5&service=web',
  '/jaeger/api/metrics/minstep',
  '/jaeger/api/v3/services',
  '/jaeger/api/v3/operations?service=web',
  `/jaeger/api/v3/traces?${V3_TIMES}`,
  `/jaeger/api/v3/trace-summaries?${V3_TIMES}`,
  `/jaeger/api/v3/traces/${TRACE}`,
  '/tempo/api/echo',
  '/tempo/api/status/buildinfo',
  '/tempo/api/metrics/query_range?q=%7B%7D%7Crate()',
  '/tempo/api/metrics/query?q=%7B%7D%7Crate()',
  '/tempo/api/search',
  '/tempo/api/search/tags',
  '/tempo/api/v2/search/tags',
  '/tempo/api/search/tag/service.name/values',
  '/tempo/api/v2/search/tag/name/values',
  `/tempo/api/traces/${TRACE}`,
  `/tempo/api/v2/traces/${TRACE}`,
]

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
})
afterAll(() => api[Symbol.asyncDispose]())

async function ask(path: string): Promise<{ status: number; text: string }> {
  const response = await api.fetch(path)
  return { status: response.status, text: await response.text() }
}

test('docs/query.md lists every path for clients of Jaeger and Tempo', () => {
  const docs = readFileSync(new URL('../../docs/query.md', import.meta.url), 'utf8')
  const listed = [...docs.matchAll(/`(\/(?:tempo|jaeger)\/[^`]+)`/g)].map(([, path]) => path)
  const values = [
    [TRACE, '{id}'],
    ['services/web/', 'services/{service}/'],
    [/tag\/[^/]+\//, 'tag/{tag}/'],
  ] as const
  const answered = ROUTES.filter((route) => /^\/(?:tempo|jaeger)\//.test(route)).map((route) =>
    values.reduce((path, [value, name]) => path.replace(value, name), route.replace(/\?.*/, '')),
  )
  expect(listed.sort()).toEqual([...new Set(answered)].sort())
})

const and = (route: string, more: string): string => route + (route.includes('?') ? '&' : '?') + more

test.each(ROUTES)(
  '%s is answered, and refused with a parameter that nobody knows, by its name',
  async (route) => {
    expect(await ask(route)).toMatchObject({ status: 200 })
    const { status, text } = await ask(and(route, 'colour=blue'))
    expect([status, text]).toEqual([
      400,
      expect.stringMatching(/unknown parameter \\?"colour\\?"; what is understood here: /),
    ])
  },
)

// Several traces may be asked for.
test.each(ROUTES.filter((route) => route.includes('=') && !route.includes('traceID=')))(
  '%s is refused with its parameter twice',
  async (route) => {
    const [, query = ''] = route.split('?')
    const [first = ''] = query.split('&')
    const { status, text } = await ask(and(route, first))
    expect([status, text]).toEqual([400, expect.stringContaining(` ${first.split('=')[0]} is given `)])
  },
)

test.each([
  ['/jaeger/api/traces?service=web', 'limit', 'many'],
  ['/jaeger/api/traces?service=web', 'limit', '0'],
  ['/jaeger/api/traces?service=web', 'start', 'yesterday'],
  ['/jaeger/api/traces?service=web', 'end', '-1'],
  ['/jaeger/api/traces?service=web', 'minDuration', '5'],
  ['/jaeger/api/traces?service=web', 'maxDuration', 'long'],
  ['/jaeger/api/traces?service=web', 'tags', 'a=b'],
  ['/jaeger/api/traces?service=web', 'tags', '{"a":{}}'],
  ['/jaeger/api/traces?service=web', 'tag', 'a'],
  ['/jaeger/api/traces?service=web', 'raw', 'perhaps'],
  ['/jaeger/api/operations?service=web', 'spanKind', 'odd'],
  ['/jaeger/api/dependencies', 'lookback', '1h'],
  [`/jaeger/api/traces/${TRACE}`, 'prettyPrint', '2'],
  [`/jaeger/api/v3/traces/${TRACE}`, 'startTime', 'now'],
  [`/jaeger/api/v3/traces?${V3_TIMES}`, 'query.attributes', '["a"]'],
  [`/jaeger/api/v3/traces?${V3_TIMES}`, 'query.durationMin', '1 s'],
  [`/jaeger/api/v3/traces?${V3_TIMES}`, 'query.searchDepth', '1.5'],
  [`/jaeger/api/v3/trace-summaries?${V3_TIMES}`, 'query.attributes', 'error'],
  [`/jaeger/api/v3/trace-summaries?${V3_TIMES}`, 'query.rawTraces', 'x'],
  [`/jaeger/api/v3/trace-summaries?${V3_TIMES}`, 'query.filter', '{"op":"eq"}'],
  ['/tempo/api/search', 'start', '1.5'],
  ['/tempo/api/search', 'limit', '-1'],
  ['/tempo/api/search', 'spss', 'x'],
  ['/tempo/api/search', 'minDuration', '100'],
  ['/tempo/api/search', 'tags', 'service.name'],
  ['/tempo/api/search', 'tags', 'a=1 a=2'],
  ['/tempo/api/v2/search/tags', 'scope', 'world'],
  ['/tempo/api/v2/search/tags', 'limit', 'x'],
  [`/tempo/api/traces/${TRACE}`, 'mode', 'fast'],
  [`/tempo/api/v2/traces/${TRACE}`, 'q', '{ status = error }'],
])('%s refuses %s=%s and names it', async (route, name, value) => {
  const { status, text } = await ask(and(route, new URLSearchParams({ [name]: value }).toString()))
  expect([status, text]).toEqual([400, expect.stringContaining(name)])
})

/** In milliseconds, microseconds or seconds, in nanoseconds, and as any number. */
const TOO_LARGE = ['9999999999999999', '9999999999999999999', `${'9'.repeat(400)}.5`]

test('no parameter of any path fails inside, however large a number it is', async () => {
  const failed = ROUTES.map(async (route) => {
    const { text } = await ask(and(route, 'colour=blue'))
    const [, names = ''] = /understood here: ([\w., ]+)/.exec(text) ?? []
    const { searchParams, pathname } = new URL(route, 'http://localhost')
    const asked = names.split(/, |\.$/).flatMap((name) =>
      TOO_LARGE.map((large) => {
        const others = [...searchParams].filter(([other]) => other !== name)
        return `${pathname}?${new URLSearchParams([...others, [name, large]]).toString()}`
      }),
    )
    const answers = await Promise.all(asked.map(async (one) => ({ one, status: (await ask(one)).status })))
    return answers.filter(({ status }) => status >= 500)
  })
  expect((await Promise.all(failed)).flat()).toEqual([])
})
