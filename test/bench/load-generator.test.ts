import { once } from 'node:events'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { HelperProcess } from '../../lab/bench/load/helper-process.ts'
import type { FromGenerator, SendOrder } from '../../lab/bench/load/messages.ts'
import { openClient } from '../../lab/harness/clients/otlp-client.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import { encodeRpcStatus } from '../../src/model/otlp/responses.ts'

type Answer = { code: number; metadata?: Metadata } | { reply: Buffer }

function retryAfter(retryAfterMs: number): Metadata {
  const rpcStatus = encodeRpcStatus('protobuf', {
    code: status.RESOURCE_EXHAUSTED,
    message: '',
    retryAfterMs,
  })
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(rpcStatus))
  return metadata
}

/** A gRPC receiver that answers in turn as told. */
async function grpcServer(answers: Answer[]): Promise<{ endpoint: string } & Disposable> {
  const server = new Server()
  server.addService(
    { export: EXPORT_METHODS.traces },
    {
      export: (
        _: unknown,
        answer: (error: { code: number; metadata?: Metadata } | null, reply?: Buffer) => void,
      ) => {
        const next = answers.shift()!
        if ('code' in next) answer(next)
        else answer(null, next.reply)
      },
    },
  )
  const { promise, resolve } = Promise.withResolvers<number>()
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, port) => resolve(port))
  return { endpoint: `127.0.0.1:${await promise}`, [Symbol.dispose]: () => server.forceShutdown() }
}

/** An HTTP receiver that asks `answer` for a status and a body; it has read the request by then. */
async function httpServer(
  answer: (body: string) => [number, string, OutgoingHttpHeaders?],
): Promise<{ endpoint: string } & Disposable> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const [code, text, headers] = answer(body)
      response.writeHead(code, headers).end(text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { endpoint: `127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
  return text
}

test('over gRPC what is refused for now is told from what is taken, and anything else is thrown', async () => {
  using server = await grpcServer([
    { code: status.UNAVAILABLE },
    { code: status.RESOURCE_EXHAUSTED, metadata: retryAfter(250) },
    { reply: Buffer.alloc(0) },
    { reply: Buffer.from([0x0a, 0x00]) },
    { reply: Buffer.from([0x0a, 0x02, 0x08, 0x01]) },
    { code: status.INVALID_ARGUMENT },
  ])
  const client = await openClient('grpc', server.endpoint)
  const send = () => client.spans(Buffer.alloc(0))
  expect([await send(), await send(), await send(), await send()]).toEqual([
    { outcome: 'refused', retryAfterMs: 0 },
    { outcome: 'refused', retryAfterMs: 250 },
    { outcome: 'taken', retryAfterMs: 0 },
    { outcome: 'taken', retryAfterMs: 0 },
  ])
  await expect(send()).rejects.toThrow('not taken whole')
  await expect(send()).rejects.toThrow('INVALID_ARGUMENT')
  client.close()
})

test('over HTTP as well', async () => {
  const answers: [number, string, OutgoingHttpHeaders?][] = [
    [429, '', { 'retry-after': '2' }],
    [503, ''],
    [200, '{}'],
    [200, '{"partialSuccess":{}}'],
    [200, '{"partialSuccess":{"rejectedSpans":"1"}}'],
    [400, 'no'],
  ]
  using server = await httpServer(() => answers.shift()!)
  const client = await openClient('http/json', server.endpoint)
  const send = () => client.spans(Buffer.from('{}'))
  expect([await send(), await send(), await send(), await send()]).toEqual([
    { outcome: 'refused', retryAfterMs: 2000 },
    { outcome: 'refused', retryAfterMs: 0 },
    { outcome: 'taken', retryAfterMs: 0 },
    { outcome: 'taken', retryAfterMs: 0 },
  ])
  await expect(send()).rejects.toThrow('rejectedSpans')
  await expect(send()).rejects.toThrow('is answered 400: no')
  client.close()
})

test('the generator sends again what is refused, and every span once', async () => {
  let asked = 0
  const taken: string[] = []
  using server = await httpServer((body) => {
    if (++asked % 3 === 0) return [503, '']
    const request = JSON.parse(body) as {
      resourceSpans: { scopeSpans: { spans: { spanId: string }[] }[] }[]
    }
    for (const { scopeSpans } of request.resourceSpans)
      for (const { spans } of scopeSpans) taken.push(...spans.map(({ spanId }) => spanId))
    return [200, '{}']
  })
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  generator.tell({
    kind: 'send',
    endpoint: server.endpoint,
    protocol: 'http/json',
    spansPerRequest: 20,
    requests: 30,
    inFlight: 6,
    cascades: 2,
    withoutMergelogs: true,
  })
  const sent = await generator.hear('sent')
  expect(sent).toMatchObject({ acknowledged: 600, refused: asked - 30 })
  expect(sent.refused).toBeGreaterThan(0)
  expect(sent.latenciesMs).toHaveLength(30)
  expect(new Set(taken).size).toBe(600)
  expect(taken).toHaveLength(600)
})

test('the generator stops when the time is up', async () => {
  using server = await httpServer(() => [503, ''])
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const order = { endpoint: server.endpoint, protocol: 'http/json', requests: 30, inFlight: 4 } as const
  generator.tell({ kind: 'send', ...order, cascades: 2, withoutMergelogs: true, atMostMs: 50 })
  expect(await generator.hear('sent')).toMatchObject({ acknowledged: 0, latenciesMs: [] })
})
