import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { QueryApi } from './support/query-api.ts'
import { OTHERWISE, RECORDED, recordedSpans } from './support/recorded-tempo.ts'

/** The server's time: a day after what was recorded. */
const NOW_MS = (RECORDED.base + 86_400) * 1000

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(recordedSpans, { wallMs: () => NOW_MS })
})
afterAll(() => api[Symbol.asyncDispose]())

interface Found {
  traces: { traceID: string; spanSets: { spans: { spanID: string }[] }[] }[]
  status?: string
  metrics: Record<string, unknown>
}

async function search(q: string): Promise<{ status: number; found: Found | undefined }> {
  const { base } = RECORDED
  const range = { limit: '200', spss: '100', start: String(base - 600), end: String(base + 600) }
  const response = await api.fetch(`/tempo/api/search?${new URLSearchParams({ q, ...range }).toString()}`)
  const text = await response.text()
  return { status: response.status, found: response.status === 200 ? (JSON.parse(text) as Found) : undefined }
}

/** The ids of the spans by trace, each once and in order. */
function idsOf(found: Found | undefined): Record<string, string[]> | undefined {
  if (found === undefined) return undefined
  return Object.fromEntries(
    found.traces.map(({ traceID, spanSets }) => [
      traceID,
      [...new Set(spanSets.flatMap(({ spans }) => spans.map(({ spanID }) => spanID)))].sort(),
    ]),
  )
}

test.each(RECORDED.search)('$q is answered as by Tempo', async ({ q, status, traces }) => {
  const answered = await search(q)
  const recorded =
    traces && Object.fromEntries(Object.entries(traces).map(([trace, ids]) => [trace, ids.toSorted()]))
  const isSame =
    answered.status === status &&
    JSON.stringify(sorted(idsOf(answered.found))) === JSON.stringify(sorted(recorded))
  if (q in OTHERWISE) expect(isSame).toBe(false)
  else {
    expect(answered.status).toBe(status)
    expect(idsOf(answered.found)).toEqual(recorded)
    expect(answered.found?.status).toBeUndefined()
  }
})

test('a trace is shown alike, whatever finds it', async () => {
  const shown = async (q: string): Promise<unknown> =>
    (await search(q)).found?.traces.map(({ traceID, spanSets }) => [
      traceID,
      ...spanSets.flatMap(({ spans }) => spans.map(({ spanID }) => spanID)),
    ])
  const all = await shown('{}')
  for (const q of [
    '{ name =~ ".*" }',
    '{ kind = server || kind != server }',
    '{ resource.service.name != nil }',
  ])
    expect({ q, shown: await shown(q) }).toEqual({ q, shown: all })
})

async function spansOf(q: string): Promise<number> {
  const { found } = await search(q)
  return Object.values(idsOf(found) ?? {}).flat().length
}

// As a real Tempo 3.0.3 answered.
test.each([
  // A list is no number.
  ['{} | max(span.nums) > 3', 0],
  ['{} | min(span.nums) < 100', 0],
  ['{} | sum(span.nums) != 0', 158],
  ['{} | max(.tags) != 3', 0],
  // A span whose parent never came has no place, and nothing else of it is asked for.
  ['{ name = "SELECT" } !>> { }', 140],
  ['{ } !~ { }', 75],
  ['{ name = "SELECT" } !>> { name != "x" }', 143],
  // Ids are bytes.
  ['{ span:parentID != "" }', 128],
  ['{ span:parentID != "" && span:parentID != "a8138d122fa81fe1" }', 127],
  ['{ span:id != "F6371BC1AA1E434F" }', 157],
  ['{ trace:id != "0f6ad367a0cd091f2e7245c60052da4f" }', 149],
  // What is compared with no id is read of every span.
  ['{ link:spanID != "x" }', 158],
  ['{ link:traceID != "zz" && name = "SELECT" }', 60],
  ['{ trace:id =~ ".*" }', 158],
  ['{ span:id =~ "f637.*" }', 1],
  ['{ trace:id !~ "f637.*" && name = "fsync" }', 15],
  ['{ span:parentID =~ ".*" || link:spanID =~ "x" }', 158],
  ['{ span:id > "x" }', 0],
  ['{ link:traceID != "zz" || name = "SELECT" }', 158],
  // A relation reads the places of all spans, and a condition on them as well.
  ['{ } !>> { nestedSetLeft = 0 }', 3],
  ['{ nestedSetLeft = 0 } >> { }', 0],
  ['{ nestedSetRight = 0 } !<< { name = "SELECT" }', 60],
  ['{ } !~ { nestedSetParent = 0 }', 3],
])('%s finds %i spans', async (q, count) => {
  expect(await spansOf(q)).toBe(count)
})

const sorted = (ids: Record<string, string[]> | undefined): [string, string[]][] =>
  Object.entries(ids ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))

test('nearly all are, searches and metrics together', () => {
  const queries = [...RECORDED.search, ...RECORDED.metrics].map(({ q }) => q)
  expect(queries).toEqual(expect.arrayContaining(Object.keys(OTHERWISE)))
  expect(Object.keys(OTHERWISE).length).toBeLessThanOrEqual(queries.length * 0.03)
})

async function names(path: string, asked: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const response = await api.fetch(`/tempo/api/v2/search/${path}?${new URLSearchParams(asked).toString()}`)
  return (await response.json()) as Record<string, unknown>
}

const SERVICES = ['cart', 'db', 'frontend', 'queue worker', 'Ünïcode-svc']

test.each<[tag: string, q: string, values: string[]]>([
  ['span.http.method', '{}', ['GET', 'POST']],
  ['.http.status_code', '{ status = error }', ['500']],
  ['event.exception.type', '{}', ['IOError', 'Timeout']],
  ['event:name', '{ event.exception.type = "Timeout" }', ['exception', 'retry']],
  ['link.link.kind', '{}', ['follows', 'retry']],
  ['instrumentation:name', '{}', ['lib', 'libB']],
  // As in Tempo, only what the first filter compares with constants counts, and nothing if spans are related or any scope is meant.
  ['resource.service.name', '{ name = "SELECT" } && { name = "publish" }', SERVICES],
  ['resource.service.name', '{ name = "SELECT" } >> { }', SERVICES],
  ['span.http.method', '{ .foo = "child" }', ['GET', 'POST']],
  ['status', '{ name = "publish" }', ['unset']],
  ['name', '{ !(resource.service.name = "db") }', ['SELECT', 'fsync']],
  // Of several about one attribute Tempo lists what any of them finds; here it is every span, and never less.
  ['resource.service.name', '{ !(name = "SELECT" || name = "publish") }', SERVICES],
  ['resource.service.name', '{ duration > 1ns && !(duration > 1h) }', SERVICES],
  ['name', '{ !(resource.service.name = "db" && kind = client) }', ['SELECT']],
  ['name', '({ kind = consumer }) | { false }', ['consume']],
  [
    'name',
    '{ kind = consumer || status = error } | count() > 1000',
    ['GET /checkout', 'POST /cart', 'SELECT', 'consume'],
  ],
  ['rootName', '{ span.foo = "child" && span.level }', ['GET /checkout', 'POST /cart']],
  ['event:name', '{ false }', ['exception', 'retry']],
  ['rootName', '{ name = "fsync" && rootName =~ "P.*" }', ['POST /cart']],
  ['kind', '{}', ['client', 'consumer', 'internal', 'producer', 'server', 'unspecified']],
  ['span:id', '{}', []],
  ['span.nothing', '{}', []],
  // What is still typed holds of every span, and the rest counts.
  ['span.http.method', '{ name = }', ['GET', 'POST']],
  ['.http.status_code', '{ status = error && .foo = ', ['500']],
  ['span.foo', '{ && name = "add item" && && }', ['child']],
  ['resource.service.name', '{ name = "SELECT" && span."a b" != ', ['db']],
  ['resource.service.name', '{ name = "SELECT" && (.a = ) }', ['db']],
  ['event.exception.type', '{ (.a = || span.foo = ) && kind }', ['IOError', 'Timeout']],
  ['rootName', '{ name = "SEL', ['GET /checkout', 'POST /cart']],
  ['rootName', '{ name =~ "(?=x)" }', ['GET /checkout', 'POST /cart']],
  [' resource.service.name ', '{ name = "SELECT" }', ['db']],
])('the values of %s among %s', async (tag, q, values) => {
  const { tagValues } = await names(`tag/${encodeURIComponent(tag)}/values`, { q })
  expect((tagValues as { value: string }[]).map(({ value }) => value)).toEqual(values)
})

test.each(['foo', 'Span.foo', 'span.foo bar', 'span.', 'a.b', 'event:foo', 'childCount', 'span.a = 1'])(
  'the values of %s are refused: it is no attribute',
  async (tag) => {
    const path = `/tempo/api/v2/search/tag/${encodeURIComponent(tag)}/values`
    const response = await api.fetch(path)
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('with its scope')])
    expect((await api.fetch(path.replace('/v2', ''))).status).toBe(200)
  },
)

test('what is asked of the older list of values makes no difference, as in Tempo', async () => {
  const values = async (asked: Record<string, string>): Promise<unknown> => {
    const response = await api.fetch(
      `/tempo/api/search/tag/foo/values?${new URLSearchParams(asked).toString()}`,
    )
    return ((await response.json()) as { tagValues: string[] }).tagValues
  }
  expect(await values({ q: '{ name = "add item" }' })).toEqual(await values({}))
})

test('the names of attributes come by scope', async () => {
  const scopesOf = async (asked: Record<string, string>): Promise<unknown> => {
    const { scopes } = (await names('tags', asked)) as { scopes: { name: string; tags: string[] }[] }
    return Object.fromEntries(scopes.map(({ name, tags }) => [name, tags]))
  }
  expect(await scopesOf({ q: '{ event:name = "exception" }', scope: 'event' })).toEqual({
    event: ['attempt', 'exception.message', 'exception.type', 'n'],
  })
  expect(await scopesOf({ scope: 'link' })).toEqual({ link: ['link.kind', 'n'] })
  expect(Object.keys((await scopesOf({})) as object)).toEqual([
    'resource',
    'span',
    'event',
    'link',
    'instrumentation',
    'intrinsic',
  ])
})

test('what was selected is shown, and what was worked out', async () => {
  const { found } = await search('{ status = error } | by(name) | count() >= 1 | select(span.retries, kind)')
  const [trace] = found?.traces ?? []
  expect(trace?.spanSets[0]).toMatchObject({
    attributes: [{ key: 'by(name)' }, { key: 'count()', value: { intValue: '1' } }],
    matched: 1,
    spans: [
      {
        attributes: expect.arrayContaining([{ key: 'kind', value: expect.anything() as unknown }]) as unknown,
      },
    ],
  })
})

async function jaeger(path: string, asked: Record<string, string> = {}): Promise<unknown[]> {
  const response = await api.fetch(`/jaeger/api/${path}?${new URLSearchParams(asked).toString()}`)
  return ((await response.json()) as { data: unknown[] }).data
}

test.each<[tags: Record<string, string>, service: string, traces: number]>([
  [{ 'span.kind': 'server' }, 'frontend', 30],
  [{ 'span.kind': 'client' }, 'frontend', 0],
  [{ 'exception.type': 'Timeout' }, 'cart', 4],
  [{ 'http.status_code': '500' }, 'frontend', 6],
  [{ sampled: 'true' }, 'frontend', 15],
  [{ 'otel.status_code': 'ERROR' }, 'frontend', 6],
  [{ 'otel.scope.name': 'libB' }, 'cart', 15],
  [{ error: 'true', 'http.method': 'POST' }, 'frontend', 3],
])('Jaeger finds the tags %j of %s', async (tags, service, traces) => {
  expect(await jaeger('traces', { service, tags: JSON.stringify(tags), limit: '100' })).toHaveLength(traces)
})

test('Jaeger is told of operations, and of who calls whom', async () => {
  expect(await jaeger('services/db/operations')).toEqual(['SELECT', 'fsync'])
  const { base } = RECORDED
  const asked = { endTs: String((base + 600) * 1000), lookback: '3600000' }
  const calls = (await jaeger('dependencies', asked)) as {
    parent: string
    child: string
    callCount: number
  }[]
  expect(calls).toContainEqual({ parent: 'frontend', child: 'cart', callCount: 30 })
  expect(calls).toContainEqual({ parent: 'cart', child: 'db', callCount: 60 })
  expect(await jaeger('dependencies', { ...asked, endTs: String((base - 600) * 1000) })).toEqual([])
})

test('who calls whom is told of one service, and of the time that is asked for', async () => {
  type Calls = { parent: string; child: string; callCount: number }[]
  const { base } = RECORDED
  const endTs = String((base + 600) * 1000)
  const all = (await jaeger('dependencies', { endTs })) as Calls
  const ofDb = all.filter(({ parent, child }) => parent === 'db' || child === 'db')
  expect(ofDb.length).toBeLessThan(all.length)
  expect(ofDb.length).toBeGreaterThan(0)
  expect(await jaeger('dependencies', { endTs, service: 'db' })).toEqual(ofDb)
  expect(await jaeger('dependencies', { endTs, service: 'nobody' })).toEqual([])
  expect(await jaeger('dependencies', { lookback: String(NOW_MS - (base - 600) * 1000) })).toEqual(all)
  expect(await jaeger('dependencies', { lookback: '1000' })).toEqual([])
})

// As in Tempo, which works nothing out there.
test.each(['search/tags', 'v2/search/tags?scope=span', 'v2/search/tag/span.http.method/values'])(
  '%s takes a query that fails on spans for one of every span',
  async (path) => {
    const answered = async (q: string): Promise<Record<string, unknown>> => {
      const asked = new URLSearchParams({ q }).toString()
      const response = await api.fetch(`/tempo/api/${path}${path.includes('?') ? '&' : '?'}${asked}`)
      return { status: response.status, ...((await response.json()) as object) }
    }
    expect(await answered('{ 1 / 0 = 1 }')).toEqual(await answered('{}'))
    expect(api.troubles).toEqual([])
  },
)
