import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { Cli } from './cli.ts'

let away: string

beforeAll(async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  away = `http://127.0.0.1:${(server.address() as AddressInfo).port}/causeway`
  server.close()
  await once(server, 'close')
})

const cli = new Cli()
afterAll(() => cli[Symbol.dispose]())

test.each([
  [['cascades']],
  [['cascades', '--format', 'json']],
  [['cascades', '--timeout', '1500.5ms']],
  [['cascade', cpid(1)]],
  [['related', cpid(1)]],
  [['mergelogs', cpid(1)]],
])('%j of an archive alone that is away is no answer', async (argv) => {
  const { code, stdout, stderr } = await cli.runBare(...argv, '--archive', away)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^Error: http:\/\/127\.0\.0\.1:\d+ does not answer: connect ECONNREFUSED .*\n$/)
})

test('beside a database it is a part of the answer', async () => {
  await cli.run('migrate')
  const { code, stderr } = await cli.run('cascades', '--archive', away)
  expect(code).toBe(0)
  expect(stderr).toContain('Note: this answer has only what this Causeway stores: the archive at http')
})

test('a percent sign that encodes nothing is refused with what to write', async () => {
  const { code, stderr } = await cli.runBare('cascades', '--archive', 'http://u:50%off@127.0.0.1:1/causeway')
  expect(code).toBe(2)
  expect(stderr).toBe('Error: --archive has a % that encodes nothing; write %25 for a percent sign\n')
})
