import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { AUDIT_VIEWS } from '../../scripts/audit-views.ts'
import { Cli } from '../cli/cli.ts'
import { exampleDatabase } from './example-database.ts'
import { askPlain } from './plain-sqlite.ts'

const cli = new Cli()
/** Every column that docs/reference/audit-views.md prints in bold. */
const INDEXED = AUDIT_VIEWS.flatMap(({ view, indexed }) => indexed.map((column) => [view, column] as const))
/** Reading a whole table; a view of two halves is read as a whole only after both halves were looked up. */
const WHOLE_TABLE = /^SCAN (?!CONSTANT ROW|p$|r$|audit_)/

beforeAll(async () => {
  mkdirSync(dirname(cli.path))
  await exampleDatabase(cli.path)
})

afterAll(() => cli[Symbol.dispose]())

async function planOf(sql: string): Promise<string[]> {
  const inCauseway = (await cli.json('sql', `EXPLAIN QUERY PLAN ${sql}`)) as { detail: string }[]
  return inCauseway.map(({ detail }) => detail)
}

/** For a CPID the half without CPIDs stands in the plan and is never entered: its condition is NULL = 'x'. */
function withoutIdleHalf(plan: readonly string[], column: string): readonly string[] {
  const half = plan.indexOf('UNION ALL')
  return column === 'cpid' && half >= 0 ? plan.slice(0, half) : plan
}

test('the document names indexed columns', () => {
  expect(INDEXED).toContainEqual(['audit_spans', 'cpid'])
  expect(INDEXED).toContainEqual(['audit_object_events', 'object'])
  expect(INDEXED.length).toBeGreaterThan(10)
})

test.each(INDEXED)('%s by %s uses indexes only', async (view, column) => {
  const plan = withoutIdleHalf(await planOf(`SELECT * FROM ${view} WHERE ${column} = 'x'`), column)
  expect(plan.filter((step) => WHOLE_TABLE.test(step))).toEqual([])
  expect(plan.filter((step) => step.includes('AUTOMATIC'))).toEqual([])
  expect(plan.some((step) => / USING .*INDEX .*(text|object|object_name|actor)=\?/.test(step))).toBe(true)
})

test.each([
  'audit_attributed_spans',
  'audit_attributed_object_events',
  'audit_attributed_logs',
  'audit_mergelogs',
  'audit_cpids',
])('%s of the descendants of a CPID uses indexes only, in causeway sql and in plain SQLite', async (view) => {
  const recursive = `WITH RECURSIVE below(cpid) AS (VALUES ('x') UNION
      SELECT e.cpid FROM below CROSS JOIN audit_edges e ON e.source = below.cpid)
      SELECT v.* FROM below CROSS JOIN ${view} v ON v.cpid = below.cpid`
  // The sqlite3 shell draws its plans, which cannot be taken as JSON; that it takes the query is what is asked here.
  expect(askPlain(cli.path, recursive)).toEqual([])
  for (const sql of [recursive, `SELECT v.* FROM related('x') r JOIN ${view} v ON v.cpid = r.cpid`]) {
    const plan = await planOf(sql)
    const whole = plan.filter((step) => WHOLE_TABLE.test(step) && !/^SCAN (below|r VIRTUAL)/.test(step))
    expect(whole).toEqual([])
    expect(plan.filter((step) => step.includes('AUTOMATIC'))).toEqual([])
  }
})

test('a span stands with the CPID it inherited, and object references are taken apart', async () => {
  expect(
    await cli.json(
      'sql',
      `SELECT object, object_uid, object_version, kind FROM audit_cpids WHERE object = 'apps/v1/deployments/default/web' ORDER BY merged_at`,
    ),
  ).toEqual([
    { object: 'apps/v1/deployments/default/web', object_uid: 'uuu0', object_version: '100', kind: 'root' },
    { object: 'apps/v1/deployments/default/web', object_uid: 'uuu0', object_version: '200', kind: 'root' },
  ])
})
