import { Client, credentials, type MethodDefinition } from '@grpc/grpc-js'
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { EXPORT_LOGS, EXPORT_TRACES } from './export-method.ts'
import { inventCascades, mergelogRequest } from './mergelog-request.ts'
import { cpuSeconds, epochMs, type FromGenerator, type SendOrder } from './messages.ts'
import { SPANS_PER_REQUEST, SpanRequests } from './span-requests.ts'

/** One controller for each level of a cascade, each with a connection of its own. */
const SERVICES = ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'endpoints-ctl']

/** A process that sends the mergelogs of its cascades, then spans, as fast as they are acknowledged. */
async function send({
  endpoint,
  requests,
  inFlight,
  cascades,
  spansPerSecond = Infinity,
}: SendOrder): Promise<FromGenerator> {
  const all = inventCascades(cascades, SERVICES.length)
  const clients = SERVICES.map(
    () => new Client(endpoint, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
  )
  await Promise.all(clients.map((client) => connected(client)))
  await exported(clients[0], EXPORT_LOGS, mergelogRequest(all))

  const seed = randomInt(2 ** 31)
  const cpids = all.levels.map((level) => level.map((cpid) => Buffer.from(cpid)))
  const lanes = Array.from({ length: inFlight }, (_, lane) => {
    const stream = lane % SERVICES.length
    const service = SERVICES[stream] ?? ''
    const identity = { stream, streams: SERVICES.length, seed }
    return { stream, spans: new SpanRequests(service, identity, cpids[stream] ?? []) }
  })
  const nextOfStream = SERVICES.map(() => 0)
  let left = requests
  const latenciesMs: number[] = []
  const cpuBefore = cpuSeconds()
  const startedMs = epochMs()
  await Promise.all(
    lanes.map(async ({ stream, spans }) => {
      while (left > 0) {
        const dueMs = startedMs + (((requests - left) * SPANS_PER_REQUEST) / spansPerSecond) * 1000
        left--
        if (dueMs > epochMs()) await pause(dueMs - epochMs())
        const number = nextOfStream[stream] ?? 0
        nextOfStream[stream] = number + 1
        spans.fill(number, Date.now())
        const sentMs = performance.now()
        await exported(clients[stream], EXPORT_TRACES, spans.bytes)
        latenciesMs.push(performance.now() - sentMs)
      }
    }),
  )
  const endedMs = epochMs()
  for (const client of clients) client.close()
  latenciesMs.sort((a, b) => a - b)
  return { kind: 'sent', startedMs, endedMs, latenciesMs, cpuSeconds: cpuSeconds() - cpuBefore }
}

function connected(client: Client): Promise<undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  client.waitForReady(Date.now() + 10_000, (error) => {
    if (error === undefined) resolve(undefined)
    else reject(error)
  })
  return promise
}

/** Resolves once the request is acknowledged whole; a partial success has a reply that is not empty. */
function exported(
  client: Client | undefined,
  method: MethodDefinition<Buffer, Buffer>,
  request: Buffer,
): Promise<undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const { path, requestSerialize, responseDeserialize } = method
  client?.makeUnaryRequest<Buffer, Buffer>(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    (error, reply) => {
      if (error !== null) reject(error)
      else if (reply === undefined || reply.length > 0) reject(new Error(`not taken whole: ${String(reply)}`))
      else resolve(undefined)
    },
  )
  return promise
}

function tell(message: FromGenerator): void {
  process.send?.(message)
}

process.on('message', (order: SendOrder) => {
  send(order)
    .catch((error: unknown): FromGenerator => ({ kind: 'failed', reason: String(error) }))
    .then(tell, tell)
})
process.on('disconnect', () => process.exit(0))
tell({ kind: 'ready' })
