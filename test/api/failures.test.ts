import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import { QueryThreadClient } from '../../src/query/threads/query-threads.ts'
import { figureSeven } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'
import { ABOUT, QueryApi } from './support/query-api.ts'

let api: QueryApi

beforeAll(async () => {
  api = await QueryApi.over(async (path) => {
    const writer = await figureSeven(path, { retention: { maxCpids: 7 } })
    writer.pass(300_001)
    writer.writer.prune(1000)
    return writer
  })
})

afterAll(() => api[Symbol.asyncDispose]())

test.each([
  [`cpids/${cpid(99)}`, 404, 'unknown_cpid'],
  [`cpids/${cpid(99)}/spans`, 404, 'unknown_cpid'],
  [`cpids/${cpid(1)}`, 410, 'pruned_cpid'],
  [`cpids/${cpid(1)}/related`, 410, 'pruned_cpid'],
  [`cpids/${cpid(1)}/mergelogs?limit=1`, 410, 'pruned_cpid'],
  ['cpids/nonsense', 400, 'malformed_cpid'],
  ['cpids/nonsense/spans', 400, 'malformed_cpid'],
  ['cpids/00000000-0000-0000-0000-000000000000', 400, 'malformed_cpid'],
  [`cpids/${cpid(2)}%00`, 400, 'malformed_cpid'],
  ['mergelogs?limit=0', 400, 'bad_limit'],
  ['mergelogs?limit=10001', 400, 'bad_limit'],
  ['mergelogs?limit=', 400, 'bad_limit'],
  ['mergelogs?limit=ten', 400, 'bad_limit'],
  ['mergelogs?limit=-1', 400, 'bad_limit'],
  ['mergelogs?limit=1.5', 400, 'bad_limit'],
  [`cpids/${cpid(2)}/spans?limit=99999999999999999999`, 400, 'bad_limit'],
  ['mergelogs?after=nonsense', 400, 'bad_cursor'],
  ['mergelogs?after=', 400, 'bad_cursor'],
  [`cpids/${cpid(2)}/spans?after=1.2`, 400, 'bad_cursor'],
  ['', 404, 'unknown_path'],
  ['nonsense', 404, 'unknown_path'],
  ['cpids', 404, 'unknown_path'],
  ['cpids/', 404, 'unknown_path'],
  ['cpids/nonsense/nonsense', 404, 'unknown_path'],
  [`cpids/${cpid(2)}/related/more`, 404, 'unknown_path'],
  ['mergelogs/1', 404, 'unknown_path'],
])('GET %s', async (path, status, code) => {
  const answered = await api.get(path)
  expect([answered.status, answered.headers.get('content-type')]).toEqual([status, 'application/json'])
  expect(answered.body).toEqual({ error: { code, message: expect.stringMatching(/^[^\n]{10,}$/) } })
})

test.each(['mergelogs?limit=1', 'mergelogs?limit=10000', `cpids/${cpid(2)}/spans?limit=10000`])(
  'GET %s is right',
  async (path) => {
    expect((await api.get(path)).status).toBe(200)
  },
)

test('anything but GET and HEAD', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers, body } = await api.get('mergelogs', { method })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(body).toMatchObject({ error: { code: 'method_not_allowed' } })
  }
  expect((await api.get('nonsense', { method: 'POST' })).status).toBe(404)
})

test('a path that is no path', async () => {
  for (const path of ['/', '//', '//x:y/', '/api/v2/mergelogs', '/api/v1']) {
    expect((await api.fetch(path)).status).toBe(404)
  }
})

test('an occupied port', async () => {
  await using queries = await QueryThreadClient.start({ path: api.writer.db.name, salt: '', answers: 'any' })
  const port = Number(new URL(api.url).port)
  await expect(startQueryServer({ host: '127.0.0.1', port, queries, about: ABOUT })).rejects.toThrow(
    `The query API cannot listen on 127.0.0.1:${port}: another program uses the port, perhaps a Causeway that already runs ` +
      '(causeway doctor says); change extensions.cpid_query.endpoint',
  )
})

test('no database', async () => {
  await expect(
    QueryThreadClient.start({ path: '/nowhere/causeway.db', salt: '', answers: 'any' }),
  ).rejects.toThrow(/^cannot open the database \/nowhere\/causeway\.db .*; check that/)
})

test('a fault here is a 500 that tells the caller nothing, and one line for the log', async () => {
  const troubles: string[] = []
  const queries = await QueryThreadClient.start({ path: api.writer.db.name, salt: '', answers: 'any' })
  await using server = await startQueryServer({
    host: '127.0.0.1',
    port: 0,
    queries,
    about: ABOUT,
    onTrouble: (reason) => troubles.push(reason),
  })
  await queries[Symbol.asyncDispose]()
  const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/mergelogs`)
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ error: { code: 'internal' } })
  expect(troubles).toEqual(['the query thread has ended'])
})
