import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import type { MetricSpec } from '../../src/platform/metric-spec.ts'
import { anchorsOf } from './anchors-of.ts'
import { readPromql, type Selector } from './promql.ts'

interface Rule {
  alert: string
  expr: string
  for: string
  labels: { severity: string }
  annotations: { summary: string; description: string; runbook: string }
}

const ROOT = new URL('../../', import.meta.url)
const FILE = new URL('examples/prometheus/causeway-alerts.yaml', ROOT)
/** What Prometheus adds to everything it scrapes. */
const TARGET_LABELS = ['job', 'instance']
const OF_COUNTERS = new Set(['rate', 'increase', 'resets'])

const { groups } = parse(readFileSync(FILE, 'utf8')) as { groups: { name: string; rules: Rule[] }[] }
const rules = groups.flatMap(({ rules }) => rules.map((rule) => [rule.alert, rule] as const))

/** What the catalogue says of a metric, as it is in the text that is scraped. */
function specOf(name: string): Pick<MetricSpec, 'kind' | 'labels'> | undefined {
  if (name === 'up') return { kind: 'gauge', labels: [] }
  const [, base = name, part] = /^(.*)_(bucket|sum|count)$/.exec(name) ?? []
  const spec = Object.entries<MetricSpec>(METRICS).find(([known]) => known === base)?.[1]
  if (part === undefined || spec === undefined) return spec
  if (spec.kind !== 'histogram') return undefined
  return { kind: 'counter', labels: part === 'bucket' ? [...spec.labels, 'le'] : spec.labels }
}

function labelsOf({ name }: Selector): readonly string[] {
  return [...TARGET_LABELS, ...(specOf(name)?.labels ?? [])]
}

test('there are alerts, each with a name of its own', () => {
  expect(rules.length).toBeGreaterThan(20)
  expect(new Set(rules.map(([name]) => name)).size).toBe(rules.length)
  expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length)
})

test.each(rules)('%s says what it is about', (_, rule) => {
  expect(rule).toEqual({
    alert: expect.stringMatching(/^Causeway[A-Z][A-Za-z]+$/),
    expr: expect.any(String),
    for: expect.stringMatching(/^\d+[smh]$/),
    labels: { severity: expect.stringMatching(/^(critical|warning|info)$/) },
    annotations: {
      summary: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\.$/),
      runbook: expect.stringMatching(/^docs\/[a-z]+\.md#[a-z-]+$/),
    },
  })
})

test.each(rules)('%s asks for metrics that exist, by labels that they have', (_, rule) => {
  const { selectors, grouping } = readPromql(rule.expr)
  expect(selectors).not.toEqual([])
  for (const selector of selectors) {
    expect([selector.name, specOf(selector.name)?.kind]).toEqual([
      selector.name,
      expect.stringMatching(/counter|gauge/),
    ])
    expect(labelsOf(selector)).toEqual(expect.arrayContaining([...selector.labels]))
  }
  const known = new Set(selectors.flatMap(labelsOf))
  expect(grouping.filter((label) => !known.has(label))).toEqual([])
})

test.each(rules)('%s takes rates of counters and slopes of gauges', (_, rule) => {
  for (const { name, within, isRange } of readPromql(rule.expr).selectors) {
    if (isRange)
      expect([name, specOf(name)?.kind === 'counter']).toEqual([name, OF_COUNTERS.has(within ?? '')])
  }
})

test.each(rules)('%s tells Causeway from a Collector, which has metrics of the same name', (_, rule) => {
  for (const { name, labels } of readPromql(rule.expr).selectors) {
    if (name === 'up' || name.startsWith('otelcol_')) expect([name, ...labels]).toContain('job')
  }
})

test.each(rules)('%s shows labels that it has', (_, rule) => {
  const { selectors, grouping } = readPromql(rule.expr)
  const known = new Set([...grouping, ...selectors.flatMap(labelsOf)])
  const shown = Object.values(rule.annotations).flatMap((text) => [...text.matchAll(/\$labels\.(\w+)/g)])
  for (const [, label] of shown) expect(known).toContain(label)
})

test.each(rules)('%s leads to a heading that exists', (_, rule) => {
  const [path = '', anchor = ''] = rule.annotations.runbook.split('#')
  expect(anchorsOf(new URL(path, ROOT))).toContain(anchor)
})

test.each([
  ['cpid_commits[5m]', 'a range belongs'],
  ['rate(cpid_commits)', 'a range belongs'],
  ['rate(cpid_commits[5m]) > 0 or', 'No parse'],
  ['sum by (job (cpid_commits)', 'No parse'],
  ['median(cpid_commits)', 'No parse'],
  ['cpid_commits{job=causeway}', 'No parse'],
  ['cpid_commits $ 1', 'No parse'],
  ['cpid_commits 1', 'No parse'],
  ['{job="causeway"}', 'names no metric'],
])('%s is no PromQL', (text, reason) => {
  expect(() => readPromql(text)).toThrow(reason)
})

const cases = readFileSync(new URL('examples/prometheus/causeway-alerts-test.yaml', ROOT), 'utf8')

test.each(rules)('%s has a case in which it fires', (name, { labels }) => {
  const fired = cases.split('\n').filter((line) => line.includes(`alertname="${name}"`))
  expect(fired).toContainEqual(expect.stringContaining(`severity="${labels.severity}"`))
})
