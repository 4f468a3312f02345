import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { METRICS_DOCS, renderMetricsDocs } from '../../scripts/gen-metrics-docs.ts'
import { METRICS_IN_PRACTICE } from '../../scripts/metrics-in-practice.ts'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import { anchorsOf } from '../examples/anchors-of.ts'

test('docs/reference/metrics.md is what the catalogue says; npm run gen writes it', () => {
  expect(readFileSync(METRICS_DOCS, 'utf8')).toBe(renderMetricsDocs())
})

test('every metric is in it once, and once with what it means in practice', () => {
  const catalogued = Object.keys(METRICS).sort()
  const listed = renderMetricsDocs().matchAll(/^\| `(\w+)` \| (?:counter|gauge|histogram) /gm)
  expect([...listed].map(([, name]) => name).sort()).toEqual(catalogued)
  const explained = METRICS_IN_PRACTICE.flatMap(({ rows }) => rows.flatMap(([names]) => names))
  expect(explained.sort()).toEqual(catalogued)
})

test('its links lead somewhere', () => {
  for (const [, path = '', anchor = ''] of renderMetricsDocs().matchAll(/\]\(([^)#]+)#?([^)]*)\)/g)) {
    const target = new URL(path, METRICS_DOCS)
    expect([path, existsSync(target)]).toEqual([path, true])
    if (anchor !== '') expect(anchorsOf(target)).toContain(anchor)
  }
})
