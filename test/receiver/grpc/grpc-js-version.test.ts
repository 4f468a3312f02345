import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import {
  Client,
  compressionAlgorithms,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { GRPC_JS_VERSION } from '../../../src/platform/grpc-js-server.ts'
import { type Ending, GrpcJsCall } from '../../../src/receiver/otlp/grpc-call.ts'

/** What the hooks of a call were told, in their order. */
type ReceivedFrames =
  ['bytes', number] | ['decompress', string, Buffer] | ['ending', status] | ['head'] | ['closed']

const path = '/test.Service/Echo'
const identity = (bytes: Buffer): Buffer => bytes
const method = {
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
}
let heard: ReceivedFrames[] = []
let isOver = Promise.withResolvers<undefined>()
let decompress = async (message: Buffer): Promise<Buffer> => message
let client: Client

const server = new Server({
  interceptors: [
    (_, outer) => {
      const call: GrpcJsCall = new GrpcJsCall(outer, {
        bytes: ({ length }) => heard.push(['bytes', length]),
        head: () => heard.push(['head']),
        decompress: (message, encoding) => {
          heard.push(['decompress', encoding, message])
          return decompress(message)
        },
        ending: (ending: Ending) => {
          heard.push(['ending', ending.code])
          call.send(ending)
        },
        closed: () => {
          heard.push(['closed'])
          isOver.resolve(undefined)
        },
      })
      return call.call as never
    },
  ],
})
server.addService(
  { echo: method },
  { echo: ({ request }: { request: Buffer }, answer: (e: null, b: Buffer) => void) => answer(null, request) },
)

beforeAll(async () => {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
    if (error === null) resolve(port)
    else reject(error)
  })
  client = new Client(`127.0.0.1:${await promise}`, credentials.createInsecure(), {
    'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
  })
})

afterAll(() => {
  client.close()
  server.forceShutdown()
})

async function echo(request: Buffer): Promise<{ code: status; answer: Buffer | undefined }> {
  heard = []
  isOver = Promise.withResolvers()
  const { promise, resolve } = Promise.withResolvers<{ code: status; answer: Buffer | undefined }>()
  client.makeUnaryRequest(path, identity, identity, request, new Metadata(), (error, answer) =>
    resolve({ code: error?.code ?? status.OK, answer }),
  )
  const outcome = await promise
  await isOver.promise
  return outcome
}

test('the version is the one that was read, everywhere', () => {
  const installed = createRequire(import.meta.url).resolve('@grpc/grpc-js/package.json')
  const versionOf = (file: string): unknown =>
    (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    dependencies: Record<string, string>
  }
  expect(versionOf(installed)).toBe(GRPC_JS_VERSION)
  expect(manifest.dependencies['@grpc/grpc-js']).toBe(GRPC_JS_VERSION)
})

test('bytes are heard before they are decompressed, what is made of them is what the handler gets, and the end once', async () => {
  decompress = async () => Buffer.from('something else')
  const { answer } = await echo(Buffer.from('x'.repeat(5_000)))
  expect(answer?.toString()).toBe('something else')
  const compressed = heard.find((one) => one[0] === 'decompress')
  expect(compressed?.[1]).toBe('gzip')
  expect(compressed?.[2]).toEqual(gzipSync(Buffer.from('x'.repeat(5_000))))
  expect(heard.map(([what]) => what)).toEqual(['bytes', 'decompress', 'head', 'ending', 'closed'])
})

test('what decompressing rejects with is how the call ends', async () => {
  decompress = () => Promise.reject(Object.assign(new Error('no'), { code: status.ABORTED, details: 'no' }))
  expect((await echo(Buffer.from('x'.repeat(5_000)))).code).toBe(status.ABORTED)
  expect(heard.filter(([what]) => what === 'ending')).toEqual([['ending', status.ABORTED]])
})

test('a call of another grpc-js is not taken', () => {
  expect(() => new GrpcJsCall({} as never, {} as never)).toThrow(`install ${GRPC_JS_VERSION}`)
})
