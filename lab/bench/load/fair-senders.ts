import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import {
  deepChains,
  denseMergelogs,
  inventedServices,
  type Flood,
  type FloodKind,
  type FloodRequest,
} from '../floods.ts'
import { inventCascades, mergelogRequest } from './mergelog-request.ts'
import { obeyOrders } from './obey-orders.ts'
import { grpcClient, openClient, type Answer, type OtlpClient } from '../../harness/clients/otlp-client.ts'
import { SpanRequests } from './span-requests.ts'

/** What a process of senders is told, and what it answers. */
export interface FairOrder {
  kind: 'send'
  endpoint: string
  /** Names of the senders' services, each a flow with a connection of its own. */
  services: string[]
  spansPerRequest: number
  /** What they send as fast as they can; ordinary spans unless given. */
  flood?: FloodKind
  /** Each service sends so many requests a second; as fast as it can without it. */
  requestsPerSecond?: number
  /** Connections of one service, and requests under way on each of them, of one that sends as fast as it can. */
  connections: number
  inFlight: number
  /** Whether a refused request waits as long as it was told, as senders of OTLP do, or comes again at once. */
  heedsRetryInfo?: boolean
  forMs: number
}

export interface FairReport {
  kind: 'sent'
  accepted: number
  refused: number
  /** Neither taken nor refused for now, or not answered in time. */
  failed: number
  /** From when a request was due until it was answered with success, in order of size. */
  latenciesMs: number[]
}

export type FromFairSenders = { kind: 'ready' } | FairReport | { kind: 'failed'; reason: string }

/** Changes whose spans a process sends, round and round. */
const CASCADES = 50
/** For one answer. */
const LONGEST_MS = 30_000

/** The requests of one service, each its own bytes, since many are under way at once. */
function requestsOf(service: string, stream: number, order: FairOrder, cpids: string[]): Flood {
  const texts = cpids.map((cpid) => Buffer.from(cpid))
  switch (order.flood ?? 'spans') {
    case 'spans':
      return ordinarySpans(service, stream, order, texts)
    case 'mergelogs':
      return denseMergelogs(service)
    case 'deepGraph':
      return deepChains(service)
    case 'manyServices':
      return inventedServices(texts)
  }
}

function ordinarySpans(
  service: string,
  stream: number,
  { services, spansPerRequest }: FairOrder,
  cpids: Buffer[],
): Flood {
  const shape = { spans: spansPerRequest, encoding: 'protobuf' } as const
  const identity = { stream, streams: services.length, seed: randomInt(2 ** 31) }
  const spans = new SpanRequests(service, identity, cpids, shape)
  let sent = 0
  return {
    next: () => {
      spans.fill(sent++, Date.now())
      return { signal: 'spans', bytes: Buffer.from(spans.bytes) }
    },
  }
}

async function send(order: FairOrder): Promise<FairReport> {
  const report: FairReport = { kind: 'sent', accepted: 0, refused: 0, failed: 0, latenciesMs: [] }
  const cascades = inventCascades(CASCADES, order.services.length)
  const mergelogs = await openClient('grpc', order.endpoint)
  const { outcome } = await mergelogs.logs(mergelogRequest(cascades))
  if (outcome !== 'taken') throw new Error('the mergelogs were refused')
  mergelogs.close()
  const endMs = performance.now() + order.forMs
  await Promise.all(
    order.services.map((service, at) => {
      const requests = requestsOf(service, at, order, cascades.levels[at] ?? [])
      return order.requestsPerSecond === undefined
        ? loop(requests, order, endMs, report)
        : sendAtRate(requests, at, order, endMs, report)
    }),
  )
  report.latenciesMs.sort((a, b) => a - b)
  return report
}

/** Requests go out when they are due, however long the ones before take. */
async function sendAtRate(
  requests: Flood,
  at: number,
  { endpoint, requestsPerSecond = 1, services }: FairOrder,
  endMs: number,
  report: FairReport,
): Promise<void> {
  const client = grpcClient(endpoint, LONGEST_MS)
  const everyMs = 1000 / requestsPerSecond
  const answers: Promise<void>[] = []
  for (let dueMs = performance.now() + (everyMs * at) / services.length; dueMs < endMs; dueMs += everyMs) {
    const early = dueMs - performance.now()
    if (early > 0) await pause(early)
    const sentMs = performance.now()
    answers.push(
      exported(client, requests.next(), report).then((answer) => {
        if (answer?.outcome === 'taken') report.latenciesMs.push(performance.now() - sentMs)
      }),
    )
  }
  await Promise.all(answers)
  client.close()
}

/** Sends the next as soon as one is taken, and again what was refused. */
async function loop(
  requests: Flood,
  { endpoint, connections, inFlight, heedsRetryInfo = false }: FairOrder,
  endMs: number,
  report: FairReport,
): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const client = grpcClient(endpoint, LONGEST_MS)
      await Promise.all(
        Array.from({ length: inFlight }, async () => {
          let request = requests.next()
          while (performance.now() < endMs) {
            const answer = await exported(client, request, report)
            if (answer?.outcome === 'taken') request = requests.next()
            else if (heedsRetryInfo) {
              const left = Math.max(0, endMs - performance.now())
              await pause(Math.min(answer?.retryAfterMs ?? 0, left))
            }
          }
        }),
      )
      client.close()
    }),
  )
}

/** Undefined when the request failed for good, or was not answered in time. */
async function exported(
  client: OtlpClient,
  request: FloodRequest,
  report: FairReport,
): Promise<Answer | undefined> {
  const answer = await client[request.signal](request.bytes).catch(() => undefined)
  if (answer === undefined) report.failed++
  else if (answer.outcome === 'taken') report.accepted++
  else report.refused++
  return answer
}

obeyOrders(send)
