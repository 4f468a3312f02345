import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Cli } from '../cli/cli.ts'
import { AUDIT_DOCS, documentedQueries, readAuditDocs, withAnswers } from './documented-queries.ts'
import { exampleDatabase } from './example-database.ts'
import { askPlain } from './plain-sqlite.ts'

const isRewriting = process.env['CAUSEWAY_GOLDEN'] === '1'
const QUERIES = documentedQueries(readAuditDocs())
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

test('every view has its row in the document, with every column', async () => {
  const rows = (await cli.json(
    'sql',
    `SELECT v.name AS view, group_concat(c.name, ', ') AS columns FROM sqlite_schema v JOIN pragma_table_info(v.name) c
     WHERE v.type = 'view' GROUP BY v.name ORDER BY v.name`,
  )) as { view: string; columns: string }[]
  const documented = [...readAuditDocs().matchAll(/^\| `(audit_\w+)` +\|[^|]*\| ([^|]*?) +\|$/gm)]
  expect(
    documented
      .map(([, view, columns = '']) => ({ view, columns: columns.replaceAll('*', '') }))
      .sort((a, b) => ((a.view ?? '') < (b.view ?? '') ? -1 : 1)),
  ).toEqual(rows)
})
