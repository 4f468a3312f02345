import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { inventCascades, mergelogRequest } from './mergelog-request.ts'
import { cpuSeconds, epochMs, type FromGenerator, type SendOrder } from './messages.ts'
import { obeyOrders } from './obey-orders.ts'
import { openClient } from '../../harness/clients/otlp-client.ts'
import { SPANS_PER_REQUEST, SpanRequests } from './span-requests.ts'

/** One controller for each level of a cascade, each with a connection of its own. */
const SERVICES = ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'endpoints-ctl']
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/** A process that sends the mergelogs of its cascades, then spans, as fast as they are acknowledged. */
async function send({
  endpoint,
  protocol = 'grpc',
  spansPerRequest = SPANS_PER_REQUEST,
  requests,
  inFlight,
  cascades,
  withoutMergelogs = false,
  spansPerSecond = Infinity,
  atMostMs = Infinity,
}: SendOrder): Promise<FromGenerator> {
  const all = inventCascades(cascades, SERVICES.length)
  const clients = await Promise.all(SERVICES.map(() => openClient(protocol, endpoint)))
  if (!withoutMergelogs && (await clients[0]?.logs(mergelogRequest(all)))?.outcome !== 'taken')
    throw new Error('the mergelogs were refused')

  const seed = randomInt(2 ** 31)
  const shape = { spans: spansPerRequest, encoding: protocol === 'grpc' ? 'protobuf' : 'json' } as const
  const cpids = all.levels.map((level) => level.map((cpid) => Buffer.from(cpid)))
  const lanes = Array.from({ length: inFlight }, (_, lane) => {
    const stream = lane % SERVICES.length
    const service = SERVICES[stream] ?? ''
    const identity = { stream, streams: SERVICES.length, seed }
    return { stream, spans: new SpanRequests(service, identity, cpids[stream] ?? [], shape) }
  })
  const nextOfStream = SERVICES.map(() => 0)
  let left = requests
  let refused = 0
  const latenciesMs: number[] = []
  const cpuBefore = cpuSeconds()
  const startedMs = epochMs()
  const isOver = (): boolean => epochMs() - startedMs > atMostMs
  await Promise.all(
    lanes.map(async ({ stream, spans }) => {
      while (left > 0 && !isOver()) {
        const dueMs = startedMs + (((requests - left) * spansPerRequest) / spansPerSecond) * 1000
        left--
        if (dueMs > epochMs()) await pause(dueMs - epochMs())
        const number = nextOfStream[stream] ?? 0
        nextOfStream[stream] = number + 1
        spans.fill(number, Date.now())
        const sentMs = performance.now()
        let answer = await clients[stream]?.spans(spans.bytes)
        for (let wait = FIRST_PAUSE_MS; answer?.outcome === 'refused' && !isOver(); wait *= 2) {
          refused++
          await pause(Math.min(wait, LONGEST_PAUSE_MS))
          answer = await clients[stream]?.spans(spans.bytes)
        }
        if (answer?.outcome === 'taken') latenciesMs.push(performance.now() - sentMs)
      }
    }),
  )
  const endedMs = epochMs()
  for (const client of clients) client.close()
  const acknowledged = latenciesMs.length * spansPerRequest
  latenciesMs.sort((a, b) => a - b)
  return {
    kind: 'sent',
    startedMs,
    endedMs,
    acknowledged,
    refused,
    latenciesMs,
    cpuSeconds: cpuSeconds() - cpuBefore,
  }
}

obeyOrders(send)
