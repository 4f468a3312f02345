import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import type { MetricSpec } from '../../src/platform/metric-spec.ts'
import { readPromql } from './promql.ts'
import { dashboards, targetsOf } from '../support/grafana-dashboards.ts'
import { RecordedCluster } from '../support/recorded-cluster.ts'

const FOLDER = new URL('../../examples/grafana/', import.meta.url)
/** The hour of the recording. */
const RANGE = { start: '', end: '' }

let cluster: RecordedCluster

beforeAll(async () => {
  cluster = await RecordedCluster.up()
  const answer = await fetch(`${cluster.url}/api/v1/cascades?limit=1`)
  const { cascades } = (await answer.json()) as { cascades: { start: string }[] }
  const atSeconds = Math.floor(Date.parse(cascades[0]?.start ?? '') / 1000)
  RANGE.start = String(atSeconds - 3600)
  RANGE.end = String(atSeconds + 60)
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function asked(path: string, parameters: Record<string, string>): Promise<Record<string, unknown>> {
  const response = await fetch(
    `${cluster.url}/tempo${path}?${new URLSearchParams({ ...RANGE, ...parameters }).toString()}`,
  )
  expect([parameters['q'], response.status]).toEqual([parameters['q'], 200])
  return (await response.json()) as Record<string, unknown>
}

const TRACEQL = dashboards().flatMap((dashboard) =>
  targetsOf(dashboard).flatMap((target) =>
    target.query === undefined ? [] : [{ ...target, query: target.query.replaceAll('$object', '') }],
  ),
)
/** No such thing is in the recording. */
const FINDS_NOTHING = /status = error/

test.each(TRACEQL)('Causeway answers: $query', async ({ query, isMetric }) => {
  const answer = isMetric
    ? await asked('/api/metrics/query_range', { q: query, step: '60s' })
    : await asked('/api/search', { q: query, limit: '5' })
  expect(answer).toMatchObject({ [isMetric ? 'series' : 'traces']: expect.any(Array) })
  const found = answer[isMetric ? 'series' : 'traces'] as unknown[]
  expect(found.length > 0).toBe(!FINDS_NOTHING.test(query))
})

test('the field Object narrows what is shown', async () => {
  const [query] = dashboards().flatMap((dashboard) =>
    targetsOf(dashboard).flatMap(({ query: asked = '', isMetric }) =>
      asked.includes('$object') && !isMetric ? [asked] : [],
    ),
  )
  const found = async (object: string): Promise<number> => {
    const { traces } = await asked('/api/search', {
      q: (query ?? '').replaceAll('$object', object),
      limit: '500',
    })
    return (traces as unknown[]).length
  }
  expect(await found('deployments/shop/web')).toBeGreaterThan(0)
  expect(await found('deployments/shop/web')).toBeLessThan(await found(''))
  expect(await found('deployments/nowhere')).toBe(0)
})

const PROMQL = dashboards().flatMap((dashboard) =>
  targetsOf(dashboard).flatMap(({ expr }) =>
    expr === undefined ? [] : [expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', '.*')],
  ),
)

test('there are as many questions to Prometheus as there should be', () => {
  expect(PROMQL.length).toBeGreaterThan(20)
})

test.each(PROMQL)('Prometheus can be asked, of metrics and labels that Causeway has: %s', (expr) => {
  const { selectors, grouping } = readPromql(expr)
  const labels = selectors.flatMap(({ name }) => {
    const [, base = name, isBucket] = /^(.*?)(_bucket)?$/.exec(name) ?? []
    const spec = Object.entries<MetricSpec>(METRICS).find(([known]) => known === base)?.[1]
    expect([name, spec?.kind]).toEqual([
      name,
      isBucket ? 'histogram' : expect.stringMatching(/^(?:counter|gauge)$/),
    ])
    return [...(spec?.labels ?? []), ...(isBucket ? ['le'] : [])]
  })
  for (const label of grouping) expect([...labels, 'job', 'instance']).toContain(label)
})

test('every panel asks a data source that is provisioned', () => {
  const file = new URL('provisioning/datasources/causeway.yaml', FOLDER)
  const { datasources } = parse(readFileSync(file, 'utf8')) as {
    datasources: { uid: string; type: string }[]
  }
  const known = datasources.map(({ uid, type }) => ({ uid, type }))
  const asked = dashboards().flatMap((dashboard) => targetsOf(dashboard).map(({ datasource }) => datasource))
  for (const one of asked) expect(known).toContainEqual(one)
})
