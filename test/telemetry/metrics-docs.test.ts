import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { METRICS_DOCS, renderMetricsDocs } from '../../scripts/gen-metrics-docs.ts'
import { METRICS } from '../../src/platform/metric-catalogue.ts'

test('docs/reference/metrics.md is what the catalogue says; npm run gen writes it', () => {
  expect(readFileSync(METRICS_DOCS, 'utf8')).toBe(renderMetricsDocs())
})

test('every metric is in it once', () => {
  const text = renderMetricsDocs()
  for (const name of Object.keys(METRICS)) expect(text.split(`| \`${name}\` `)).toHaveLength(2)
})
