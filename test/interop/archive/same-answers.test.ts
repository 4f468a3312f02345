import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { documentedQueries } from '../../audit/documented-queries.ts'
import { exampleDatabase } from '../../audit/example-database.ts'
import { play, steps } from '../../support/drawn-history.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { archiveAll } from './support/archiving.ts'
import { asText, viewsOf } from './support/same-views.ts'

const POD = /'v1\/pods\/default\/web-7c9-[ab]'/g

let server: ClickHouseServer
beforeAll(async () => {
  server = await ClickHouseServer.start()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

test('the views of the archive show what those of the example show', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-archive-'))
  try {
    const path = join(folder, 'causeway.db')
    await exampleDatabase(path)
    using writer = await TestWriter.open({}, path)
    const archived = await archiveAll(writer, archiveSettings(server, 'example'))
    expect(archived.retries).toEqual([])
    const { database, archive } = await viewsOf(writer, server, 'example')
    expect(archive).toEqual(database)
    const empty = Object.keys(database).filter((view) => database[view]?.length === 0)
    expect(empty).toEqual(['audit_unattributed_logs'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** Whatever else is archived: log records, and mergelogs of a CPID that has another. */
function playOthers(writer: TestWriter, drawn: number): void {
  writer.logs('worker', [
    { time: 5, body: 'without' },
    { time: 6, body: 'with', cpid: cpid((drawn % 6) + 1) },
  ])
  writer.mergelogs('other', [{ new: cpid((drawn % 6) + 1), sources: [cpid(7), cpid(8)] }])
  // The change of one was overwritten by that of another, before anybody acted on it.
  const overwritten = {
    'cpid.superseded_by': cpid(((drawn + 1) % 6) + 1),
    'cpid.wrote': [`v1/pods/default/web?rv=${drawn}`],
  }
  writer.spans('api-server', [
    { trace: 9, id: 900 + drawn, cpid: cpid((drawn % 6) + 1), attributes: overwritten },
  ])
}

const EXPORTERS = ['clickhouse', 'clickhouse/second'] as const

/** Cut before the work or after it, so that all of it comes again. */
const CUTS = ['cut before', 'cut after'] as const

const QUESTIONS = documentedQueries()

/** Neither database gives what group_concat brings together an order. */
const inOrder = (by: unknown) => (typeof by === 'string' ? { by: by.split(',').sort().join() } : {})

/** Every question of docs/audit.md, asked of the Pod that all drawn work is about; in what order is not drawn. */
async function expectSameAnswers(writer: TestWriter, database: string): Promise<void> {
  for (const { title, plainSql = '', clickHouseSql } of QUESTIONS) {
    const [stored, archived] = [plainSql, clickHouseSql].map((sql) =>
      // Two drawn writes may make the same version.
      sql
        .replaceAll(POD, "'v1/pods/default/web'")
        .replace('object_version DESC LIMIT', 'object_version DESC, arrival DESC LIMIT'),
    )
    const expected = writer.db.prepare<[], Record<string, unknown>>(stored ?? '').all()
    const columns = Object.keys(expected[0] ?? {})
    const answer = await server.rows(archived ?? '', {}, database)
    const rowsOf = (rows: Record<string, unknown>[]): string[] =>
      rows.map((row) => asText({ ...row, ...inOrder(row['by']) }, columns)).sort()
    expect({ title, rows: rowsOf(answer) }).toEqual({ title, rows: rowsOf(expected) })
  }
}

test('over drawn histories, archived at drawn moments, the views of the archive show what those of the database show', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(steps, fc.infiniteStream(fc.nat(9)), async (drawn, numbers) => {
      const database = `drawn_${++run}`
      using writer = await TestWriter.open()
      const settings = archiveSettings(server, database)
      const next = (): number => numbers.next().value as number
      // Two exporters of one Causeway into one archive bring everything twice, each from where it stands.
      const [first, second] = EXPORTERS
      const archive = async (name: string, saves: boolean): Promise<void> => {
        const cut = CUTS[next()]
        if (cut !== undefined) await server.fails({ kind: cut, of: 'INSERT INTO', times: 1 + next() })
        await archiveAll(writer, settings, { name, others: EXPORTERS.filter((one) => one !== name), saves })
        await server.fails()
      }
      if (next() > 4) await archive(first, true)
      for (const step of drawn) {
        play(() => writer, [step])
        const number = next()
        if (number === 1) playOthers(writer, next())
        if (number > 1) continue
        writer.link()
        await archive(next() > 4 ? first : second, next() > 4)
      }
      writer.pass(301_000)
      for (const name of [first, second]) await archive(name, true)
      const views = await viewsOf(writer, server, database)
      expect(views.archive).toEqual(views.database)
      await expectSameAnswers(writer, database)
      await server.client.command({ query: `DROP DATABASE ${database}` })
    }),
    { numRuns: 15, endOnFailure: true },
  )
}, 240_000)
