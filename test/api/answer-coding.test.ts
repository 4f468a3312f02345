import { request } from 'node:http'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, expect, test } from '@jest/globals'
import { codingFor } from '../../src/query/http/replies.ts'
import { cpid } from '../support/otlp-requests.ts'
import { QueryApi } from './support/query-api.ts'
import { webCascades } from './support/web-cascade.ts'

const api = await QueryApi.over(webCascades)
afterAll(() => api[Symbol.asyncDispose]())

interface Raw {
  status: number | undefined
  headers: Record<string, unknown>
  body: Buffer
}

/** As it comes over the wire: fetch would decode it. */
function askRaw(path: string, headers: Record<string, string>, method = 'GET'): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>()
  request(new URL(path, api.url), { headers, method }, (response) => {
    const parts: Buffer[] = []
    response.on('data', (part: Buffer) => parts.push(part))
    response.on('error', reject)
    response.on('end', () =>
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) }),
    )
  })
    .on('error', reject)
    .end()
  return promise
}

const CASCADE = `/api/v1/cascades/${cpid(1)}`
const DECODED = { gzip: gunzipSync, zstd: zstdDecompressSync }

test.each(['gzip', 'zstd'] as const)(
  'an answer comes in %s to whoever takes that, and is the same',
  async (coding) => {
    const plain = await askRaw(CASCADE, {})
    const coded = await askRaw(CASCADE, { 'accept-encoding': coding })
    expect(plain.headers).not.toHaveProperty('content-encoding')
    expect(coded.headers).toMatchObject({
      'content-encoding': coding,
      vary: expect.stringContaining('accept-encoding'),
    })
    expect(coded.body.length).toBeLessThan(plain.body.length)
    expect(DECODED[coding](coded.body)).toEqual(plain.body)
    expect(coded.headers['etag']).toBe(plain.headers['etag'])
  },
)

test('whoever has an answer in one coding has it in all, and caches are told that codings differ', async () => {
  const { headers } = await askRaw(CASCADE, { 'accept-encoding': 'gzip' })
  const again = await askRaw(CASCADE, { 'accept-encoding': 'zstd', 'if-none-match': String(headers['etag']) })
  expect(again).toMatchObject({ status: 304, headers: { vary: expect.stringContaining('accept-encoding') } })
  expect(again.headers).not.toHaveProperty('content-encoding')
})

test('HEAD has the headers of the answer and nothing else', async () => {
  const { headers, body } = await askRaw(CASCADE, { 'accept-encoding': 'gzip' }, 'HEAD')
  expect(headers).toMatchObject({ 'content-encoding': 'gzip' })
  expect(body).toHaveLength(0)
})

test.each([
  [undefined, undefined],
  ['', undefined],
  ['br, deflate', undefined],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['gzip, zstd', 'zstd'],
  ['gzip;q=1, zstd;q=0.9', 'gzip'],
  ['gzip;q=0, *', 'zstd'],
  ['zstd;q=0, *;q=0.3', 'gzip'],
  ['*;q=0', undefined],
  ['gzip;q=0.5, identity', undefined],
  ['gzip;q=2', undefined],
])('for Accept-Encoding %j the coding is %s', (header, coding) => {
  expect(codingFor(header)).toBe(coding)
})
