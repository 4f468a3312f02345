import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import type { IngestOutcome } from '../../src/model/otlp-requests.ts'
import { ANSWER_STATUSES } from '../../src/receiver/answer-statuses.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const OUTCOMES: IngestOutcome[] = [
  { kind: 'accepted', stored: 1, rejected: 0, message: '' },
  { kind: 'malformed', reason: '' },
  { kind: 'tooLarge', reason: '' },
  { kind: 'busy', retryAfterMs: 10, reason: '' },
  { kind: 'failed', reason: '' },
]

const outcomeOf = (index: number) => OUTCOMES[index % OUTCOMES.length]!

test('of many requests at once over both transports, each gets the answer to itself', async () => {
  const waiting: (() => void)[] = []
  const port = new RecordingPort(async (request) => {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    waiting.push(() => resolve(undefined))
    if (waiting.length === 100) for (const answer of waiting.toReversed()) answer()
    await promise
    return outcomeOf(request.readUInt32BE())
  })
  await using grpc = await startGrpc(port)
  await using http = await startHttp(port)
  using sender = new GrpcSender(grpc.port)
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const request = Buffer.alloc(4)
      request.writeUInt32BE(index)
      const reply = ANSWER_STATUSES[outcomeOf(index).kind]
      if (index % 2 === 0) expect((await sender.export('traces', request)).code).toBe(reply.grpc)
      else expect((await post(http.port, '/v1/traces', PROTOBUF, request)).status).toBe(reply.http)
    }),
  )
  const seen = port.requests.map(({ request }) => request.readUInt32BE()).toSorted((a, b) => a - b)
  expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => index))
  expect([...grpc.answered, ...http.answered]).toHaveLength(100)
})
