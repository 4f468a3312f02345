import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { freePort } from '../../lab/harness/free-ports.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import { QueryThreads } from '../../src/query/threads/query-threads.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-cascades-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

interface Answer {
  status: number
  body: {
    cascades?: { root: string; state: string }[]
    root?: string
    state?: string
    error?: { code: string }
  }
}

test('cascades are listed, filtered and shown one by one', async () => {
  const path = join(folder, 'causeway.db')
  using writer = await TestWriter.open({}, path)
  writer.mergelogs('kubectl', [{ new: cpid(1), object: 'apps/v1/deployments/default/web' }])
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  writer.pass(300_001)
  writer.mergelogs('kubectl', [{ new: cpid(2), object: 'v1/services/default/web' }])
  writer.link()

  // The port is not known from outside, so a free one is asked for first.
  const port = await freePort()
  await using queries = new QueryThreads(path)
  await using server = await startQueryServer({
    host: '127.0.0.1',
    port,
    queries,
    about: { version: '1.2.3', traceUrl: undefined },
    onTrouble: (reason) => {
      throw new Error(reason)
    },
  })
  expect(server.port).toBe(port)
  const get = async (target: string): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${target}`)
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
  const roots = async (target: string): Promise<string[] | undefined> =>
    (await get(target)).body.cascades?.map(({ root }) => root)

  expect(await roots('cascades')).toEqual([cpid(2), cpid(1)])
  expect(await roots('cascades?state=open')).toEqual([cpid(2)])
  expect(await roots('cascades?object=apps/v1/deployments/default/web')).toEqual([cpid(1)])
  expect(await roots('cascades?service=controller')).toEqual([cpid(1)])
  expect(await get(`cascades/${cpid(1).replaceAll('-', '')}`)).toMatchObject({
    status: 200,
    body: { root: cpid(1), state: 'settled' },
  })
  expect(await get(`cascades/${cpid(3)}`)).toMatchObject({ status: 404 })
  expect(await get('cascades/nonsense')).toMatchObject({
    status: 400,
    body: { error: { code: 'malformed_cpid' } },
  })
  expect(await get('cascades?state=closed')).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_state' } },
  })
  expect(await get('cascades?cause=exact')).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_cause' } },
  })
})
