import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { archiveSettings } from '../../../lab/harness/archive-settings.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { documentedQueries } from '../../audit/documented-queries.ts'
import { exampleDatabase } from '../../audit/example-database.ts'
import { askPlain } from '../../audit/plain-sqlite.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { archiveAll } from './support/archiving.ts'
import { asText } from './support/same-views.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-archive-'))
const path = join(folder, 'causeway.db')
let server: ClickHouseServer

beforeAll(async () => {
  server = await ClickHouseServer.start()
  await exampleDatabase(path)
  using writer = await TestWriter.open({}, path)
  await archiveAll(writer, archiveSettings(server, 'audit'))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

test.each(documentedQueries())('$title — ClickHouse says the same', async ({ plainSql, clickHouseSql }) => {
  const expected = askPlain(path, plainSql ?? '') as Record<string, unknown>[]
  const answer = await server.rows(clickHouseSql, {}, 'audit')
  const columns = Object.keys(expected[0] ?? {})
  expect(Object.keys(answer[0] ?? {})).toEqual(columns)
  expect(answer.map((row) => asText(row, columns))).toEqual(expected.map((row) => asText(row, columns)))
})
