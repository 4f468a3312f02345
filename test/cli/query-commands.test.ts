import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { figureSeven, TABLE_2 } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

const cli = new Cli()
/** It stays open, as the writer of a running Causeway does. */
let writer: TestWriter

beforeAll(async () => {
  await cli.run('migrate')
  writer = await figureSeven(cli.path)
  writer.pass(300_001)
  writer.spans('kubelet', [
    { trace: 90, id: 90, cpid: cpid(90), name: 'sync\u001b[31m pod', start: 5, end: 70 },
  ])
  writer.pass(10_001)
})

afterAll(() => {
  writer[Symbol.dispose]()
  cli[Symbol.dispose]()
})

test.each(Object.entries(TABLE_2))('related %s', async (number, related) => {
  const of = cpid(Number(number))
  expect(await cli.json('related', of)).toEqual({ cpid: of, related: related.map(cpid) })
  const { code, stdout } = await cli.run('related', of.replaceAll('-', '').toUpperCase())
  expect(code).toBe(0)
  expect(stdout.split('\n').map((line) => line.slice(0, 36))).toEqual([...related.map(cpid), ''])
})

test('mergelogs, all and those of a CPID', async () => {
  const { stdout } = await cli.run('mergelogs')
  expect(stdout.split('\n')).toHaveLength(9)
  expect(stdout).toContain(
    `2026-01-01T00:00:00.003000000Z  ${cpid(3)}  paper  ${'-'.padEnd(33)}  -  <- ${cpid(1)} ${cpid(2)}\n`,
  )
  const ofSix = await cli.run('mergelogs', cpid(6))
  expect(ofSix.stdout.split('\n').map((line) => line.slice(32, 68))).toEqual([cpid(6), cpid(7), ''])
  expect(await cli.run('mergelogs', '--limit', '1')).toMatchObject({
    stdout: expect.stringMatching(/root\n$/),
    stderr: 'Note: there are more; raise --limit to see them\n',
  })
  expect(await cli.json('mergelogs', '--limit', '1')).toMatchObject({
    mergelogs: [{ cpid: cpid(1) }],
    next: expect.any(String),
  })
})

test('cascades as a table', async () => {
  const { stdout, stderr } = await cli.run('cascades', '--state', 'settled', '--limit=2')
  expect(stderr).toBe('Note: there are older ones; raise --limit to see them\n')
  expect(stdout.split('\n')).toEqual([
    'root CPID                             state    start                           duration  spans  services  merges  missing  begun by  object',
    `${cpid(8)}  settled  2026-01-01T00:00:00.008000000Z      10ms      1         1       0        0  paper     apps/v1/deployments/default/web-8`,
    `${cpid(6)}  settled  2026-01-01T00:00:00.006000000Z      11ms      2         2       1        0  paper     apps/v1/deployments/default/web-6`,
    '',
  ])
  expect(await cli.run('cascades', '--service', 'nobody')).toMatchObject({
    stdout: expect.stringMatching(/^root CPID .*\n$/),
    stderr: 'Note: there are no such cascades; leave out one of the filters\n',
  })
})

test('cascades of a time, given as such or as a duration back from now', async () => {
  const roots = async (...filters: string[]): Promise<unknown> => {
    const { cascades } = (await cli.json('cascades', ...filters)) as { cascades: { root: string }[] }
    return cascades.map(({ root }) => root)
  }
  const all = await roots()
  expect(await roots('--since', '2026-01-01T00:00:00.008Z')).toContain(cpid(8))
  expect(await roots('--until', '2026-01-01T00:00:00.0075Z')).not.toContain(cpid(8))
  cli.nowMs = Date.UTC(2026, 0, 1, 1)
  expect(await roots('--since', '1h')).toEqual(all)
  expect(await roots('--since', '59m')).toEqual([])
  expect(await roots('--until', '59m')).toEqual(all)
  expect(await cli.run('cascades', '--since', 'monday')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('--since "monday" is no time; write one such as') },
  })
  expect(await cli.run('cascades', '--since', '1m', '--until', '2m')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('--since must be before --until') },
  })
})

test('cascades as JSON, filtered', async () => {
  expect(await cli.json('cascades', '--cause', 'self')).toMatchObject({ cascades: [], next: null })
  expect(await cli.run('cascades', '--cause', 'exact')).toMatchObject({
    stderr: expect.stringContaining('--cause "exact" is unknown; write operator or self'),
  })
  expect(await cli.json('cascades', '--state', 'open')).toMatchObject({
    cascades: [{ root: cpid(90), missing: 1 }],
  })
  expect(await cli.json('cascades', '--object', 'apps/v1/deployments/default/web-4')).toMatchObject({
    cascades: [{ root: cpid(4), state: 'settled' }],
    next: null,
  })
})

test('a cascade as a tree with the time of each service', async () => {
  const { stdout } = await cli.run('cascade', cpid(6))
  expect(stdout).toBe(`cascade of ${cpid(6)} (settled)
  object         apps/v1/deployments/default/web-6?uid=u6&rv=1
  begun by       paper
  start          2026-01-01T00:00:00.006000000Z
  last activity  2026-01-01T00:00:00.017000000Z, 11ms after the start
  made of        2 spans of 2 services, 1 merge

main trace 00000000000040008000000000000006 (settled)
span                        service    start     took
change apps/v1/deployments  paper        0ns      0ns  │
  work of 6                 even         0ns     10ms  █████████████████████████████████████████
  cascade                   paper        0ns     11ms  █████████████████████████████████████████████
  merge                     paper        1ms      0ns      │
    work of 7               odd          1ms     10ms      █████████████████████████████████████████

critical path, 11ms
  longest step  work of 7 of odd, 10ms
  longest wait  1ms before merge of paper
step                        service  start  waited       held up
change apps/v1/deployments  paper      0ns                   0ns
merge                       paper      1ms     1ms           0ns
work of 7                   odd        1ms          longest 10ms

service  time in spans  spans  first start  last end
even              10ms      1          0ns      10ms
odd               10ms      1          1ms      11ms
`)
})

test('an open cascade with a missing mergelog says so, and prints no control characters', async () => {
  const { stdout } = await cli.run('cascade', cpid(90))
  expect(stdout).toContain(`cascade of ${cpid(90)} (open)`)
  expect(stdout).toContain('open: more activity may arrive')
  expect(stdout).toContain(
    `missing: the mergelogs of 1 CPID, so spans may be in the wrong place\n    ${cpid(90)}\n`,
  )
  expect(stdout).toContain('sync\ufffd[31m pod')
})

test('a CPID of several cascades', async () => {
  const { stdout } = await cli.run('cascade', cpid(5))
  expect(stdout).toMatch(
    new RegExp(`^CPID ${cpid(5)} is in 3 cascades, newest first.\n\ncascade of ${cpid(4)} `),
  )
  const json = (await cli.json('cascade', cpid(5))) as { cpid: string; cascades: { root: string }[] }
  expect(json.cpid).toBe(cpid(5))
  expect(json.cascades.map(({ root }) => root)).toEqual([4, 2, 1].map(cpid))
})

test('a CPID that was not linked yet', async () => {
  writer.mergelogs('paper', [{ new: cpid(77), time: 1 }])
  expect(await cli.run('cascade', cpid(77))).toEqual({
    code: 1,
    stdout: '',
    stderr: `Error: CPID ${cpid(77)} takes part in no cascade yet, since nothing of it has been linked; ask again in a few seconds, or start causeway if none is running\n`,
  })
})
