import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { AUDIT_VIEWS } from '../../scripts/audit-views.ts'
import { AUDIT_VIEWS_DOCS, columnsOfViews, renderAuditViewsDocs } from '../../scripts/gen-audit-docs.ts'
import { Cli } from '../cli/cli.ts'
import { AUDIT_DOCS, documentedQueries, readAuditDocs, withAnswers } from './documented-queries.ts'
import { exampleDatabase } from './example-database.ts'
import { askPlain } from './plain-sqlite.ts'

const isRewriting = process.env['CAUSEWAY_GOLDEN'] === '1'
const QUERIES = documentedQueries()
const cli = new Cli()

beforeAll(async () => {
  mkdirSync(dirname(cli.path))
  await exampleDatabase(cli.path)
})

afterAll(() => cli[Symbol.dispose]())

test('the answers in docs/audit.md are those of the example (npm run golden rewrites them)', async () => {
  const answers = new Map<string, string>()
  for (const { title, sql } of QUERIES) {
    const { stdout, stderr } = await cli.run('sql', sql)
    expect(stderr).toBe('')
    answers.set(title, stdout)
  }
  const text = withAnswers(readAuditDocs(), answers)
  if (isRewriting) writeFileSync(AUDIT_DOCS, text)
  expect(readAuditDocs()).toBe(text)
})

test('there are a dozen questions, none of them with an empty answer', () => {
  expect(QUERIES.length).toBeGreaterThanOrEqual(12)
  for (const { answer } of QUERIES) expect(answer).toMatch(/\([1-9]\d* rows?\)\n$/)
})

test.each(QUERIES)('$title — plain SQLite says the same', async ({ sql, plainSql }) => {
  const answer = await cli.json('sql', sql)
  expect(plainSql).toBeDefined()
  expect(askPlain(cli.path, plainSql ?? '')).toEqual(answer)
  if (plainSql !== sql) expect(await cli.json('sql', plainSql ?? '')).toEqual(answer)
})

test('docs/reference/audit-views.md has every view with every column; npm run gen writes it', async () => {
  expect(readFileSync(AUDIT_VIEWS_DOCS, 'utf8')).toBe(await renderAuditViewsDocs())
  const columns = await columnsOfViews()
  expect(AUDIT_VIEWS.map(({ view }) => view).toSorted()).toEqual([...columns.keys()])
  for (const { view, indexed } of AUDIT_VIEWS)
    expect([view, columns.get(view)]).toEqual([view, expect.arrayContaining([...indexed])])
})
