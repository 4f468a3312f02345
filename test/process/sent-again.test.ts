import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { encodedOtherwise, jsonOtherwise } from '../support/encoded-otherwise.ts'
import { logsRequest } from '../support/otlp-requests.ts'
import { cascadeLoad } from './support/cascade-load.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import {
  exporterTo,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { expectDelivered, expectStoredOnce } from './support/expect-delivered.ts'
import { LogBackend } from '../../lab/harness/sinks/log-backend.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import type { SendableRequest } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom, shuffled } from '../../lab/harness/seeded-random.ts'
import { storedProgress } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

test('what a queue sends again after a restart, batched and encoded otherwise, is stored, shown and sent once', async () => {
  const random = seededRandom(41)
  const load = cascadeLoad(random, 20)
  const bodies = Array.from({ length: 30 }, (_, at) => `log ${at}`)
  const requests: SendableRequest[] = [
    ...load.requests,
    ...bodies.map((body, time) => ({ signal: 'logs' as const, bytes: logsRequest('a', [{ body, time }]) })),
  ]
  await using traces = await TraceBackend.up()
  await using logs = await LogBackend.up()
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/traces': exporterTo(traces.port) },
    logExporters: { 'otlp_grpc/logs': exporterTo(logs.port) },
  })
  const first = await startCauseway(settings)
  for (const request of requests) await post(settings, request)
  const logRecords = await shown(settings, 'logs')
  await first.end('SIGKILL')

  await using second = await startCauseway(settings)
  for (const [at, request] of inOtherBatches(shuffled(random, requests)).entries())
    await post(settings, request, WAYS[at % WAYS.length], random)
  // What is not linked yet is shown once as well.
  expect(await shown(settings, 'spans')).toBe(load.spans.length)
  expect(await shown(settings, 'logs')).toBe(logRecords)
  expectStoredOnce(settings, load.spans)
  await eventually(() => {
    const { lastArrival, linkedArrival } = storedProgress(settings)
    expect(linkedArrival).toBe(lastArrival)
  })
  await expectDelivered(settings, traces, load.spans)
  expect(await shown(settings, 'spans')).toBe(load.spans.length)
  await eventually(async () => {
    expect(await ownMetric(settings, 'cpid_duplicate_spans')).toBe(load.spans.length)
    const sent = logs.logs.filter(({ what }) => what.startsWith('log '))
    expect(new Set(sent.map(({ what }) => what))).toEqual(new Set(bodies))
    expect(new Set(sent.map(({ content }) => content)).size).toBe(bodies.length)
  })
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

/** The same requests, each several put behind each other: in protobuf that is one of all their items. */
function inOtherBatches(requests: readonly SendableRequest[]): SendableRequest[] {
  return (['traces', 'logs'] as const).flatMap((signal) => {
    const bytes = requests.filter((request) => request.signal === signal).map((request) => request.bytes)
    const batches: SendableRequest[] = []
    while (bytes.length > 0) batches.push({ signal, bytes: Buffer.concat(bytes.splice(0, 7)) })
    return batches
  })
}

const WAYS = ['as it is', 'JSON', 'other order, gzip'] as const

async function post(
  { ports }: CausewaySettings,
  { signal, bytes }: SendableRequest,
  way: (typeof WAYS)[number] = 'as it is',
  random: () => number = seededRandom(1),
): Promise<void> {
  const body =
    way === 'JSON'
      ? jsonOtherwise(signal, bytes, random)
      : way === 'as it is'
        ? bytes
        : gzipSync(encodedOtherwise(signal, bytes, 'other order', random))
  const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/${signal}`, {
    method: 'POST',
    headers: {
      'content-type': way === 'JSON' ? 'application/json' : 'application/x-protobuf',
      ...(way === 'other order, gzip' && { 'content-encoding': 'gzip' }),
    },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  expect([answer.status, await answer.text()]).toEqual([200, way === 'JSON' ? '{}' : ''])
}

/** How many records the API shows. */
async function shown({ ports }: CausewaySettings, what: 'spans' | 'logs'): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${ports.query}/api/v1/${what}`)
  const text = await answer.text()
  return text.split(what === 'spans' ? '"spanId":' : '"timeUnixNano":').length - 1
}
