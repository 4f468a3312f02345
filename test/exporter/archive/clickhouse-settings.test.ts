import { expect, test } from '@jest/globals'
import { OWN_TABLES } from '../../../src/exporter/clickhouse/clickhouse-exporter.ts'
import { TABLES } from '../../../src/exporter/clickhouse/tables.ts'
import { loadText, mistakesIn, SMALLEST } from '../../config/load-text.ts'

/** What is wrong with an archive of these settings. */
function mistakes(settings: string, signal = 'traces'): string[] {
  const archive = `
exporters: { clickhouse: { endpoint: http://localhost:8123, causeway: prod-eu } }
service: { pipelines: { ${signal}/out: { receivers: [cpid], exporters: [clickhouse] } } }`
  return mistakesIn([SMALLEST, archive, `exporters: { clickhouse: { ${settings} } }`])
}

test('what is right is taken', () => {
  expect(mistakes('')).toEqual([])
  const archive = `
exporters: { clickhouse: { endpoint: https://one:8443, causeway: a, retention: 36h, traces_table_name: none } }
service: { pipelines: { traces/out: { receivers: [cpid], exporters: [clickhouse] } } }`
  const [exporter] = loadText([SMALLEST, archive]).config.exporters
  expect(exporter?.settings).toMatchObject({
    retentionDays: 2,
    database: 'causeway',
    tls: { insecure: false },
  })
  expect(exporter?.settings).not.toHaveProperty('tracesTable')
})

test.each([
  ['endpoint: tcp://localhost:9000', /asked over HTTP; write http:\/\/ or https:\/\//],
  ['endpoint: ', /endpoint: is required/],
  ['causeway: ', /causeway: is required; write for example causeway: prod-eu/],
  ["database: 'a; DROP'", /database: must be of letters, digits and underscores/],
  ['traces_table_name: spans', /must be a table that is none of the archive itself/],
  ["cluster: 'x y'", /cluster: must be of letters/],
  ['ttl: 72h', /ttl: write retention/],
  ['sending_queue: { enabled: true }', /the database is the queue/],
  ['retry_on_failure: { max_elapsed_time: 300s }', /never given up on/],
  ['async_insert: true', /what is acknowledged has to be stored/],
  ['flush_intervall: 1s', /did you mean flush_interval/],
])('%s is refused, with what to write', (settings, says) => {
  const found = mistakes(settings)
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(says)
})

test('it takes everything by the pipeline of traces, and stands in no other', () => {
  expect(mistakes('', 'logs').join()).toMatch(/clickhouse/)
})

test('no table of the archive may be named for traces', () => {
  expect(TABLES.map(({ name }) => name).filter((name) => !OWN_TABLES.includes(name))).toEqual([])
  for (const name of OWN_TABLES) expect(mistakes(`traces_table_name: ${name}`)).toHaveLength(1)
})
