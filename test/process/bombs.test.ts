import { readFileSync } from 'node:fs'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { sendRawGrpc } from '../../lab/harness/clients/raw-grpc.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import { JSON_TYPE, post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { startCauseway, type CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { healthAnswer } from '../../lab/harness/causeway/health-answer.ts'
import { markerSpan } from './support/marker-span.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'

const MIB = 2 ** 20
const INFLATED = 1024 * MIB
/** What one request at its limit, its copies and the work on it may take. */
const MAX_GROWTH = 320 * MIB
const MILLION = 1_000_000
const GRPC_TOO_LARGE = 8

/** Lists in one another, in a member that nobody knows. */
const DEEP = Buffer.concat([Buffer.from('{"x":'), Buffer.alloc(64 * MIB - 5, '[')])

leaveNothingBehind()

/** A member of zeros, and as many of them as inflate to INFLATED. */
function bombOf(compress: (bytes: Buffer) => Buffer): Buffer {
  const member = compress(Buffer.alloc(64 * MIB))
  return Buffer.concat(Array.from({ length: INFLATED / (64 * MIB) }, () => member))
}

/** As /proc/[pid]/status has it: how much is resident now, and how much at most has been, in bytes. */
function residentOf({ pid }: CausewayProcess): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024
  return { now: bytes('VmRSS'), most: bytes('VmHWM') }
}

function millionAttributes(): Buffer {
  const attributes = '{"key":"a","value":{"intValue":"1"}},'.repeat(MILLION).slice(0, -1)
  const span = `{"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}","name":"x","attributes":[${attributes}]}`
  return Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`)
}

test('under bombs, deep nesting and a million attributes it answers others, stays up and within bounds', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  const { grpc, http } = settings.ports
  using sender = new RequestSender(grpc)
  await sender.send(markerSpan('before'))
  const before = residentOf(causeway).now

  const gzip = bombOf(gzipSync)
  const zstd = bombOf(zstdCompressSync)
  const overHttp = async (headers: Record<string, string>, body: Buffer): Promise<number> =>
    (await post(http, '/v1/traces', { ...PROTOBUF, ...headers }, body)).status
  const attacks: [name: string, attack: () => Promise<number>, answer: number][] = [
    ['gzip over HTTP', () => overHttp({ 'content-encoding': 'gzip' }, gzip), 413],
    ['zstd over HTTP', () => overHttp({ 'content-encoding': 'zstd' }, zstd), 413],
    [
      'gzip over gRPC',
      async () =>
        (await sendRawGrpc(grpc, { path: EXPORT_METHODS.traces.path, encoding: 'gzip', payload: gzip })).code,
      GRPC_TOO_LARGE,
    ],
    ['deep nesting', () => overHttp(JSON_TYPE, DEEP), 400],
    ['a million attributes', () => overHttp(JSON_TYPE, millionAttributes()), 200],
  ]
  for (const [name, attack, answer] of attacks)
    expect({ name, answer: await attack() }).toEqual({ name, answer })

  // All of them at once, and others beside: for whom there is no room just then is asked to come again.
  const state = { areOver: false }
  const together = Promise.all(attacks.flatMap(([, attack]) => [attack(), attack()])).finally(
    () => (state.areOver = true),
  )
  do await sender.send(markerSpan('beside'))
  while (!state.areOver)
  for (const answer of await together) expect([200, 400, 413, 503, GRPC_TOO_LARGE, 14]).toContain(answer)
  await sender.send(markerSpan('after'))
  expect(await healthAnswer(settings)).toMatchObject({ code: 200 })
  expect(residentOf(causeway).most - before).toBeLessThan(MAX_GROWTH)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
