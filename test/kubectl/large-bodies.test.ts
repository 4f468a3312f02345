import type { Readable } from 'node:stream'
import { expect, test } from '@jest/globals'
import { ProxyScene } from './support/proxy-scene.ts'

const MIB = 2 ** 20
/** What may be held of a body. */
const MOST_HELD = 16 * MIB
const PIECE = Buffer.alloc(65_536, 'x')
const DEPLOYMENT = '/apis/apps/v1/namespaces/shop/deployments/web'
const UPLOAD = '/api/v1/namespaces/shop/services/files:80/proxy/upload'

/** Writes without an end, as fast as it is taken; `written` is how many bytes were. */
function pour(stream: NodeJS.WritableStream): { written: () => number } {
  let bytes = 0
  const goOn = (): void => {
    do bytes += PIECE.length
    while (stream.write(PIECE))
  }
  stream.on('drain', goOn).on('error', () => undefined)
  goOn()
  return { written: () => bytes }
}

async function readBytes(from: Readable, least: number): Promise<void> {
  let bytes = 0
  for await (const piece of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
    if ((bytes += piece.length) >= least) return
}

test('what is uploaded is handed on as it comes, and no faster than it is taken', async () => {
  const beginnings = Promise.withResolvers<undefined>()
  using scene = await ProxyScene.open(async (request, response) => {
    await readBytes(request, MIB)
    beginnings.resolve(undefined)
    await readBytes(request, 40 * MIB)
    response.end('enough')
  })
  const { asked, answer } = scene.ask('POST', UPLOAD)
  pour(asked)
  await beginnings.promise
  expect((await answer).statusCode).toBe(200)
  asked.destroy()
})

test('a write that is longer than any object is refused as an API server does, before it is whole', async () => {
  const paths: (string | undefined)[] = []
  using scene = await ProxyScene.open(({ url }, response) => {
    paths.push(url)
    response.end('{}')
  })
  const { asked, answer } = scene.ask('PUT', DEPLOYMENT, { 'content-type': 'application/json' })
  const { written } = pour(asked)
  const { statusCode } = await answer
  expect(statusCode).toBe(413)
  expect(written()).toBeLessThan(2 * MOST_HELD)
  expect(paths).toEqual([])
  asked.destroy()
})

test('an object without an end is handed on as it comes', async () => {
  using scene = await ProxyScene.open((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    pour(response)
  })
  const { asked, answer } = scene.ask('GET', DEPLOYMENT)
  asked.end()
  const got = await answer
  expect(got.statusCode).toBe(200)
  await readBytes(got, 2 * MOST_HELD)
  asked.destroy()
})

test('what a write is answered without an end is given up, and it is said that it may be written', async () => {
  using scene = await ProxyScene.open((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    pour(response)
  })
  const { asked, answer } = scene.ask('PUT', DEPLOYMENT, { 'content-type': 'application/json' })
  asked.end('{}')
  const got = await answer
  expect(got.statusCode).toBe(503)
  const said = await new Response(got as never).json()
  expect(said).toMatchObject({ message: expect.stringContaining('it may have been made') })
})

test('what is uploaded in a few bytes is sent again with a new credential, what is large is not held for that', async () => {
  const lengths: number[] = []
  using scene = await ProxyScene.open(async (request, response) => {
    let bytes = 0
    for await (const piece of request as AsyncIterable<Buffer>) bytes += piece.length
    lengths.push(bytes)
    response.writeHead(lengths.length % 2 === 1 ? 401 : 200).end()
  })
  const small = scene.ask('POST', UPLOAD, { 'content-length': 5 })
  small.asked.end('hello')
  expect((await small.answer).statusCode).toBe(200)
  const large = scene.ask('POST', UPLOAD, { 'content-length': 2 * MIB })
  large.asked.end(Buffer.alloc(2 * MIB))
  expect((await large.answer).statusCode).toBe(401)
  expect(lengths).toEqual([5, 5, 2 * MIB])
})
