import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { freshDirectory } from '../../../lab/harness/fresh-directory.ts'
import { moduleDirectory } from '../../../lab/peers/install-peers.ts'
import { peerVersions } from '../../../lab/peers/peer-versions.ts'
import { setupStatements } from '../../../src/exporter/clickhouse/clickhouse-archive.ts'
import { loadText, SMALLEST } from '../../config/load-text.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { archiveAll } from './support/archiving.ts'
import { viewsOf } from './support/same-views.ts'

/** The module of the Collector's exporter is fetched once. */
const LONGEST_MS = 120_000

let server: ClickHouseServer
beforeAll(async () => {
  server = await ClickHouseServer.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const READER = { role: 'auditors', clusters: ['prod-eu', "o'clock"] }

test.each([
  ['one server', {}],
  [
    'a cluster of servers, years, and a database of its own for traces',
    { cluster: 'main', retentionDays: 1825, tracesTable: 'otel.spans' },
  ],
])('ClickHouse understands every statement that is printed for %s', async (_what, other) => {
  const settings = archiveSettings(server, 'printed', other)
  for (const statement of setupStatements(settings, READER)) {
    const query = `EXPLAIN AST ${statement.replace(/ VALUES .*$/, ' SELECT 1')}`
    await expect(server.client.command({ query })).resolves.toBeDefined()
  }
})

test('what is printed makes what an exporter makes, and may be run again', async () => {
  const settings = archiveSettings(server, 'made', {
    createsSchema: false,
    retentionDays: 30,
    tracesTable: 'linked',
  })
  // Roles have nowhere to be kept in an engine without a server.
  const statements = setupStatements(settings, READER).filter(
    (statement) => !/^(GRANT|CREATE (ROLE|SETTINGS|QUOTA|ROW))/.test(statement),
  )
  for (let time = 0; time < 2; time++) for (const query of statements) await server.client.command({ query })
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), sources: [] }])
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  writer.pass(301_000)
  expect((await archiveAll(writer, settings)).retries).toEqual([])
  const columns = (database: string): Promise<unknown> =>
    server.rows(
      `SELECT table, name, type FROM system.columns WHERE database = {database:String} AND NOT startsWith(table, 'linked') ORDER BY ALL`,
      { database },
    )
  using other = await TestWriter.open()
  await archiveAll(other, archiveSettings(server, 'by_itself', { causeway: 'other', tracesTable: 'linked' }))
  expect(await columns('made')).toEqual(await columns('by_itself'))
})

test('where nobody made the tables, and it must not, it waits and says what to do', async () => {
  using writer = await TestWriter.open()
  const settings = archiveSettings(server, 'nowhere', { createsSchema: false })
  const { retries } = await archiveAll(writer, settings, { stopsAtTrouble: true })
  expect(retries[0]).toMatch(/run what causeway archive init --print prints/)
})

test('the edges of a mergelog that a better claim replaced are gone, and what it was is with the refused', async () => {
  const rules = "{ rules: [{ match: { username: '*' }, merge_from: { clusters: ['*'], services: ['*'] } }] }"
  const { senders } = loadText(SMALLEST.replace('cpid: }', `cpid: { senders: ${rules} } }`)).config.cpid
  using writer = await TestWriter.open(senders === undefined ? {} : { senders })
  const sender = { username: 'anybody' }
  const settings = archiveSettings(server, 'replaced')
  const merged = (service: string, cluster: string, of: number, sources: number[]): void => {
    const mergelog = { new: cpid(of), sources: sources.map((source) => cpid(source)) }
    writer.ingest('logs', mergelogsRequest(service, [mergelog], cluster), sender)
  }
  merged('owner', 'eu', 1, [])
  merged('thief', 'us', 7, [])
  writer.ingest('traces', spansRequest('owner', [{ trace: 1, id: 1, cpid: cpid(2) }], 'eu'), sender)
  merged('thief', 'us', 2, [7])
  writer.pass(301_000)
  await archiveAll(writer, settings)
  merged('owner', 'eu', 2, [1])
  writer.pass(301_000)
  await archiveAll(writer, settings)
  const views = await viewsOf(writer, server, 'replaced')
  expect(views.archive).toEqual(views.database)
  expect(views.archive['audit_edges']).toHaveLength(1)
  expect(views.archive['audit_contested_mergelogs']).toHaveLength(1)
})

const CONTRIB = 'github.com/open-telemetry/opentelemetry-collector-contrib'
const COLLECTOR = `${CONTRIB}/exporter/clickhouseexporter@${peerVersions.collector}`

/** A table as the Collector's exporter makes it, from the text in its module. */
async function makeAsCollector(templates: string, file: string, database: string): Promise<void> {
  const template = await readFile(join(templates, file), 'utf8')
  const [name, cluster, engine, ttl] = [[database, 'otel_traces'], '', 'MergeTree()', '']
  const values = [...name, cluster, engine, ttl]
  const query = template.replaceAll(/%[qs]/g, (verb) => {
    const value = values.shift() ?? ''
    return verb === '%q' ? `"${value}"` : value
  })
  await server.client.command({ query })
}

test(
  'the tables of traces have the columns, keys and indexes that the exporter of the Collector gives them',
  async () => {
    using directory = freshDirectory(tmpdir())
    const run = { directory: directory.path, bin: directory.path, purpose: `fetching ${COLLECTOR}` }
    const templates = join(await moduleDirectory(COLLECTOR, run), 'internal/sqltemplates')
    await server.client.command({ query: 'CREATE DATABASE collector' })
    for (const file of ['traces_table.sql', 'traces_id_ts_lookup_table.sql'])
      await makeAsCollector(templates, file, 'collector')
    using writer = await TestWriter.open()
    await archiveAll(writer, archiveSettings(server, 'ours'))
    type Row = Record<string, unknown>
    const asked = async (query: string, comparable = (row: Row): Row => row): Promise<Row[]> => {
      const ours = await server.rows(query, { database: 'ours' })
      const collectors = await server.rows(query, { database: 'collector' })
      expect(ours.map(comparable)).toEqual(collectors)
      return ours
    }
    const of = (table: string): string => `database = {database:String} AND table = '${table}'`
    const columns = await asked(
      `SELECT name, type, compression_codec FROM system.columns WHERE ${of('otel_traces')} ORDER BY position`,
    )
    expect(columns).toHaveLength(22)
    await asked(
      `SELECT name, type_full, expr, granularity FROM system.data_skipping_indices WHERE ${of('otel_traces')} ORDER BY name`,
    )
    await asked(
      `SELECT partition_key, primary_key FROM system.tables WHERE database = {database:String} AND name = 'otel_traces'`,
    )
    // Here the rows of a trace become one, with the earliest and the latest of them.
    const merged = /^SimpleAggregateFunction\(\w+, (.*)\)$/
    await asked(
      `SELECT name, type FROM system.columns WHERE ${of('otel_traces_trace_id_ts')} ORDER BY position`,
      ({ name, type }) => ({ name, type: String(type).replace(merged, '$1') }),
    )
  },
  LONGEST_MS,
)
