import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { QueryApi } from './support/query-api.ts'
import { webCascades } from './support/web-cascade.ts'

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(webCascades)
})
afterAll(() => api[Symbol.asyncDispose]())

async function etagOf(path: string): Promise<string> {
  const etag = (await api.get(path)).headers.get('etag')
  if (etag === null) throw new Error(`${path} has no etag`)
  return etag
}

const PATHS = [
  'cascades',
  `cascades/${cpid(1)}`,
  'mergelogs',
  `cpids/${cpid(1)}/related`,
  'find?q=web',
  'facets',
]

test.each(PATHS)('%s is not sent again to whoever has it', async (path) => {
  const etag = await etagOf(path)
  for (const known of [etag, `"other", ${etag}`]) {
    const again = await api.get(path, { headers: { 'if-none-match': known } })
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, undefined, etag])
  }
  const other = await api.get(path, { headers: { 'if-none-match': '"other", W/"x"' } })
  expect([other.status, other.headers.get('cache-control')]).toEqual([200, 'no-cache'])
})

test('what changes gets another etag, what does not keeps its own', async () => {
  const open = cpid(31)
  api.writer.mergelogs('kubectl', [{ new: open, time: 40_000, object: 'v1/pods/default/p' }])
  api.writer.link()
  const before = await Promise.all(['cascades', `cascades/${cpid(1)}`, `cascades/${open}`].map(etagOf))
  api.writer.spans('pods', [{ trace: 77, id: 770, cpid: open, start: 40_001 }])
  api.writer.link()
  const [list, settled, changed] = await Promise.all(
    ['cascades', `cascades/${cpid(1)}`, `cascades/${open}`].map(etagOf),
  )
  expect(list).not.toBe(before[0])
  expect(settled).toBe(before[1])
  expect(changed).not.toBe(before[2])
})

test('a span that begins to wait changes the etag, and so does its being placed', async () => {
  const path = `cascades/${cpid(31)}`
  const before = await etagOf(path)
  const observed = { 'cpid.observed': ['v1/pods/default/p?rv=9'] }
  api.writer.spans('pods', [{ trace: 78, id: 780, cpid: cpid(31), start: 40_050, attributes: observed }])
  api.writer.link()
  const waits = await etagOf(path)
  const { body } = await api.get(path)
  expect(body).toMatchObject({ traces: [{ spans: expect.arrayContaining([waiting]) }] })
  expect(waits).not.toBe(before)
  expect(await etagOf(path)).toBe(waits)
  api.writer.pass(10_001)
  expect(await etagOf(path)).not.toBe(waits)
  expect((await api.get(path)).body).not.toMatchObject({
    traces: [{ spans: expect.arrayContaining([waiting]) }],
  })
})

const waiting = expect.objectContaining({ spanId: '000000000000030c', beingPlaced: true })

test('a list longer than one chunk has an etag that lasts until something is written', async () => {
  const mergelogs = Array.from({ length: 1000 }, (_, at) => ({ new: cpid(1000 + at), time: 50_000 + at }))
  api.writer.mergelogs('kubectl', mergelogs)
  const path = 'mergelogs?limit=1000'
  const etag = await etagOf(path)
  expect(await etagOf(path)).toBe(etag)
  expect((await api.get(path, { headers: { 'if-none-match': etag } })).status).toBe(304)
  api.writer.mergelogs('kubectl', [{ new: cpid(3000) }])
  expect(await etagOf(path)).not.toBe(etag)
})

test('HEAD tells the etag', async () => {
  const response = await api.fetch(`/api/v1/cascades`, { method: 'HEAD' })
  expect(response.headers.get('etag')).toBe(await etagOf('cascades'))
  expect(await response.text()).toBe('')
})
