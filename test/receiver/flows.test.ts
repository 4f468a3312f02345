import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import type { IngestOutcome } from '../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { openBasicAuthenticator } from '../../src/platform/basic-auth.ts'
import { Flow, Flows } from '../../src/receiver/flows.ts'
import { InFlight } from '../../src/receiver/in-flight.ts'
import { Intake, Waits } from '../../src/receiver/intake.ts'
import { ACCEPTED, holdingPort, RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

function requestOf(service: string): Uint8Array {
  const attributes = [{ key: 'service.name', value: { stringValue: service } }]
  return protobufOfJson(
    'traces',
    Buffer.from(JSON.stringify({ resourceSpans: [{ resource: { attributes } }] })),
  )
}

function entered(flow: ReturnType<Flows['enter']>): Flow {
  if (!(flow instanceof Flow)) throw new Error(`refused: ${JSON.stringify(flow)}`)
  return flow
}

test('a flow that is alone may have as much waiting as there is room for', () => {
  const flows = new Flows({ maxRequests: 2 })
  const all = Array.from({ length: 10 }, () => entered(flows.enter(requestOf('looping'))))
  expect(new Set(all).size).toBe(1)
  expect(all[0]?.requests).toBe(10)
})

test('once another waits too, what is over the limit is refused and can be sent again', () => {
  const flows = new Flows({ maxRequests: 2 })
  entered(flows.enter(requestOf('quiet')))
  const first = entered(flows.enter(requestOf('looping')))
  entered(flows.enter(requestOf('looping')))
  expect(flows.enter(requestOf('looping'))).toMatchObject({
    kind: 'busy',
    retryAfterMs: 1_000,
    reason: expect.stringContaining('looping has 2 requests'),
  })
  expect(first.takeRefused()).toBe(1)
  entered(flows.enter(requestOf('quiet')))
  flows.leave(first, requestOf('looping').length)
  entered(flows.enter(requestOf('looping')))
})

test('bytes are limited too, but one request alone always has room', () => {
  const { length } = requestOf('looping')
  const flows = new Flows({ maxBytes: length - 1 })
  entered(flows.enter(requestOf('quiet')))
  entered(flows.enter(requestOf('looping')))
  expect(flows.enter(requestOf('looping'))).toMatchObject({ kind: 'busy' })
})

test('another counts for a second after its last request', () => {
  let nowMs = 0
  const flows = new Flows({ maxRequests: 1 }, () => nowMs)
  const quiet = entered(flows.enter(requestOf('quiet')))
  flows.leave(quiet, requestOf('quiet').length)
  entered(flows.enter(requestOf('looping')))
  nowMs = 999
  expect(flows.enter(requestOf('looping'))).toMatchObject({ kind: 'busy' })
  nowMs = 1_000
  entered(flows.enter(requestOf('looping')))
})

test('a credential that invents services has no more room beside others than one that names none', () => {
  const flows = new Flows({ maxRequests: 2, maxBytes: 10_000 })
  const invent = (number: number) => flows.enter(requestOf(`invented-${number}`), 'loud')
  const alone = Array.from({ length: 10 }, (_, number) => entered(invent(number)))
  for (const flow of alone) flows.leave(flow, requestOf('invented-0').length)
  entered(flows.enter(requestOf('a'), 'quiet'))
  const first = entered(invent(1))
  entered(invent(2))
  expect(invent(3)).toMatchObject({
    kind: 'busy',
    cause: 'flow',
    reason: expect.stringContaining('2 requests'),
  })
  flows.leave(first, requestOf('invented-1').length)
  entered(invent(3))
  // Those without credentials are not one sender.
  for (let number = 0; number < 5; number++) entered(flows.enter(requestOf(`other-${number}`)))
})

test('senders with credentials of their own are told apart whatever they call themselves', () => {
  const flows = new Flows({ maxRequests: 1 })
  const one = entered(flows.enter(requestOf('scheduler'), 'team-a'))
  const other = entered(flows.enter(requestOf('scheduler'), 'team-b'))
  expect(one.id).not.toBe(other.id)
  expect([one.name, other.name]).toEqual(['team-a/scheduler', 'team-b/scheduler'])
})

test('flows beyond a thousand take the place of those that are idle', () => {
  const flows = new Flows()
  const busy = entered(flows.enter(requestOf('busy')))
  for (let number = 0; number < 3_000; number++) {
    const request = requestOf(`service-${number}`)
    flows.leave(entered(flows.enter(request)), request.length)
  }
  expect([...flows.all()].length).toBeLessThanOrEqual(1_024)
  expect(entered(flows.enter(requestOf('busy')))).toBe(busy)
})

test('however long the names are that senders give themselves, little of them is kept', () => {
  const flows = new Flows()
  const long = 'x'.repeat(100_000)
  const flow = entered(flows.enter(requestOf(`${long}a`), long))
  expect(entered(flows.enter(requestOf(`${long}b`), long))).toBe(flow)
  expect(flow.name.length).toBeLessThan(500)
})

test('only so many wait at a time; the next goes on at once', () => {
  const waits = new Waits(1_000_000)
  const gone: number[] = []
  for (let number = 0; number < 2_049; number++) waits.add(() => gone.push(number))
  expect(gone).toEqual([2_048])
  waits.end()
  expect(gone).toHaveLength(2_049)
})

test('only a flow that exceeds its share waits a little for its answers, and closing waits for none', async () => {
  const observer = {
    answered: () => undefined,
    unauthenticated: () => undefined,
    dropped: () => undefined,
    unread: () => undefined,
  }
  const settings = { receiver: 'otlp/test', inFlight: new InFlight(), chance: () => 0 }
  const intake = new Intake(settings, 'http', { port: new RecordingPort(), observer })
  const given: string[] = []
  for (const cause of ['flow', 'memory', 'in_flight'] as const)
    void intake
      .delayRefusal({ kind: 'busy', cause, retryAfterMs: 1, reason: 'busy' })
      .then(() => given.push(cause))
  const turn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
  await turn()
  await turn()
  expect(given).toEqual(['memory', 'in_flight'])
  intake.stopWaiting()
  await turn()
  await turn()
  expect(given).toEqual(['memory', 'in_flight', 'flow'])
})

test('flows are told apart by the logged-in user first', async () => {
  const { port, release } = holdingPort()
  const flows = new Flows({ maxRequests: 1 })
  using authenticator = openBasicAuthenticator({
    id: 'basicauth',
    inline: 'alice:word\nbob:word',
    reloadIntervalMs: 0,
    onTrouble: () => undefined,
  })
  await using receiver = await startHttp(port, { flows, authenticator })
  const send = (user: string) =>
    post(
      receiver.port,
      '/v1/traces',
      { ...PROTOBUF, authorization: `Basic ${Buffer.from(`${user}:word`).toString('base64')}` },
      requestOf('scheduler'),
    )
  const waiting = [send('alice'), send('bob')]
  await port.received(2)
  expect([...flows.all()].map(({ name }) => name).sort()).toEqual([
    'basicauth/alice/scheduler',
    'basicauth/bob/scheduler',
  ])
  expect((await send('alice')).status).toBe(503)
  release()
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200])
})

test('a flow that is alone leaves room for others', () => {
  const { length } = requestOf('looping')
  const flows = new Flows({ maxRequests: 1, maxBytesAlone: 3 * length })
  for (let sent = 0; sent < 3; sent++) entered(flows.enter(requestOf('looping')))
  expect(flows.enter(requestOf('looping'))).toMatchObject({ kind: 'busy', cause: 'flow' })
  entered(flows.enter(requestOf('quiet')))
})

/** Begins a call; its message is still to come. */
const callOn = (session: ClientHttp2Session): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })

function framed(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
}

test('on a connection of its own, a flow over its limit is refused before its message arrives', async () => {
  const { port, release } = holdingPort()
  const flows = new Flows({ maxRequests: 1, longestWaitMs: 1 })
  await using receiver = await startGrpc(port, { flows })
  using quiet = new GrpcSender(receiver.port)
  const waiting = quiet.export('traces', requestOf('quiet'))
  await port.received(1)
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const call = (): ClientHttp2Stream => callOn(session)
  const first = call().end(framed(requestOf('looping')))
  await port.received(2)
  const [headers] = (await once(call(), 'response')) as [Record<string, string>]
  expect(headers['grpc-status']).toBe('14')
  expect(decodeURI(headers['grpc-message'] ?? '')).toContain('looping has 1 requests')
  release()
  expect(await waiting).toMatchObject({ code: 0 })
  first.close()
  session.destroy()
})

test('a message for which there is no room is not read, nor are more at a time than there is room for', async () => {
  const { port, release } = holdingPort()
  const message = requestOf('looping')
  const flows = new Flows({ maxBytes: 3 * message.length, longestWaitMs: 1 })
  await using receiver = await startGrpc(port, { flows })
  using quiet = new GrpcSender(receiver.port)
  const waiting = quiet.export('traces', requestOf('quiet'))
  await port.received(1)
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const stored = callOn(session).end(framed(message))
  await port.received(2)
  // One waits and two are being read: that is all there is room for.
  const [second, third] = [callOn(session), callOn(session)]
  const [refused] = (await once(callOn(session), 'response')) as [Record<string, string>]
  expect(refused['grpc-status']).toBe('14')
  expect(decodeURI(refused['grpc-message'] ?? '')).toContain('looping has 1 requests')
  // What is given up, or has been read, leaves room for another.
  second.close(constants.NGHTTP2_CANCEL)
  third.end(framed(message))
  await port.received(3)
  callOn(session).end(framed(message))
  await port.received(4)
  // Three wait.
  const [full] = (await once(callOn(session), 'response')) as [Record<string, string>]
  expect(full['grpc-status']).toBe('14')
  release()
  expect(await waiting).toMatchObject({ code: 0 })
  stored.close()
  session.destroy()
})

/** A port that answers one request at a time, in order, as it is told. */
function steppingPort(): { port: RecordingPort; answerNext: () => void } {
  const waiting: (() => void)[] = []
  const port = new RecordingPort(
    () => new Promise<IngestOutcome>((resolve) => waiting.push(() => resolve(ACCEPTED))),
  )
  return { port, answerNext: () => waiting.shift()?.() }
}

/** Resolves once somebody waits for room. */
async function untilOneWaits(flows: Flows): Promise<void> {
  while (![...flows.all()].some(({ waiting }) => waiting.size > 0)) await nextTurn()
}

test('a request over HTTP waits for room in its flow, and is then stored', async () => {
  const { port, answerNext } = steppingPort()
  const flows = new Flows({ maxRequests: 1 })
  await using receiver = await startHttp(port, { flows })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const onSameConnection = async (service: string): Promise<number | undefined> => {
    const { port: to } = receiver
    const options = { agent, port: to, path: '/v1/traces', method: 'POST', headers: PROTOBUF }
    const [answer] = (await once(request(options).end(requestOf(service)), 'response')) as [IncomingMessage]
    await once(answer.resume(), 'end')
    return answer.statusCode
  }
  const known = onSameConnection('looping')
  await port.received(1)
  answerNext()
  expect(await known).toBe(200)
  const quiet = post(receiver.port, '/v1/traces', PROTOBUF, requestOf('quiet'))
  await port.received(2)
  const full = post(receiver.port, '/v1/traces', PROTOBUF, requestOf('looping'))
  await port.received(3)
  const waits = onSameConnection('looping')
  await untilOneWaits(flows)
  answerNext()
  answerNext()
  await port.received(4)
  answerNext()
  expect(await Promise.all([quiet, full])).toMatchObject([{ status: 200 }, { status: 200 }])
  expect(await waits).toBe(200)
  agent.destroy()
})

/** A receiver that takes one request of each flow, and has one of a quiet sender waiting. */
async function besideQuiet() {
  const { port, answerNext } = steppingPort()
  const flows = new Flows({ maxRequests: 1 })
  const receiver = await startGrpc(port, { flows })
  const quiet = new GrpcSender(receiver.port)
  const waiting = quiet.export('traces', requestOf('quiet'))
  await port.received(1)
  const parts = { port, answerNext, flows, receiver, waiting }
  return {
    ...parts,
    async [Symbol.asyncDispose]() {
      quiet[Symbol.dispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

test('a call over gRPC waits for room in its flow, and is then stored', async () => {
  await using beside = await besideQuiet()
  const { port, answerNext, flows, receiver, waiting } = beside
  using looping = new GrpcSender(receiver.port)
  const first = looping.export('traces', requestOf('looping'))
  await port.received(2)
  const waits = looping.export('traces', requestOf('looping'))
  await untilOneWaits(flows)
  // Somebody else is read and answered meanwhile.
  using another = new GrpcSender(receiver.port)
  const other = another.export('traces', requestOf('other'))
  await port.received(3)
  answerNext()
  answerNext()
  await port.received(4)
  answerNext()
  answerNext()
  expect(await Promise.all([waiting, first, other, waits])).toMatchObject(Array(4).fill({ code: 0 }))
  expect([...flows.all()].map((flow) => flow.takeRefused())).toEqual([0, 0, 0])
})

test('a request that gives up waiting for room leaves the room to the next one', async () => {
  await using beside = await besideQuiet()
  const { port, answerNext, flows, receiver, waiting } = beside
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const first = callOn(session).end(framed(requestOf('looping')))
  await port.received(2)
  const gone = callOn(session)
  await untilOneWaits(flows)
  gone.close(constants.NGHTTP2_CANCEL)
  await once(gone, 'close')
  const next = callOn(session).end(framed(requestOf('looping')))
  const answered = once(next.resume(), 'trailers') as Promise<[Record<string, string>]>
  while ([...flows.all()].every((flow) => flow.waiting.size < 2)) await nextTurn()
  answerNext()
  answerNext()
  await port.received(3)
  answerNext()
  expect((await answered)[0]['grpc-status']).toBe('0')
  expect(await waiting).toMatchObject({ code: 0 })
  first.close()
  session.destroy()
})
