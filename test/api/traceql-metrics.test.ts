import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { QueryApi } from './support/query-api.ts'
import { OTHERWISE, RECORDED, type RecordedSeries, recordedSpans } from './support/recorded-tempo.ts'

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(recordedSpans)
})
afterAll(() => api[Symbol.asyncDispose]())

async function ask(q: string): Promise<{ status: number; text: string }> {
  const { base } = RECORDED
  const range = { start: String(base - 60), end: String(base + 120), step: '10s' }
  const response = await api.fetch(
    `/tempo/api/metrics/query_range?${new URLSearchParams({ q, ...range }).toString()}`,
  )
  return { status: response.status, text: await response.text() }
}

/** Labels and values that are not zero, up to where Tempo had data then; which exemplars are shown is left to chance. */
function told(series: readonly RecordedSeries[] | undefined): [string, [string, number][]][] {
  const until = String((RECORDED.base + 40) * 1000)
  return (series ?? [])
    .map(({ labels, samples }): [string, [string, number][]] => [
      JSON.stringify(labels),
      (samples ?? []).flatMap(({ timestampMs, value }) =>
        value === undefined || timestampMs > until ? [] : [[timestampMs, Number(value.toPrecision(12))]],
      ),
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

const TOP = 5

/** Of a comparison only what is certain: where more values than are shown come equally often, chance decides. */
function certain(series: readonly RecordedSeries[] | undefined): RecordedSeries[] {
  const keyOf = ({ labels = [] }: RecordedSeries): string =>
    `${String(labels[0]?.value['stringValue'])} ${labels[1]?.key}`
  const counts = new Map<string, number>()
  for (const one of series ?? []) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1)
  // Lists are cut before all of them become nil.
  return (series ?? []).filter(
    (one) => (counts.get(keyOf(one)) ?? 0) < TOP && one.labels?.[1]?.key !== 'span.nums',
  )
}

test.each(RECORDED.metrics)('$q is answered as by Tempo', async ({ q, status, body }) => {
  const answered = await ask(q)
  expect(answered.status).toBe(status)
  if (typeof body === 'string') return
  const { series } = JSON.parse(answered.text) as { series: RecordedSeries[] }
  if (q in OTHERWISE) expect(told(series)).not.toEqual(told(body.series))
  else if (q.includes('compare')) expect(told(certain(series))).toEqual(told(certain(body.series)))
  else expect(told(series)).toEqual(told(body.series))
})

test('one value for all of the time', async () => {
  const { base } = RECORDED
  const asked = { start: String(base - 60), end: String(base + 120) }
  const value = async (q: string): Promise<unknown> => {
    const path = `/tempo/api/metrics/query?${new URLSearchParams({ q, ...asked }).toString()}`
    return JSON.parse(await (await api.fetch(path)).text())
  }
  const total = {
    series: [{ labels: [{ key: '__name__' }], value: 158 }],
    metrics: { completedJobs: 1, totalJobs: 1 },
  }
  expect(await value('{} | count_over_time()')).toMatchObject(total)
  expect(await value('{ status = error } | max_over_time(duration) by (kind) | topk(1)')).toMatchObject({
    series: [{ labels: [{ key: 'kind', value: { stringValue: 'server' } }] }],
  })
  expect(await value('{ name = "SELECT" } | count_over_time() by (span.db.system) > 30')).toMatchObject({
    series: [],
  })
})

// Later versions of Tempo calculate with metrics.
test.each([
  '({ status = error } | count_over_time()) / ({} | count_over_time()) * 100',
  '2 * ({} | count_over_time()) - 16',
  '({} | rate())',
  '(({} | count_over_time()) + ({} | count_over_time())) | topk(1)',
])('%s is refused, as by Tempo', async (q) => {
  expect(await ask(q)).toEqual({ status: 400, text: expect.stringContaining('invalid TraceQL query') })
})

// As Tempo's engine ranks series that all have the value 1.
test.each([
  ['span.user.id', 'topk(2)', ['1028', '1029']],
  ['span.user.id', 'bottomk(2)', ['1000', '1001']],
  ['span.load', 'topk(1)', ['2.9']],
  ['span.load', 'bottomk(1)', ['0']],
  ['span.sampled', 'topk(1)', ['true']],
  ['span.foo', 'topk(2)', ['span-0', 'span-1']],
  ['span.foo', 'bottomk(2)', ['span-2', 'span-3']],
  ['resource.host.cpus, span.foo', 'topk(2)', ['4,span-0', '4,span-1']],
])('of equal ones by %s, %s keeps %j', async (by, ranked, kept) => {
  const { base } = RECORDED
  const q = `{ nestedSetLeft = 1 } | max_over_time(nestedSetLeft) by (${by}) | ${ranked}`
  const asked = { q, start: String(base - 60), end: String(base + 120) }
  const response = await api.fetch(`/tempo/api/metrics/query?${new URLSearchParams(asked).toString()}`)
  const { series } = (await response.json()) as { series: RecordedSeries[] }
  const values = series.map(({ labels = [] }) => labels.map(({ value }) => Object.values(value)[0]).join())
  expect(values.sort()).toEqual(kept)
})

test('a whole number of more than 53 bits counts as the float that is nearest to it', async () => {
  const { text } = await ask('{} | histogram_over_time(span.big)')
  const { series } = JSON.parse(text) as { series: RecordedSeries[] }
  expect(series.map(({ labels }) => labels)).toEqual([
    [{ key: '__bucket', value: { doubleValue: 9007199254740992 } }],
  ])
})

test.each(['span.nums', '.tags', 'span.nothing, .tags', 'kind, span.nums', 'span.nums, .tags'])(
  'groups by %s have one series a label, though their lists differ',
  async (by) => {
    const { text } = await ask(`{} | count_over_time() by (${by})`)
    const { series } = JSON.parse(text) as { series: RecordedSeries[] }
    const labels = series.map((one) => JSON.stringify(one.labels))
    expect(labels).toEqual([...new Set(labels)])
    const counts = series.flatMap(({ samples = [] }) => samples.map(({ value = 0 }) => value))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(158)
  },
)

test('where no time is asked, the last hour is answered, or as much as since says', async () => {
  const { base } = RECORDED
  const q = '{} | count_over_time()'
  const values = async (asked: Record<string, string>): Promise<unknown[]> => {
    const path = `/tempo/api/metrics/query?${new URLSearchParams({ q, ...asked }).toString()}`
    const { series } = JSON.parse(await (await api.fetch(path)).text()) as { series: { value?: number }[] }
    return series.map(({ value }) => value)
  }
  const sinceThen = `${Math.ceil(Date.now() / 1000) - base + 60}s`
  expect(await values({ since: sinceThen })).toEqual([158])
  expect(await values({ since: '3m', end: String(base + 120) })).toEqual([158])
  expect(await values({ end: String(base - 120) })).toEqual(await values({}))
})

test.each([
  ['q', {}],
  ['q asks for no metric', { q: '{}' }],
  ['since', { q: '{} | rate()', since: 'x' }],
  ['start', { q: '{} | rate()', start: 'x', end: '2' }],
  ['start must be before end', { q: '{} | rate()', start: '2', end: '1' }],
  ['step', { q: '{} | rate()', start: '1', end: '2', step: '1x' }],
  ['step is too short', { q: '{} | rate()', start: '1', end: '99999', step: '1ms' }],
  ['invalid TraceQL', { q: '{} | rate(', start: '1', end: '2' }],
  ['unknown parameter', { q: '{} | rate()', start: '1', end: '2', foo: '1' }],
])('what cannot be answered is refused: %s', async (reason, asked) => {
  const response = await api.fetch(
    `/tempo/api/metrics/query_range?${new URLSearchParams(asked as Record<string, string>).toString()}`,
  )
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(reason)])
})

test('what clients ask first is answered', async () => {
  const texts = ['/tempo/ready', '/ready', '/tempo/api/echo'].map(async (path) =>
    (await api.fetch(path)).text(),
  )
  expect(await Promise.all(texts)).toEqual(['ready\n', 'ready\n', 'echo'])
  expect(JSON.parse(await (await api.fetch('/tempo/api/status/buildinfo')).text())).toMatchObject({
    version: '3.0.3',
  })
})

test('one value is answered with a step and exemplars too, as by Tempo', async () => {
  const { base } = RECORDED
  const answered = async (asked: Record<string, string>): Promise<[number, string]> => {
    const all = { q: '{} | rate()', start: String(base - 60), end: String(base + 120), ...asked }
    const response = await api.fetch(`/tempo/api/metrics/query?${new URLSearchParams(all).toString()}`)
    return [response.status, (await response.text()).replace(/,"metrics".*/, '')]
  }
  const plain = await answered({})
  expect(await answered({ step: '10s', exemplars: '5' })).toEqual(plain)
  expect(await answered({ step: '10x' })).toEqual([400, expect.stringContaining('step')])
  expect(await answered({ exemplars: 'x' })).toEqual([400, expect.stringContaining('exemplars')])
})

test('as in Tempo, 0 exemplars are no number of them, and a moment has its interval', async () => {
  const { base } = RECORDED
  const answered = async (asked: Record<string, string>): Promise<[number, number, number]> => {
    const all = { q: '{} | count_over_time()', step: '10s', ...asked }
    const response = await api.fetch(`/tempo/api/metrics/query_range?${new URLSearchParams(all).toString()}`)
    const { series } = (await response.json()) as { series: { exemplars?: object[]; samples: object[] }[] }
    return [response.status, series[0]?.exemplars?.length ?? 0, series[0]?.samples.length ?? 0]
  }
  const range = { start: String(base - 60), end: String(base + 120) }
  expect(await answered({ ...range, exemplars: '0' })).toEqual(await answered(range))
  expect(await answered({ start: String(base + 5), end: String(base + 5) })).toEqual([200, 13, 2])
})

// As Tempo's engine shows them.
test.each([
  ['{ status = error } | rate() by (name)', ['trace:id', 'name', 'status']],
  ['{ nestedSetLeft = 1 } | rate()', ['trace:id', 'nestedSetLeft']],
  ['{ status = error } | max_over_time(duration)', ['trace:id', 'duration', 'status']],
])('the exemplars of %s are shown with what was read of their spans', async (q, names) => {
  const { series } = JSON.parse((await ask(q)).text) as {
    series: { exemplars?: { labels: { key: string }[] }[] }[]
  }
  const [first] = series.flatMap(({ exemplars = [] }) => exemplars)
  expect(first?.labels.map(({ key }) => key)).toEqual(names)
})

test('groups by an attribute of any scope are those of the span, or else of its resource', async () => {
  const { text } = await ask('{} | count_over_time() by (.n, event.n)')
  const { series } = JSON.parse(text) as { series: RecordedSeries[] }
  const grouped = series.flatMap(({ labels = [] }) => labels.filter(({ key }) => key === '.n'))
  expect(grouped.map(({ value }) => value)).toEqual([{ stringValue: 'nil' }])
})

test.each([
  ['', 7],
  ['with(exemplars=3)', 3],
  ['with(exemplars=false)', 0],
  ['with(exemplars=false, exemplars=2)', 2],
])('exemplars are as many as the hint says, or else the parameter: %s', async (hint, count) => {
  const { base } = RECORDED
  const asked = {
    q: `{} | rate() ${hint}`,
    start: String(base - 60),
    end: String(base + 120),
    step: '10s',
    exemplars: '7',
  }
  const response = await api.fetch(`/tempo/api/metrics/query_range?${new URLSearchParams(asked).toString()}`)
  const { series } = (await response.json()) as { series: { exemplars?: object[] }[] }
  expect(series.flatMap(({ exemplars = [] }) => exemplars)).toHaveLength(count)
})
