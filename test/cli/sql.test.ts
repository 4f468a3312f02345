import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { textOutput } from '../../src/cli/sql-command.ts'
import { figureSeven, TABLE_2 } from '../query/figure-seven.ts'
import { cpid, hexTrace } from '../support/otlp-requests.ts'
import type { TestWriter } from '../support/test-writer.ts'
import { Cli, type Ran } from './cli.ts'

const cli = new Cli()
/** It stays open, as the writer of a running Causeway does. */
let writer: TestWriter

beforeAll(async () => {
  await cli.run('migrate')
  writer = await figureSeven(cli.path)
})

afterAll(() => {
  writer[Symbol.dispose]()
  cli[Symbol.dispose]()
})

const ENDLESS = 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)'

test('a table for people, with numbers to the right', async () => {
  expect(
    await cli.run('sql', 'SELECT cpid, 10 * place AS ten FROM related($1)'.replace('$1', `'${cpid(2)}'`)),
  ).toEqual({
    code: 0,
    stderr: '',
    stdout: `cpid                                  ten\n${[2, 3, 5, 7].map((id, at) => `${cpid(id)}   ${(at + 1) * 10}\n`).join('')}(4 rows)\n`,
  })
})

test.each(Object.entries(TABLE_2))('related(%s) in a join', async (id, related) => {
  const sql = `SELECT r.cpid AS cpid FROM related('${cpid(Number(id))}') r JOIN audit_cpids c USING (cpid) ORDER BY r.place`
  expect(await cli.json('sql', sql)).toEqual(related.map((one) => ({ cpid: cpid(one) })))
})

test('ancestors, roots, and a function of each row', async () => {
  expect(await cli.json('sql', `SELECT cpid, place FROM ancestors('${cpid(5)}')`)).toEqual(
    [3, 4, 1, 2].map((id, at) => ({ cpid: cpid(id), place: at + 1 })),
  )
  expect(
    await cli.json(
      'sql',
      `SELECT c.cpid AS of, group_concat(substr(r.cpid, -1), ' ') AS roots
       FROM audit_cpids c JOIN roots(c.cpid) r WHERE c.kind = 'merge' GROUP BY c.cpid ORDER BY c.cpid`,
    ),
  ).toEqual([
    { of: cpid(3), roots: '1 2' },
    { of: cpid(5), roots: '4 1 2' },
    { of: cpid(7), roots: '2 4 6' },
  ])
})

test('a CPID in any form, as bytes, as NULL, and one that nobody named', async () => {
  for (const argument of [`'${hexTrace(0)}'`, "'nonsense'", '7', 'zeroblob(3)']) {
    const { code, stderr } = await cli.run('sql', `SELECT * FROM roots(${argument})`)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^Error: roots was given .+, which is no CPID; write a UUID in quotes, as roots\('<cpid>'\)\n$/,
    )
  }
  const bare = cpid(8).replaceAll('-', '').toUpperCase()
  for (const argument of [`'${bare}'`, `x'${bare}'`]) {
    expect(await cli.json('sql', `SELECT cpid FROM related(${argument})`)).toEqual([{ cpid: cpid(8) }])
  }
  expect(await cli.json('sql', 'SELECT cpid FROM related(NULL)')).toEqual([])
  expect(await cli.run('sql', `SELECT cpid FROM related('${cpid(99)}')`)).toEqual({
    code: 0,
    stdout: 'cpid\n(0 rows)\n',
    stderr: `Note: no mergelog, span or log has named CPID ${cpid(99)}; check it, and whether its sender reaches Causeway\n`,
  })
})

test('JSON keeps what a double cannot, and every column', async () => {
  const sql = `SELECT 9223372036854775807 AS big, 7 AS small, x'00ff' AS bytes, 1.5 AS real, 9e999 AS endless, NULL AS none, '"<&' AS big`
  expect(await cli.json('sql', sql)).toEqual([
    {
      big: '9223372036854775807',
      small: 7,
      bytes: '00ff',
      real: 1.5,
      endless: 'Infinity',
      none: null,
      'big:1': '"<&',
    },
  ])
})

test('text holds no control characters, and says NULL', async () => {
  expect((await cli.run('sql', "SELECT char(27) || '[31m' AS a, NULL AS b, x'0a' AS c")).stdout).toBe(
    'a      b     c\n\ufffd[31m  NULL  0a\n(1 row)\n',
  )
})

async function runOnTerminal(width: number, ...argv: string[]): Promise<Ran> {
  cli.terminalWidth = width
  try {
    return await cli.run('sql', ...argv)
  } finally {
    cli.terminalWidth = undefined
  }
}

const CUT = 'Note: cells are cut to the width of the terminal; --wide or --format json shows them whole\n'
const LONG = "SELECT 'a long value indeed' AS first, 2 AS no UNION SELECT 'b', 3"

test('a table is cut to the width of the terminal, and whole with --wide and elsewhere', async () => {
  expect(await runOnTerminal(18, LONG)).toEqual({
    code: 0,
    stdout: 'first           no\na long value …   2\nb                3\n(2 rows)\n',
    stderr: CUT,
  })
  const whole = 'first                no\na long value indeed   2\nb                     3\n(2 rows)\n'
  const wide = [runOnTerminal(18, LONG, '--wide'), runOnTerminal(23, LONG), runOnTerminal(0, LONG)]
  for (const ran of [cli.run('sql', LONG), ...wide])
    expect(await ran).toEqual({ code: 0, stdout: whole, stderr: '' })
})

test('a terminal too narrow for the columns gets a line for each value', async () => {
  const { stdout, stderr } = await runOnTerminal(15, LONG)
  expect(stdout).toBe('first  a long …\n   no  2\n\nfirst  b\n   no  3\n(2 rows)\n')
  expect(stderr).toBe(CUT)
})

const cells = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', ' ', '.'), minLength: 1, maxLength: 60 }),
  fc.bigInt({ min: -99_999n, max: 99_999n }),
  fc.constant(null),
)
const tables = fc.integer({ min: 1, max: 6 }).chain((columns) =>
  fc.record({
    names: fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 20 }), {
      minLength: columns,
      maxLength: columns,
    }),
    rows: fc.array(fc.array(cells, { minLength: columns, maxLength: columns }), { maxLength: 5 }),
  }),
)

test('no line of a table is wider than the terminal, and nothing is cut that has room', () => {
  fc.assert(
    fc.property(tables, fc.integer({ min: 40, max: 200 }), ({ names, rows }, width) => {
      const lines = (room: number | undefined): { text: string[]; cut: boolean } => {
        let text = ''
        let cut = false
        const output = textOutput(
          { write: (piece) => (text += piece) },
          { width: room, onCut: () => (cut = true) },
        )
        output.columns(names)
        output.rows(rows)
        output.end()
        return { text: text.split('\n'), cut }
      }
      const whole = lines(undefined)
      const shown = lines(width)
      expect(whole.cut).toBe(false)
      for (const line of shown.text) expect(line.length).toBeLessThanOrEqual(width)
      if (whole.text.every((line) => line.length <= width)) expect(shown).toEqual(whole)
      expect(shown.cut).toBe(shown.text.some((line) => line.includes('…')))
    }),
  )
})

test('- reads the statement from the standard input', async () => {
  cli.input = '-- a comment\nSELECT 1 AS one;\n'
  expect(await cli.json('sql', '-')).toEqual([{ one: 1 }])
})

test('an answer is cut, and says so', async () => {
  const { code, stdout, stderr } = await cli.run('sql', `${ENDLESS} SELECT n FROM x`, '--max-rows', '2')
  expect([code, stdout]).toEqual([0, 'n\n1\n2\n(2 rows)\n'])
  expect(stderr).toBe('Note: these are the first 2 rows; raise --max-rows to see more\n')
})

test.each([
  [
    'DELETE FROM spans',
    'DELETE is refused, since this only reads; write one SELECT, WITH … SELECT, VALUES or EXPLAIN',
  ],
  [
    'WITH x AS (SELECT 1) DELETE FROM spans',
    'that statement is refused, since this only reads; write one SELECT, WITH … SELECT, VALUES or EXPLAIN',
  ],
  [
    "/* x */ ATTACH 'other.db' AS other",
    'ATTACH is refused, since only this database is read; write one SELECT',
  ],
  [
    'PRAGMA query_only = OFF',
    "PRAGMA is refused; what only reads is also a table, as in SELECT * FROM pragma_table_info('audit_spans')",
  ],
  [
    "VACUUM INTO 'copy.db'",
    'VACUUM is refused, since this only reads; write one SELECT, WITH … SELECT, VALUES or EXPLAIN',
  ],
  [
    'CREATE TEMP TABLE t (x)',
    'CREATE is refused, since this only reads; write one SELECT, WITH … SELECT, VALUES or EXPLAIN',
  ],
  ["SELECT load_extension('x')", 'extensions are not loaded here; write one SELECT without them'],
  ['SELECT 1; SELECT 2', 'there are several statements; ask them one at a time'],
  [' -- nothing', 'there is no statement; write one SELECT'],
  ['.tables', 'commands that begin with a dot belong to the sqlite3 shell; write one SELECT'],
  ['SELECT ?', 'the statement has parameters; write their values in it'],
  ['VALUES (1, $2)', 'the statement has parameters; write their values in it'],
  ['SELECT FROM', 'near "FROM": syntax error; correct the SQL'],
  ['SELECT * FROM related', "related needs a CPID; write related('<cpid>')"],
  [
    'SELECT * FROM nope',
    "no such table: nope; SELECT name FROM sqlite_schema WHERE name LIKE 'audit%' lists what there is",
  ],
])('%s', async (sql, message) => {
  const before = writer.db.pragma('data_version')
  for (const format of ['text', 'json']) {
    expect(await cli.run('sql', sql, '--format', format)).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: ${message}\n`,
    })
  }
  expect(writer.db.pragma('data_version')).toEqual(before)
  expect(existsSync('copy.db') || existsSync('other.db')).toBe(false)
})

test('a query without end is cut off, and the writer goes on', async () => {
  const asking = cli.run('sql', `${ENDLESS} SELECT count(*) FROM x`, '--timeout', '1s')
  writer.mergelogs('paper', [{ new: cpid(70), time: 70 }])
  expect(await asking).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'Error: the query took longer than 1 s and was ended; narrow it, for instance with LIMIT or WHERE, or raise --timeout\n',
  })
  expect(await cli.json('sql', `SELECT kind FROM audit_cpids WHERE cpid = '${cpid(70)}'`)).toEqual([
    { kind: 'root' },
  ])
})

test('a query without bounds is cut off, and fills no disk', async () => {
  const { code, stderr } = await cli.run(
    'sql',
    `${ENDLESS} SELECT n, randomblob(5000) AS b FROM x ORDER BY b`,
    '--timeout',
    '10m',
  )
  expect([code, stderr]).toEqual([
    1,
    'Error: the query needs more than 1 GiB of memory; select, sort or group less\n',
  ])
  expect(readdirSync(join(dirname(cli.path))).filter((name) => !name.startsWith('causeway.db'))).toEqual([])
})
