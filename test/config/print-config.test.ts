import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { COMPONENTS } from '../../src/app/components.ts'
import { printConfig } from '../../src/config/print-config.ts'
import { loadText, mistakesIn, SMALLEST, WITH_EXPORTER } from './load-text.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const print = (...given: Parameters<typeof loadText>) => printConfig(loadText(...given).raw, COMPONENTS)

test('the printed configuration means the same as the written one', () => {
  for (const yaml of [SMALLEST, WITH_EXPORTER, read('../../otel-config.yaml')]) {
    expect(loadText(print(yaml)).config).toEqual(loadText(yaml).config)
  }
})

test('text that looks like a number stays text', () => {
  const sets = ['connectors.cpid.storage.path="${env:FILE}"', 'connectors.cpid.max_sources="${env:COUNT}"']
  const env = { FILE: '0777', COUNT: '12' }
  expect(loadText(print(SMALLEST, { sets, env })).config.cpid).toMatchObject({
    storage: { path: '0777' },
    maxSources: 12,
  })
})

test('every default is written out', () => {
  expect(print(SMALLEST)).toMatchSnapshot()
})

test('secrets are blacked out, wherever they came from', () => {
  const printed = print(read('./every-key.yaml'))
  expect(printed).not.toMatch(/Bearer token|: certificate|: key\b|: authority|hush/)
  expect(printed).toContain('authorization: "[REDACTED]"')
  expect(printed).toContain('key_pem: "[REDACTED]"')

  const sets = ['exporters.otlp_grpc.headers="${env:HEADERS}"']
  const env = { HEADERS: '{ authorization: "Bearer 123" }' }
  expect(print(WITH_EXPORTER, { sets, env })).toContain('headers:\n      authorization: "[REDACTED]"')
})

test('passwords and keys in URLs are blacked out too, in the printed configuration and in mistakes', () => {
  const sending = (endpoint: string) => [
    `exporters.otlp_http={ endpoint: "${endpoint}" }`,
    'service.pipelines.traces/out.exporters=[otlp_http]',
  ]
  const printed = print(WITH_EXPORTER, { sets: sending('https://tempo.example/otlp?tenant=1&key=hush') })
  expect(printed).toContain('https://tempo.example/otlp?tenant=[REDACTED]&key=[REDACTED]')
  for (const endpoint of [
    'https://user:hush@tempo',
    'ftp://user:hush@tempo',
    'https://[user:hush@tempo',
    'ftp://tempo?key=hush',
    'user:hush@tempo:1',
  ]) {
    const mistakes = mistakesIn(WITH_EXPORTER, { sets: sending(endpoint) })
    expect(mistakes.length).toBeGreaterThan(0)
    expect(mistakes.join()).not.toContain('hush')
  }
})

test('a placeholder in a URL is no secret', () => {
  const url = 'http://grafana:3000/explore?trace={trace_id}&span={span_id}'
  expect(print(SMALLEST, { sets: [`extensions.cpid_query.trace_url="${url}"`] })).toContain(url)
})
