import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { cascadesForBackends } from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

const traceIdOf = (number: number): string => cpid(number).replaceAll('-', '')
const TIMES = {
  'query.startTimeMin': '2026-01-01T00:00:00.000Z',
  'query.startTimeMax': '2026-01-01T01:00:00.000Z',
}

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
  // A span whose parent never comes.
  api.writer.mergelogs('kubectl', [{ new: cpid(71), time: 70_000 }])
  api.writer.spans('lonely', [
    { trace: 71, id: 711, parent: 799, cpid: cpid(71), start: 70_001, end: 70_002 },
  ])
  api.writer.pass(10_001)
})
afterAll(() => api[Symbol.asyncDispose]())

interface Whole {
  result: { resourceSpans: { scopeSpans: { spans: { traceId: string }[] }[] }[] }
}

interface Summary {
  traceId: string
}

/** What Jaeger's page asks when somebody searches. */
async function search(asked: Record<string, string>): Promise<Summary[]> {
  const query = new URLSearchParams({ ...TIMES, ...asked }).toString()
  const response = await api.fetch(`/jaeger/api/v3/trace-summaries?${query}`)
  expect(response.headers.get('content-type')).toBe('application/json')
  return ((await response.json()) as { summaries: Summary[] }).summaries
}

// Field by field what Jaeger's own summarizeTrace and its JSON make of the same spans: no zeros, long numbers as texts.
test('a trace is summed up as in Jaeger', async () => {
  const found = await search({ 'query.serviceName': 'deployment-controller', 'query.searchDepth': '20' })
  expect(found.map(({ traceId }) => traceId)).toEqual([traceIdOf(11), traceIdOf(1)])
  expect(found[1]).toEqual({
    traceId: traceIdOf(1),
    rootServiceName: 'kubectl',
    rootOperationName: 'change apps/v1/deployments',
    minStartTimeUnixNano: '1767225601000000000',
    maxEndTimeUnixNano: '1767225601060000000',
    spanCount: 6,
    services: [
      { name: 'deployment-controller', spanCount: 3 },
      { name: 'kubectl', spanCount: 2 },
      { name: 'replicaset-controller', spanCount: 1 },
    ],
  })
})

test('errors are counted, of the trace and of each service', async () => {
  expect(
    await search({
      'query.serviceName': 'odd',
      'query.attributes': '{"error":"true"}',
      'query.searchDepth': '1',
    }),
  ).toMatchObject([
    { spanCount: 3, errorSpanCount: 1, services: [{ name: 'odd', spanCount: 3, errorSpanCount: 1 }] },
  ])
})

test('a span whose parent is not in the trace is counted', async () => {
  expect(await search({ 'query.serviceName': 'lonely' })).toMatchObject([
    { traceId: traceIdOf(71), rootServiceName: 'kubectl', orphanSpanCount: 1 },
  ])
})

test.each<[asked: Record<string, string>, found: number[]]>([
  [{}, [71, 22, 21, 11, 1]],
  [{ 'query.operationName': 'reconcile replicaset' }, [11, 1]],
  [{ 'query.attributes': '{"note":"ünïcode"}' }, [11, 1]],
  [{ 'query.attributes': '{"note":"other"}' }, []],
  [{ 'query.attributes': '{"count":"3","flag":"true"}' }, [22, 21]],
  [{ 'query.attributes': '{"count":"3","flag":"false"}' }, []],
  [{ 'query.durationMin': '80ms' }, [11]],
  [{ 'query.durationMin': '31ms', 'query.durationMax': '60ms' }, [11, 1]],
  [{ 'query.serviceName': 'nobody' }, []],
  [{ 'query.startTimeMin': '2026-01-01T00:00:15Z', 'query.startTimeMax': '2026-01-01T00:00:30Z' }, [22, 21]],
])('a search for %j finds these, and so does the one for whole traces', async (asked, expected) => {
  const ids = expected.map(traceIdOf)
  expect((await search(asked)).map(({ traceId }) => traceId)).toEqual(ids)
  const query = new URLSearchParams({ ...TIMES, ...asked }).toString()
  const whole = (await (await api.fetch(`/jaeger/api/v3/traces?${query}`)).json()) as Whole
  const spans = whole.result.resourceSpans.flatMap((of) => of.scopeSpans.flatMap((scope) => scope.spans))
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set(ids))
})

test('what is wrong is said in the form of its other answers', async () => {
  const response = await api.fetch(`/jaeger/api/v3/trace-summaries?query.serviceName=odd`)
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: {
        httpCode: 400,
        message: 'query.startTimeMin and query.startTimeMax are required, in RFC 3339',
      },
    },
  ])
})
