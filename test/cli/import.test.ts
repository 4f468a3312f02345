import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { eventually } from '../../lab/harness/eventually.ts'
import { holdDatabase } from '../../src/store/sqlite/open-database.ts'
import { allRows } from '../importing/recorded-lines.ts'
import { Cli } from './cli.ts'

const recorded = (source: string): string =>
  fileURLToPath(new URL(`../inference/recordings/rollout/${source}.jsonl.gz`, import.meta.url))
const AUDIT = recorded('audit')
const WATCH = recorded('watch')
const KWOK = ['--set', 'connectors::cpid::inference::controllers=[kwok]']
/** The version of the Deployment that is deleted with all it owns: the log has no version of that. */
const LAST_DELETION = 959
const lines = (path: string): string[] => gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')

const importing = (cli: Cli, ...argv: string[]): Promise<unknown> =>
  cli.json('import', '--cluster', 'test', ...KWOK, ...argv)

/** What others are compared with: the whole recording, and its audit log alone; nothing else is imported there. */
const both = new Cli()
const audited = new Cli()
let toldOfBoth: unknown
beforeAll(async () => {
  toldOfBoth = await importing(both, '--audit', AUDIT, '--watch', WATCH)
  await importing(audited, '--audit', AUDIT)
})
afterAll(() => {
  both[Symbol.dispose]()
  audited[Symbol.dispose]()
})

/** Another one with the same database. */
function copyOf(cli: Cli): Cli {
  const copy = new Cli()
  cpSync(dirname(cli.path), dirname(copy.path), { recursive: true })
  return copy
}

function rows(cli: Cli, sql: string): string[] {
  const db = new Database(cli.path, { readonly: true })
  try {
    return db.prepare<[], string>(sql).pluck().all()
  } finally {
    db.close()
  }
}

/** Which change each version of each object is of. */
const changesOf = (cli: Cli): string[] =>
  rows(
    cli,
    `SELECT o.object || '@' || w.version || ' ' || c.text FROM span_objects w JOIN spans s ON s.id = w.span
     JOIN cpids c ON c.id = s.cpid JOIN objects o ON o.id = w.object WHERE w.role = 1 AND w.version >= 0 ORDER BY 1`,
  )

/** From which roots each version of each object comes. */
const rootsOf = (cli: Cli): string[] =>
  rows(
    cli,
    `WITH RECURSIVE above (write, cpid) AS (
       SELECT o.object || '@' || w.version, s.cpid FROM span_objects w JOIN spans s ON s.id = w.span
         JOIN objects o ON o.id = w.object WHERE w.role = 1 AND w.version >= 0
       UNION SELECT above.write, e.source FROM above JOIN edges e ON e.target = above.cpid)
     SELECT write || ' ' || (SELECT group_concat(text) FROM (SELECT c.text FROM above a JOIN cpids c ON c.id = a.cpid
       WHERE a.write = above.write AND NOT EXISTS (SELECT 1 FROM edges WHERE target = a.cpid) ORDER BY 1))
     FROM above GROUP BY write ORDER BY 1`,
  )

/** All that is shown of cascades. */
const shownOf = (cli: Cli): string[] =>
  rows(
    cli,
    `SELECT 'cascade ' || root || ' ' || state || ' ' || duration_ms || ' ' || spans FROM audit_cascades
     UNION ALL SELECT 'outbox ' || count(*) FROM outbox UNION ALL SELECT 'mergelogs ' || count(*) FROM mergelogs
     UNION ALL SELECT 'spans ' || count(*) FROM spans ORDER BY 1`,
  )

test('a recording is stored as if Causeway had been there, settling included, and once', async () => {
  using cli = copyOf(both)
  expect(toldOfBoth).toEqual({
    ...{ lines: 2_015, known: 0, told: 1_190, faulty: 0, faults: [], warnings: [] },
    skipped: { failed: 55, event: 208, no_object: 14, lease: 548 },
  })
  const shown = shownOf(cli)
  const cascades = shown.filter((line) => line.startsWith('cascade'))
  expect(cascades.length).toBeGreaterThan(100)
  expect(cascades.filter((line) => line.includes(' open '))).toEqual([])
  expect(rows(cli, 'SELECT count(*) FROM k8s_tellings')).toEqual([0])
  expect(await importing(cli, '--audit', AUDIT, '--watch', WATCH)).toMatchObject({
    lines: 0,
    known: 2_015,
    told: 0,
  })
  expect(shownOf(cli)).toEqual(shown)
})

test('what is told again in another file changes nothing', async () => {
  using cli = copyOf(both)
  const shown = shownOf(cli)
  const other = join(dirname(cli.config), 'other.jsonl')
  writeFileSync(other, `${lines(WATCH).slice(1).join('\n')}\n`)
  expect(await importing(cli, '--watch', other)).toMatchObject({ lines: 1_151, known: 0 })
  expect(shownOf(cli)).toEqual(shown)
})

test('either source alone gives the same changes, but for what hangs on deletions that an audit log tells no version of', async () => {
  using watched = new Cli()
  await importing(watched, '--watch', WATCH)
  const all = new Set(rootsOf(both))
  expect(all.size).toBeGreaterThan(600)
  const differing = (cli: Cli): string[] => rootsOf(cli).filter((one) => !all.has(one))
  // An undo looks as the controller's own annotation does; nodes are made with what is taken for their kubelet's name.
  expect(differing(watched).length).toBeLessThanOrEqual(4)
  // What an audit log tells no version of is named by the lowest that it can have made: nothing else has that name.
  const writeOf = (one: string): string => one.split(' ', 1)[0] ?? ''
  const told = new Set([...all].map(writeOf))
  const versions = differing(audited)
    .filter((one) => told.has(writeOf(one)))
    .map((one) => Number(/@(\d+) /.exec(one)?.[1]))
  expect(Math.min(...versions)).toBeGreaterThan(LAST_DELETION)
  expect(versions.length).toBeLessThan(30)
})

test('a log that has grown is read from where it ended', async () => {
  using cli = new Cli()
  const log = join(dirname(cli.config), 'audit.log')
  const all = lines(AUDIT)
  writeFileSync(log, `${all.slice(0, 400).join('\n')}\n`)
  expect(await importing(cli, '--audit', log)).toMatchObject({ lines: 400, known: 0 })
  writeFileSync(log, gzipSync(`${all.join('\n')}\n`))
  expect(await importing(cli, '--audit', log)).toMatchObject({
    ...{ lines: 463, known: 400 },
    warnings: [expect.stringContaining('import recordings that grow with --follow')],
  })
  expect(changesOf(cli)).toEqual(changesOf(audited))
})

test('a recording that begins like another is another', async () => {
  using cli = new Cli()
  const [first = '', second = '', ...others] = lines(AUDIT)
  const log = join(dirname(cli.config), 'audit.log')
  writeFileSync(log, [first, ...others.slice(0, 10)].join('\n'))
  await importing(cli, '--audit', log)
  writeFileSync(log, [first, second, ...others.slice(0, 10)].join('\n'))
  expect(await importing(cli, '--audit', log)).toMatchObject({ lines: 12, known: 0 })
})

test('lines that cannot be read are passed over and told of', async () => {
  using cli = new Cli()
  const log = join(dirname(cli.config), 'audit.log')
  const all = lines(AUDIT).slice(0, 50)
  writeFileSync(log, ['no JSON', ...all.slice(0, 49), '[]', all[49]?.slice(0, 100)].join('\n'))
  const { code, stdout } = await cli.run('import', '--cluster', 'test', '--audit', log)
  expect(code).toBe(0)
  expect(stdout).toContain(`3 lines could not be read and were skipped:
  ${log}, line 1 is no JSON, or was cut off
  ${log}, line 51 is no JSON object
  ${log}, line 52 is no JSON, or was cut off
`)
  writeFileSync(log, 'one\ntwo\n')
  const useless = await cli.run('import', '--cluster', 'test', '--audit', log)
  expect(useless.code).toBe(1)
  expect(useless.stdout).toContain('check that --audit names an audit log')
})

test('a recording that is named as another, that is empty, or begins with a byte order mark', async () => {
  using cli = new Cli()
  const swapped = await cli.run('import', '--cluster', 'test', '--audit', WATCH)
  expect(swapped.code).toBe(1)
  expect(swapped.stdout).toContain('line 1 is no event of an audit log\n')
  expect(swapped.stdout).toContain('no line could be used: check that --audit names an audit log')
  const watched = await cli.run('import', '--cluster', 'test', '--watch', AUDIT)
  expect(watched.code).toBe(1)
  expect(watched.stdout).toContain('line 1 is no event of a watch\n')
  const log = join(dirname(cli.config), 'audit.log')
  writeFileSync(log, '')
  expect(await cli.run('import', '--cluster', 'test', '--audit', log)).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: 'read 0 lines\nfound 0 versions and requests\nthe recordings are empty\n',
  })
  writeFileSync(log, `\uFEFF${lines(AUDIT).slice(0, 50).join('\r\n')}`)
  expect(await importing(cli, '--audit', log)).toMatchObject({ lines: 50, faulty: 0 })
})

test('a compressed recording that was cut off is read as far as it goes, and says so', async () => {
  using cli = new Cli()
  const log = join(dirname(cli.config), 'audit.jsonl.gz')
  const bytes = readFileSync(AUDIT)
  writeFileSync(log, bytes.subarray(0, bytes.length >> 1))
  const cutOff = `${log} was cut off: its gzip does not end, and what came after is missing; name a whole copy of it`
  expect(await importing(cli, '--audit', log)).toMatchObject({ faulty: 1, warnings: [cutOff] })
  expect(changesOf(cli).length).toBeGreaterThan(50)
})

test('what is missing or in the way is said with what to do', async () => {
  using cli = new Cli()
  const errorOf = async (...argv: string[]): Promise<string> => (await cli.run('import', ...argv)).stderr
  expect(await errorOf('--audit', AUDIT)).toBe(
    'Error: import needs --cluster <name>, which becomes k8s.cluster.name\n',
  )
  expect(await errorOf('--cluster', 'test')).toBe(
    'Error: import needs --audit <file>, --watch <file> or both\n',
  )
  expect(await errorOf('--cluster', 'test', '--audit', '/nowhere/audit.log')).toContain(
    'cannot read /nowhere/audit.log',
  )
  await cli.run('migrate')
  using running = holdDatabase(cli.path)
  expect(running).toBeDefined()
  expect(await errorOf('--cluster', 'test', '--audit', AUDIT)).toContain('another Causeway')
})

test('killed in the middle, it goes on where it was', async () => {
  using cli = new Cli()
  const argv = ['import', '--cluster', 'test', ...KWOK, '--audit', AUDIT, '--watch', WATCH]
  const program = fileURLToPath(new URL('../../bin/causeway.js', import.meta.url))
  const child = spawn(process.execPath, [program, ...argv, '--config', cli.config])
  const exited = once(child, 'exit')
  await eventually(() => expect(Number(rows(cli, 'SELECT count(*) FROM spans')[0])).toBeGreaterThan(50))
  child.kill('SIGKILL')
  await exited
  await importing(cli, '--audit', AUDIT, '--watch', WATCH)
  expect(allRows(cli.path)).toEqual(allRows(both.path))
}, 180_000)

test('what a custom resource follows from is configured', async () => {
  using cli = new Cli()
  const watch = join(dirname(cli.config), 'watch.jsonl')
  const shop = { apiVersion: 'example.com/v1', kind: 'Shop' }
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget' }
  const told = (
    type: string,
    object: object,
    name: string,
    version: number,
    manager: string,
    more = {},
  ): string => {
    const time = `2026-01-01T00:00:0${version}Z`
    const managedFields = [{ manager, operation: 'Update', time }]
    const metadata = {
      name,
      namespace: 'shop',
      uid: name,
      resourceVersion: `${version}`,
      managedFields,
      ...more,
    }
    return JSON.stringify({ type, time, object: { ...object, metadata } })
  }
  const labels = { 'example.com/shop': 'corner' }
  writeFileSync(
    watch,
    [
      told('ADDED', shop, 'corner', 1, 'kubectl-create'),
      told('ADDED', widget, 'made', 5, 'widget-controller', { labels }),
    ].join('\n'),
  )
  const relation = '{resource: widgets, from: label, name: example.com/shop, of: shops}'
  const changes = async (...argv: string[]): Promise<string[]> => {
    using one = new Cli()
    await one.json('import', '--cluster', 'test', '--watch', watch, ...argv)
    return changesOf(one).map((line) => line.split(' ')[1] ?? '')
  }
  const [shops, made] = await changes('--set', `connectors::cpid::inference::relations=[${relation}]`)
  expect(made).toBe(shops)
  expect(new Set(await changes()).size).toBe(2)
})

const EVENT = lines(AUDIT)[0] ?? ''

test.each<[string, (path: string) => void, RegExp]>([
  [
    'bytes that are no gzip behind some that are',
    (path) => writeFileSync(path, Buffer.concat([gzipSync(`${EVENT}\n`), Buffer.from('no gzip'.repeat(9))])),
    /recording\.gz is damaged as gzip, .*incorrect header check; name a whole copy of it, or what of it gzip -dc prints/,
  ],
  [
    'a device',
    (path) => symlinkSync('/dev/zero', path),
    /cannot read .*recording\.gz: it is no file but a pipe or a device; name a file/,
  ],
])('a recording that is %s is named, with what to do', async (_, make, reason) => {
  using cli = new Cli()
  const path = join(dirname(cli.config), 'recording.gz')
  make(path)
  const { code, stderr } = await cli.run('import', '--cluster', 'test', '--audit', path)
  expect(stderr).toMatch(reason)
  expect(code).toBe(1)
})

test.each([
  ['millions of empty objects', `{"stage":"ResponseComplete","x":[${'{},'.repeat(3_000_000)}{}]}`],
  ['lists in lists', `{"stage":"ResponseComplete","x":${'['.repeat(3_000_000)}${']'.repeat(3_000_000)}}`],
])('a line with %s is passed over, and those around it are not', async (_, line) => {
  using cli = new Cli()
  const path = join(dirname(cli.config), 'recording')
  writeFileSync(path, `${EVENT}\n${line}\n${EVENT}\n`)
  const { stdout } = await cli.run('import', '--cluster', 'test', '--audit', path)
  expect(stdout).toMatch(
    /read 2 lines; 1 more[^]*1 line could not be read[^]*line 2 cannot be read: its \d+ bytes hold/,
  )
})
