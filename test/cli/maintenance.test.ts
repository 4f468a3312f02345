import { expect, test } from '@jest/globals'
import { figureSeven } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

test('migrate makes the database, and then has nothing to do', async () => {
  using cli = new Cli()
  const first = (await cli.json('migrate')) as { applied: string[] }
  expect(first).toMatchObject({ path: cli.path })
  expect(first.applied).toContain('001-schema')
  expect(await cli.run('migrate')).toEqual({ code: 0, stdout: `${cli.path} is up to date\n`, stderr: '' })
})

test('prune removes what retention no longer keeps, beside an open writer', async () => {
  using cli = new Cli()
  await cli.run('migrate')
  using writer = await figureSeven(cli.path)
  writer.pass(300_001)
  const limits = [
    '--set',
    'connectors.cpid.retention.max_cpids=4',
    '--set',
    'connectors.cpid.retention.max_age=0s',
  ]
  expect(await cli.run('prune', ...limits)).toEqual({
    code: 0,
    stdout: 'pruned 5 CPIDs, 5 spans and 5 log records\n',
    stderr: '',
  })
  expect(await cli.json('prune', ...limits)).toEqual({ cpids: 0, spans: 0, logs: 0, unsettled: 0, unsent: 0 })
  expect(await cli.run('related', cpid(5))).toEqual({
    code: 1,
    stdout: '',
    stderr: `Error: CPID ${cpid(5)} was pruned; raise connectors::cpid::retention to keep CPIDs longer\n`,
  })
  // The writer goes on as if it had pruned itself.
  writer.mergelogs('paper', [{ new: cpid(20), sources: [cpid(5), cpid(6)] }])
  expect(await cli.json('related', cpid(6))).toMatchObject({ related: [cpid(6), cpid(20), cpid(7)] })
  const sources = writer.db.prepare('SELECT source FROM audit_edges WHERE cpid = ?').pluck()
  expect(sources.all(cpid(20))).toEqual([cpid(6)])
})

test('prune goes on until it is done', async () => {
  using cli = new Cli()
  await cli.run('migrate')
  using writer = await TestWriter.open({}, cli.path, new TestClock(Date.now() - 3_600_000))
  writer.mergelogs(
    'controller',
    Array.from({ length: 1000 }, (_, at) => ({ new: cpid(at + 1), time: at })),
  )
  writer.pass(300_001)
  expect(await cli.json('prune', '--set', 'connectors.cpid.retention.max_cpids=1')).toMatchObject({
    cpids: 999,
  })
})
