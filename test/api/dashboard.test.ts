import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openBasicAuthenticator } from '../../src/platform/basic-auth.ts'
import type { Authenticator } from '../../src/platform/credentials.ts'
import { startQueryServer } from '../../src/query/http/query-server.ts'
import { QueryThreadClient } from '../../src/query/threads/query-threads.ts'
import { figureSeven } from '../query/figure-seven.ts'

/** What the tests built before they began. */
const BUILT = fileURLToPath(new URL('../../dist/web/', import.meta.url))
const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9' }

let open: AsyncDisposableStack
let folder: string
let built: number
let unbuilt: number
let guarded: number

beforeAll(async () => {
  open = new AsyncDisposableStack()
  folder = mkdtempSync(join(tmpdir(), 'causeway-dashboard-'))
  open.defer(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'causeway.db')
  open.use(await figureSeven(path))
  const queries = open.use(await QueryThreadClient.start({ path, salt: '', answers: 'any' }))
  const start = async (dashboard: string, gate: { authenticator?: Authenticator } = {}) => {
    const about = { version: '1', traceUrl: undefined }
    const settings = { host: '127.0.0.1', port: 0, queries, about, dashboard, ...gate }
    return open.use(await startQueryServer(settings)).port
  }
  mkdirSync(join(folder, 'empty'))
  built = await start(BUILT)
  unbuilt = await start(join(folder, 'empty'))
  const users = { id: 'basicauth', inline: 'alice:word', reloadIntervalMs: 0, onTrouble: () => undefined }
  guarded = await start(BUILT, { authenticator: open.use(openBasicAuthenticator(users)) })
})
afterAll(() => open.disposeAsync())

/** As sent: nothing decompressed. */
async function ask(port: number, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const call = request({ host: '127.0.0.1', port, path, headers, method }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }
}

async function assets(): Promise<string[]> {
  const { body } = await ask(built, '/')
  return [...body.toString().matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
}

test('the page allows its own files and nothing else, and is asked for again each time', async () => {
  const { status, headers, body } = await ask(built, '/')
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
  ])
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(policy).not.toContain('unsafe')
  expect([headers['x-content-type-options'], headers['referrer-policy']]).toEqual(['nosniff', 'no-referrer'])
  expect(body.toString()).not.toMatch(/<script(?![^>]* src=)|<style|style=|https?:\/\//)
  const again = await ask(built, '/', { 'if-none-match': String(headers.etag) })
  expect([again.status, again.body.length]).toEqual([304, 0])
})

test('assets come compressed as the caller can take them, and may be kept for good', async () => {
  const paths = await assets()
  expect(paths.map((path) => path.split('.').at(-1)).sort()).toEqual(
    expect.arrayContaining(['css', 'js', 'svg']),
  )
  for (const path of paths) {
    const plain = await ask(built, path)
    expect([plain.status, plain.headers['cache-control'], plain.headers['content-encoding']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
      undefined,
    ])
    const br = await ask(built, path, { 'accept-encoding': 'gzip, deflate, br' })
    expect([br.headers['content-encoding'], br.headers.vary]).toEqual(['br', 'accept-encoding'])
    expect(brotliDecompressSync(br.body)).toEqual(plain.body)
    const gzip = await ask(built, path, { 'accept-encoding': 'gzip, br;q=0' })
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.body)).toEqual(plain.body)
    const head = await ask(built, path, {}, 'HEAD')
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
      200,
      String(plain.body.length),
      0,
    ])
  }
})

test.each(['/cascades/x', '/cpids/x', '/find?q=%3Cb%3E', '/no/such/view', '/assets/../../../package.json'])(
  'a browser at %s gets the page',
  async (path) => {
    const page = await ask(built, path, BROWSER)
    expect([page.status, page.body]).toEqual([200, (await ask(built, '/')).body])
    const program = await ask(built, path, { accept: 'application/json' })
    expect([program.status, program.headers['content-type']]).toEqual([404, 'application/json'])
  },
)

test.each([
  '/assets/nothing.js',
  '/assets/..%2findex.html',
  '/assets/.hidden.js',
  '/assets/',
  '/api',
  '/api/v1/nothing',
  '/api/v2/cascades',
])('%s is no file and no page, even for a browser', async (path) => {
  const { status, body } = await ask(built, path, BROWSER)
  expect([status, JSON.parse(body.toString())]).toMatchObject([404, { error: { code: 'unknown_path' } }])
})

test('the API answers a browser as it does everyone', async () => {
  const { status, headers } = await ask(built, '/api/v1/cascades', BROWSER)
  expect([status, headers['content-type']]).toEqual([200, 'application/json'])
})

test('without a built dashboard the page says what to run, and the API answers', async () => {
  const { status, body, headers } = await ask(unbuilt, '/', BROWSER)
  expect([status, headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
  expect(body.toString()).toContain('<code>npm run build</code>')
  expect((await ask(unbuilt, '/api/v1/cascades')).status).toBe(200)
})

test('page and assets are as closed as the API: to names of others, to their pages, and to those who show no login', async () => {
  const paths = ['/', '/cascades', ...(await assets())]
  const authorization = `Basic ${Buffer.from('alice:word').toString('base64')}`
  for (const path of paths) {
    const nobody = await ask(guarded, path, BROWSER)
    expect([path, nobody.status, nobody.headers['www-authenticate']]).toEqual([
      path,
      401,
      expect.stringMatching(/^Basic realm=/),
    ])
    const alice = await ask(guarded, path, { ...BROWSER, authorization })
    expect([path, alice.status]).toEqual([path, 200])
    expect(alice.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
    expect(alice.headers['cross-origin-resource-policy']).toBe('same-origin')
    expect((await ask(built, path, { ...BROWSER, host: 'attacker.example' })).status).toBe(403)
    expect((await ask(built, path, { ...BROWSER, origin: 'https://attacker.example' })).status).toBe(403)
  }
})
