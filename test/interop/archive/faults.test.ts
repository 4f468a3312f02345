import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import type { ClickHouseSettings } from '../../../src/exporter/clickhouse/clickhouse-exporter.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { archiveAll } from './support/archiving.ts'
import { viewsOf } from './support/same-views.ts'

let server: ClickHouseServer
beforeAll(async () => {
  server = await ClickHouseServer.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})
afterEach(() => server.fails())

let databases = 0
const settingsOf = (other: Partial<ClickHouseSettings> = {}): ClickHouseSettings =>
  archiveSettings(server, `faults_${++databases}`, other)

/** A change that merges with another, work for both, and a refused mergelog. */
function work(writer: TestWriter, from = 1): void {
  const [one, other, merged] = [cpid(from), cpid(from + 1), cpid(from + 2)]
  writer.mergelogs('kubectl', [
    { new: one, sources: [] },
    { new: other, sources: [] },
  ])
  writer.mergelogs('merger', [{ new: merged, sources: [one, other] }])
  writer.mergelogs('liar', [{ new: merged, sources: [merged] }])
  const spans = [one, other, merged].map((carried, at) => ({
    ...{ trace: from + at, id: from + at, cpid: carried },
    attributes: { 'cpid.wrote': [`v1/pods/default/web?rv=${from + at}`] },
  }))
  writer.spans('controller', spans)
  writer.logs('worker', [{ body: 'done', time: from, cpid: merged }])
  writer.pass(301_000)
}

async function expectSame(writer: TestWriter, { database }: ClickHouseSettings): Promise<void> {
  const views = await viewsOf(writer, server, database)
  expect(views.archive).toEqual(views.database)
}

/** How many rows there are in all tables, before anything is merged: of a fact that is there twice two. */
async function stored({ database }: ClickHouseSettings): Promise<unknown> {
  return await server.rows(
    `SELECT table, toUInt32(sum(rows)) AS n FROM system.parts WHERE active AND database = {database:String}
       AND table NOT IN ('causeways', 'schema_migrations') GROUP BY table ORDER BY table`,
    { database },
  )
}

test.each([
  ['too many parts', { kind: 'exception', code: 252, name: 'TOO_MANY_PARTS' }, /too many parts/],
  ['a full disk', { kind: 'exception', code: 243, name: 'NOT_ENOUGH_SPACE' }, /make room/],
  ['a table that is read-only', { kind: 'exception', code: 242, name: 'TABLE_IS_READ_ONLY' }, /Keeper/],
  ['a user who may only read', { kind: 'exception', code: 164, name: 'READONLY' }, /grant it INSERT/],
  ['a connection that is cut before the insert', { kind: 'cut before' }, /hang up|ECONNRESET/],
  ['a connection that is cut within the rows of the insert', { kind: 'cut within' }, /hang up|ECONNRESET/],
  ['a connection that is cut after the insert', { kind: 'cut after' }, /hang up|ECONNRESET/],
  ['a proxy that says yes in its place', { kind: 'page' }, /answered with "<html>Back soon/],
] as const)('%s delays, and nothing is lost or doubled', async (_what, fault, says) => {
  using calm = await TestWriter.open()
  using writer = await TestWriter.open()
  const plain = settingsOf()
  const settings = settingsOf()
  for (const [one, archive] of [
    [calm, plain],
    [writer, settings],
  ] as const) {
    work(one)
    await archiveAll(one, archive)
    work(one, 10)
  }
  await archiveAll(calm, plain)
  await server.fails({ ...fault, of: '^INSERT INTO .*otel_traces.*FORMAT', times: 3 })
  const { retries, losses } = await archiveAll(writer, settings)
  expect(retries).toHaveLength(3)
  expect(losses).toEqual([])
  for (const reason of retries) expect(reason).toMatch(says)
  await expectSame(writer, settings)
  expect(await stored(settings)).toEqual(await stored(plain))
})

test('where an empty disk takes the place of one that was full, it gets all of what was being written', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  await server.fails({ kind: 'exception', code: 243, of: '^INSERT INTO .*otel_traces.*FORMAT' })
  let [fulls, emptied]: [number, Promise<unknown>] = [0, Promise.resolve()]
  const onTrouble = (): void => {
    if (++fulls !== 3) return
    const query = `DROP DATABASE ${settings.database}`
    emptied = server.client.command({ query }).then(() => server.fails())
  }
  await archiveAll(writer, settings, { onTrouble })
  await emptied
  expect(fulls).toBeGreaterThanOrEqual(3)
  await expectSame(writer, settings)
})

test('where the Collector made the table of traces, no other table makes spans come there twice', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  await archiveAll(writer, settings)
  const table = `${settings.database}.otel_traces`
  const query = `ALTER TABLE ${table} MODIFY SETTING non_replicated_deduplication_window = 0`
  await server.client.command({ query })
  work(writer, 10)
  await server.fails({ kind: 'exception', code: 243, of: '^INSERT INTO .*spans.*FORMAT', times: 3 })
  const { retries } = await archiveAll(writer, settings)
  expect(retries).not.toEqual([])
  const [row] = await server.rows(`SELECT count() AS n, uniqExact(TraceId, SpanId) AS spans FROM ${table}`)
  expect(row?.['n']).toBe(row?.['spans'])
})

test('an archive that was dropped, or is an older copy, is told of once; under another id it gets what is still here', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  expect((await archiveAll(writer, settings)).losses).toEqual([])
  const run = (query: string): Promise<unknown> => server.client.command({ query })
  await run(`DROP DATABASE ${settings.database}`)
  work(writer, 10)
  expect((await archiveAll(writer, settings)).losses).toEqual([
    expect.stringMatching(/^holds nothing of what was written to it.*give the exporter another id/),
  ])
  expect((await archiveAll(writer, settings)).losses).toEqual([])
  const table = `${settings.database}.causeways`
  await run(
    `INSERT INTO ${table} SELECT causeway, instance, since, now64(3) - INTERVAL 1 HOUR FROM ${table} FINAL`,
  )
  await run(
    `ALTER TABLE ${table} DELETE WHERE seen > now64(3) - INTERVAL 10 MINUTE SETTINGS mutations_sync = 2`,
  )
  work(writer, 20)
  expect((await archiveAll(writer, settings)).losses).toEqual([
    expect.stringMatching(
      /^ends (59|60) minutes before what was last written to it.*an older copy.*give the exporter another id/,
    ),
  ])
  const again = { name: 'clickhouse/again' }
  expect((await archiveAll(writer, settings, again)).losses).toEqual([])
  await expectSame(writer, settings)
})

test('a position that was not saved before a crash repeats, and every fact is one row all the same', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  for (let crashes = 0; crashes < 3; crashes++) await archiveAll(writer, settings, { saves: false })
  await archiveAll(writer, settings)
  await expectSame(writer, settings)
  const [row] = await server.rows(
    `SELECT count() AS n, uniqExact(TraceId, SpanId) AS spans FROM ${settings.database}.otel_traces FINAL`,
  )
  expect(row?.['n']).toBe(row?.['spans'])
})

test('a wrong password, and a server that is not there, are told of and waited for', async () => {
  for (const [other, says] of [
    [{ password: 'wrong' }, /AUTHENTICATION_FAILED \(516\).*correct username and password/],
    [{ endpoint: 'http://127.0.0.1:9' }, /ECONNREFUSED/],
  ] as const) {
    using writer = await TestWriter.open()
    work(writer)
    const settings = settingsOf(other)
    const { retries, rows } = await archiveAll(writer, settings, { stopsAtTrouble: true })
    expect(rows).toBe(0)
    expect(retries[0]).toMatch(says)
    await archiveAll(writer, { ...settings, password: 'secret', endpoint: server.endpoint })
    await expectSame(writer, settings)
  }
})

test('a server that never answers is given up on after the timeout, and asked again', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf({ timeoutMs: 300 })
  work(writer)
  await archiveAll(writer, { ...settings, timeoutMs: 60_000 })
  work(writer, 10)
  await server.fails({ kind: 'silent', of: 'INSERT INTO .*spans.* FORMAT', times: 1 })
  const { retries } = await archiveAll(writer, settings, { stopsAtTrouble: true })
  expect(retries[0]).toBe('it took longer than 0.3 s')
  await archiveAll(writer, { ...settings, timeoutMs: 60_000 })
  await expectSame(writer, settings)
})

test('a row that ClickHouse cannot take is passed over and counted, and nothing else is', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  await archiveAll(writer, settings)
  work(writer, 10)
  await server.client.command({
    query: `ALTER TABLE ${settings.database}.mergelogs ADD CONSTRAINT no_merges CHECK length(sources) = 0`,
  })
  // A constraint is somebody's own: it is about the moment, since it may be dropped.
  const { retries, refused } = await archiveAll(writer, settings, { stopsAtTrouble: true })
  expect(retries[0]).toMatch(/VIOLATED_CONSTRAINT/)
  expect(refused).toBe(0)
  await server.client.command({
    query: `ALTER TABLE ${settings.database}.mergelogs DROP CONSTRAINT no_merges`,
  })
  expect((await archiveAll(writer, settings)).retries).toEqual([])
  // Here, since ClickHouse takes NULL for what a column cannot have that may be NULL.
  const events = `${settings.database}.object_events`
  for (const query of [`TRUNCATE TABLE ${events}`, `ALTER TABLE ${events} MODIFY COLUMN span UInt8`])
    await server.client.command({ query })
  writer.spans(
    'odd',
    ['no number', '21'].map((name, at) => ({
      ...{ trace: 20 + at, id: 20 + at, name },
      attributes: { 'cpid.wrote': [`v1/pods/default/odd?rv=${at}`] },
    })),
  )
  writer.pass(301_000)
  const passed = await archiveAll(writer, settings)
  expect(passed.refused).toBe(1)
  expect(passed.retries).toEqual([expect.stringMatching(/object_events: CANNOT_PARSE/)])
  const kept = await server.rows(`SELECT span, object_version FROM ${settings.database}.audit_object_events`)
  expect(kept).toEqual([{ span: '21', object_version: 1 }])
  const merged = await server.rows(`SELECT cpid FROM ${settings.database}.audit_mergelogs ORDER BY cpid`)
  expect(merged.map((row) => row['cpid'])).toEqual([1, 2, 3, 10, 11, 12].map((number) => cpid(number)))
})

test('a schema that is newer than the program is waited for', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  await archiveAll(writer, settings)
  const table = `${settings.database}.schema_migrations`
  await server.client.command({ query: `INSERT INTO ${table} (number, name) VALUES (99, 'to come')` })
  work(writer, 10)
  const { retries, rows } = await archiveAll(writer, settings, { stopsAtTrouble: true })
  expect(rows).toBe(0)
  expect(retries[0]).toMatch(/newer \(migration 99\).*upgrade this Causeway/)
})

test('an archive whose walks an older version made gets those of this one', async () => {
  using writer = await TestWriter.open()
  const settings = settingsOf()
  work(writer)
  await archiveAll(writer, settings)
  const { database } = settings
  const walks = (): Promise<unknown> =>
    server.rows(
      `SELECT name, create_table_query FROM system.tables WHERE database = {database:String} AND name IN ('related', 'ancestors', 'roots') ORDER BY name`,
      { database },
    )
  const before = await walks()
  for (const query of [
    `CREATE OR REPLACE VIEW ${database}.related AS SELECT {cpid:UUID} AS cpid`,
    `ALTER TABLE ${database}.schema_migrations DELETE WHERE number > 2 SETTINGS mutations_sync = 1`,
  ])
    await server.client.command({ query })
  expect(await walks()).not.toEqual(before)
  work(writer, 10)
  expect((await archiveAll(writer, settings)).retries).toEqual([])
  expect(await walks()).toEqual(before)
})

test('several Causeways may make the schema at once', async () => {
  const settings = settingsOf()
  const writers = await Promise.all([1, 2, 3].map(() => TestWriter.open()))
  try {
    writers.forEach((writer, at) => work(writer, 1 + 10 * at))
    const archived = await Promise.all(
      writers.map((writer, at) => archiveAll(writer, { ...settings, causeway: `causeway-${at}` })),
    )
    expect(archived.map(({ retries }) => retries)).toEqual([[], [], []])
    const rows = await server.rows(
      `SELECT causeway, count() AS n FROM ${settings.database}.audit_mergelogs GROUP BY causeway ORDER BY causeway`,
    )
    expect(rows).toEqual([0, 1, 2].map((at) => ({ causeway: `causeway-${at}`, n: 3 })))
  } finally {
    for (const writer of writers) writer[Symbol.dispose]()
  }
})

test('what two Causeways were told is one row, and each has its own part of a cascade', async () => {
  const settings = settingsOf()
  using eu = await TestWriter.open()
  using us = await TestWriter.open()
  for (const writer of [eu, us]) work(writer)
  await archiveAll(eu, { ...settings, causeway: 'eu' })
  await archiveAll(us, { ...settings, causeway: 'us' })
  const views = await viewsOf(eu, server, settings.database)
  for (const view of [
    'audit_cpids',
    'audit_mergelogs',
    'audit_edges',
    'audit_spans',
    'audit_object_events',
    'audit_logs',
  ])
    expect(views.archive[view]).toEqual(views.database[view])
  const cascades = await server.rows(
    `SELECT causeway, count() AS n FROM ${settings.database}.audit_cascades GROUP BY causeway ORDER BY causeway`,
  )
  const { length } = views.database['audit_cascades'] ?? []
  expect(cascades).toEqual(['eu', 'us'].map((causeway) => ({ causeway, n: length })))
})

test('of two databases under one name the first writes, and the other waits until it is gone', async () => {
  const settings = settingsOf()
  using first = await TestWriter.open()
  using second = await TestWriter.open()
  work(first)
  work(second, 10)
  await archiveAll(first, settings)
  const { retries, rows } = await archiveAll(second, settings, { stopsAtTrouble: true })
  expect(rows).toBe(0)
  expect(retries[0]).toMatch(/another Causeway archives under the name prod-eu/)
  await server.client.command({
    query: `INSERT INTO ${settings.database}.causeways SELECT causeway, instance, since, now64(3) - INTERVAL 1 HOUR
      FROM ${settings.database}.causeways FINAL`,
  })
  await server.client.command({
    query: `ALTER TABLE ${settings.database}.causeways DELETE WHERE seen > now64(3) - INTERVAL 10 MINUTE SETTINGS mutations_sync = 2`,
  })
  expect((await archiveAll(second, settings)).retries).toEqual([])
  const found = await server.rows(`SELECT count() AS n FROM ${settings.database}.audit_mergelogs`)
  expect(found).toEqual([{ n: 6 }])
})

test('an exporter and another one of the same Causeway may write into one database', async () => {
  const settings = settingsOf()
  using writer = await TestWriter.open()
  work(writer)
  writer.writer.keepArchives(['clickhouse', 'clickhouse/2'])
  await archiveAll(writer, settings)
  await archiveAll(writer, settings, { name: 'clickhouse/2' })
  await expectSame(writer, settings)
})
