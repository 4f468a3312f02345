import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { loadText, SMALLEST } from './load-text.ts'

const text = readFileSync(new URL('../../docs/backends.md', import.meta.url), 'utf8')
const examples = [...text.matchAll(/<!-- (\w+)[ \d]* -->\n\n```yaml\n(.*?)```/gs)].map(
  ([, whose = '', yaml = '']) => ({
    whose,
    yaml,
  }),
)
const settings = loadText(SMALLEST).config.cpid.linking

test('each example says whose it is', () => {
  expect(examples).toHaveLength(text.split('```yaml').length - 1)
  expect(new Set(examples.map(({ whose }) => whose))).toEqual(
    new Set(['Causeway', 'Collector', 'Grafana', 'Jaeger', 'Tempo']),
  )
})

test.each(examples)('the example for $whose is YAML, and right where it is ours', ({ whose, yaml }) => {
  expect(parse(yaml)).toBeInstanceOf(Object)
  if (whose === 'Causeway') expect(loadText([SMALLEST, yaml]).warnings).toEqual([])
})

test('the defaults that it reckons with are the defaults', () => {
  const { settleAfterMs, maxOpenMs, waitMs, maxTraceBytes, maxTraceSpans } = settings
  expect([settleAfterMs, maxOpenMs, waitMs]).toEqual([5 * 60_000, 30 * 60_000, 10_000])
  expect([maxTraceBytes, maxTraceSpans]).toEqual([4 * 2 ** 20, 10_000])
  for (const said of ['`settle_after` (5m)', '`max_open` (30m)', '`wait` (10s)', '`max_trace_bytes` (4 MiB)'])
    expect(text).toContain(said)
})
