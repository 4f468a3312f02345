import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { MemoryLimiter } from '../../src/extension/memory-limiter/memory-limiter.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const OK = 0
const UNAVAILABLE = 14
const LIMITS = { limitBytes: 1_000, spikeBytes: 200, checkIntervalMs: 3_600_000 }

function limiterAt(usedBytes: number) {
  const state = { usedBytes, nowMs: 0, collected: 0, isIdle: false }
  const limiter = new MemoryLimiter(LIMITS, {
    read: () => state.usedBytes,
    collect: () => state.collected++,
    isIdle: () => state.isIdle,
    looked: () => undefined,
    nowMs: () => state.nowMs,
  })
  const look = (bytes: number): boolean => {
    state.usedBytes = bytes
    limiter.check()
    return limiter.isRefusing
  }
  return { limiter, state, look }
}

test('refuses from the soft limit on, until memory is clearly below it', () => {
  const { limiter: watching, look } = limiterAt(799)
  using limiter = watching
  expect(limiter.isRefusing).toBe(false)
  expect([800, 799, 751, 750, 799, 1_200, 749].map(look)).toEqual([
    true,
    true,
    true,
    false,
    false,
    true,
    false,
  ])
})

test('memory that cannot be read counts as before, and is told of', () => {
  const told: unknown[] = []
  let read = (): number => 900
  using limiter = new MemoryLimiter(LIMITS, {
    read: () => read(),
    unread: (reason) => told.push(reason),
    collect: () => undefined,
    isIdle: () => false,
    looked: () => undefined,
    nowMs: () => 0,
  })
  read = () => {
    throw new Error('too many open files')
  }
  limiter.check()
  expect([limiter.isRefusing, limiter.usedBytes]).toEqual([true, 900])
  expect(told).toEqual([new Error('too many open files')])
})

test('has unused memory given back above the soft limit, no more often than every ten seconds', () => {
  const { limiter: watching, state, look } = limiterAt(100)
  using limiter = watching
  expect(look(799)).toBe(limiter.isRefusing)
  expect(state.collected).toBe(0)
  for (const nowMs of [0, 1_000, 9_999]) {
    state.nowMs = nowMs
    look(1_100)
  }
  expect(state.collected).toBe(1)
  state.nowMs = 10_000
  look(800)
  expect(state.collected).toBe(2)
})

test('what is in use while nothing is taken in is refused for only above the hard limit', () => {
  const { limiter: watching, state, look } = limiterAt(100)
  using limiter = watching
  expect(look(900)).toBe(true)
  expect(look(900)).toBe(true)
  state.isIdle = true
  expect(look(900)).toBe(false)
  expect(look(1_000)).toBe(true)
  expect(limiter.isRefusing).toBe(true)
  state.isIdle = false
  expect(look(900)).toBe(true)
})

test('over gRPC a request is refused before its message is read, and taken once there is memory', async () => {
  const memory = { isRefusing: true }
  const port = new RecordingPort()
  await using receiver = await startGrpc(port, { memory })
  using sender = new GrpcSender(receiver.port)
  const refused = await sender.export('traces', Buffer.from('spans'))
  expect(refused).toMatchObject({ code: UNAVAILABLE, message: expect.stringContaining('high memory usage') })
  expect(refused.details?.toString('latin1')).toContain('google.rpc.RetryInfo')
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'busy', cause: 'memory' }, bytes: 0 }])
  memory.isRefusing = false
  expect(await sender.export('traces', Buffer.from('spans'))).toMatchObject({ code: OK })
  expect(port.requests.length).toBe(1)
})

test('over HTTP the answer does not wait for the body', async () => {
  const memory = { isRefusing: true }
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { memory })
  const socket = connect(receiver.port, '127.0.0.1')
  const head = ['POST /v1/traces HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Content-Length: 9']
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1\r\n.*high memory usage/s)
  socket.destroy()
  memory.isRefusing = false
  expect((await post(receiver.port, '/v1/traces', PROTOBUF, 'spans')).status).toBe(200)
  expect(port.requests.length).toBe(1)
})

test('those refused at the same time are asked back at different times', async () => {
  const chances = [0, 0.5, 0.9]
  await using receiver = await startHttp(new RecordingPort(), {
    memory: { isRefusing: true },
    chance: () => chances.shift() ?? 0,
  })
  const delays: (string | null)[] = []
  for (let sent = 0; sent < 3; sent++) {
    const { headers } = await post(receiver.port, '/v1/traces', PROTOBUF, 'spans')
    delays.push(headers.get('retry-after'))
  }
  expect(delays).toEqual(['1', '2', '2'])
})
