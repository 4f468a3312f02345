import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { optionsOf } from '../../src/cli/command-line.ts'
import { OPTIONS } from '../../src/cli/options.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { cpid } from '../support/otlp-requests.ts'
import { Cli } from './cli.ts'

test('without a command, and as run, it runs what is configured', async () => {
  using cli = new Cli()
  for (const argv of [[], ['run']]) {
    expect(await cli.run(...argv, '--set', 'connectors.cpid.max_sources=7')).toMatchObject({
      code: 42,
      stderr: '',
    })
  }
  expect(cli.runs.map(({ cpid: { maxSources } }) => maxSources)).toEqual([7, 7])
})

test('a start that fails is one line', async () => {
  using cli = new Cli()
  cli.runs.push = () => {
    throw new Error('The query API cannot listen\n  on it; change it')
  }
  expect(await cli.run()).toMatchObject({
    code: 1,
    stderr: 'Error: The query API cannot listen on it; change it\n',
  })
})

test.each([
  [['nonsense'], 2, 'unknown command "nonsense"; causeway --help lists the commands'],
  [['related'], 2, 'write causeway related <cpid>'],
  [['related', cpid(1), cpid(2)], 2, 'write causeway related <cpid>'],
  [['cascades', cpid(1)], 2, 'write causeway cascades'],
  [
    ['related', cpid(1), '--limit', '3'],
    2,
    'related takes no --limit; leave it out (it takes --config, --set, --format, --archive, --timeout)',
  ],
  [['related', 'nonsense'], 2, '"nonsense" is no CPID; write a UUID, or at least its first eight digits'],
  [['cascades', '--format', 'yaml'], 2, '--format "yaml" is unknown; write text or json'],
  [['cascades', '--state', 'broken'], 2, '--state "broken" is unknown; write open or settled'],
  [
    ['sql', 'SELECT 1', '--timeout', '30'],
    2,
    '--timeout "30" is out of range, and cannot be turned off; write a duration up to 1h, such as 500ms, 30s or 5m',
  ],
  [
    ['sql', 'SELECT 1', '--timeout', '0s'],
    2,
    '--timeout "0s" is out of range, and cannot be turned off; write a duration up to 1h, such as 500ms, 30s or 5m',
  ],
  ...['cascades', 'mergelogs', `cascade ${cpid(1)}`, `related ${cpid(1)}`].map(
    (command): [string[], number, string] => [
      [...command.split(' '), '--timeout', '5s'],
      2,
      '--timeout is how long an archive may take; name one with --archive, or leave it out',
    ],
  ),
  [
    ['sql', 'SELECT 1', '--max-rows', '-1'],
    2,
    '--max-rows is followed by -1; write its value, as in --max-rows=<n>',
  ],
  [
    ['sql', 'SELECT 1', '--max-rows=1e9'],
    2,
    '--max-rows "1e9" is out of range; write a whole number from 1 to 1000000',
  ],
  [['cascades', '--limit', '0'], 2, '--limit "0" is out of range; write a whole number from 1 to 10000'],
])('%j', async (argv, code, message) => {
  using cli = new Cli()
  expect(await cli.run(...argv)).toEqual({ code, stdout: '', stderr: `Error: ${message}\n` })
})

test('every mistake in the configuration has its line', async () => {
  using cli = new Cli()
  const { code, stderr } = await cli.run(
    'related',
    cpid(1),
    '--set',
    'nonsense=1',
    '--set',
    'connectors.cpid.max=2',
  )
  expect(code).toBe(1)
  expect(stderr).toMatch(/^Error: [^\n]+\nError: [^\n]+\n$/)
  expect(await cli.runBare('cascades')).toMatchObject({
    code: 1,
    stderr:
      'Error: at least one config flag must be provided; write --config otel-config.yaml, or causeway observe, which needs none\n',
  })
})

const QUERY_COMMANDS = [
  ['related', cpid(1)],
  ['cascades'],
  ['cascade', cpid(1)],
  ['mergelogs'],
  ['sql', 'SELECT 1'],
  ['prune'],
]

test.each(QUERY_COMMANDS)('%s without a database', async (...argv) => {
  using cli = new Cli()
  expect(await cli.run(...argv)).toEqual({
    code: 1,
    stdout: '',
    stderr: `Error: there is no database at ${cli.path} yet; start causeway, or correct connectors::cpid::storage::path\n`,
  })
})

test.each(QUERY_COMMANDS)('%s on a database of another version', async (...argv) => {
  using cli = new Cli()
  mkdirSync(dirname(cli.path))
  using db = disposable(new Database(cli.path))
  db.exec('CREATE TABLE x (y)')
  expect((await cli.run(...argv)).stderr).toBe(
    `Error: the database ${cli.path} is not up to date; run causeway migrate, or start causeway\n`,
  )
  db.exec("CREATE TABLE kysely_migration (name); INSERT INTO kysely_migration VALUES ('999-from-the-future')")
  expect(await cli.run(...argv)).toMatchObject({
    code: 1,
    stderr: `Error: the database ${cli.path} was written by a newer Causeway; use that version, or correct connectors::cpid::storage::path\n`,
  })
})

test('a file that is no database', async () => {
  using cli = new Cli()
  const { code, stderr } = await cli.run('cascades', '--set', `connectors.cpid.storage.path=${cli.config}`)
  expect([code, stderr]).toEqual([
    1,
    `Error: cannot read the database ${cli.config}: file is not a database; check that it is one and that you may write in its folder, or correct connectors::cpid::storage::path\n`,
  ])
})

test.each([
  ['related', cpid(99)],
  ['cascade', cpid(99)],
  ['mergelogs', cpid(99)],
])('%s of an unknown CPID, in either format', async (...argv) => {
  using cli = new Cli()
  await cli.run('migrate')
  for (const format of ['text', 'json']) {
    expect(await cli.run(...argv, '--format', format)).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: no mergelog, span or log has named CPID ${cpid(99)}; check it, and whether its sender reaches Causeway\n`,
    })
  }
})

test('the help names every command, and needs no configuration', async () => {
  using cli = new Cli()
  const { code, stdout } = await cli.runBare('--help')
  expect(code).toBe(0)
  for (const name of COMMANDS.keys()) expect(stdout).toContain(`\n  ${name} `)
  for (const name of Object.keys(OPTIONS)) expect(stdout).toContain(`--${name}`)
  for (const argv of [['help'], ['-h'], ['help', '--help'], ['help', 'help']])
    expect((await cli.runBare(...argv)).stdout).toBe(stdout)
})

test.each([...COMMANDS])('the help of %s names what it takes', async (name, command) => {
  const { summary, config } = command
  using cli = new Cli()
  const { code, stdout } = await cli.runBare(name, '--help')
  expect(code).toBe(0)
  expect(stdout).toContain(`causeway ${name}: ${summary}\n\nUsage: causeway ${name}`)
  const listed = [...stdout.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, option]) => option)
  expect(listed).toEqual(optionsOf(command))
  expect(/^Usage: .*--config/m.test(stdout)).toBe(config === undefined || config === 'optional')
  expect(await cli.runBare('help', name)).toEqual({ code, stdout, stderr: '' })
})

test('the version, with the newest schema', async () => {
  using cli = new Cli()
  expect((await cli.runBare('--version')).stdout).toMatch(
    /^causeway version \d+\.\d+\.\d+ \((commit [0-9a-f]{12}, )?schema \d{3}-[a-z-]+\)\n$/,
  )
})

test('the commands about the configuration', async () => {
  using cli = new Cli()
  expect(await cli.run('validate')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await cli.run('print-config')).stdout).toContain('max_cpids')
  expect((await cli.runBare('components')).stdout).toContain('connectors:')
})

function disposable(db: Database.Database): Database.Database & Disposable {
  return Object.assign(db, { [Symbol.dispose]: () => void db.close() })
}
