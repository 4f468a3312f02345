import { setTimeout as pause } from 'node:timers/promises'
import { cpuSeconds, epochMs } from '../load/messages.ts'
import { obeyOrders } from '../load/obey-orders.ts'
import { openClient, type OtlpClient } from '../../harness/clients/otlp-client.ts'
import type { AnchorOrder, FromAnchor } from './messages.ts'
import type { MarkedTemplate } from './marked-template.ts'
import { fill, REQUESTS, templateOf, type RequestShape } from './requests.ts'
import { scheduleOf, type Sending } from './schedule.ts'
import { SendTimes } from './send-times.ts'

/** Connections; each stands for the controllers and kubelets whose requests it carries. */
const CONNECTIONS = 8
const REFUSED_PAUSE_MS = 100

/** A process that sends what a cluster sends, second by second of simulated time, each second once it has come. */
async function send(order: AnchorOrder): Promise<FromAnchor> {
  const { changesPerSecond, speed } = order
  const templates = new Map(
    REQUESTS.map((shape) => [shape, templateOf(shape, shape.isPerChange ? 1 : changesPerSecond)]),
  )
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, () => openClient('grpc', order.endpoint)),
  )
  const times = new SendTimes(order)
  const schedule = scheduleOf(order)
  const latenciesMs: number[] = []
  const secondsEndedMs: number[] = []
  const cpuBefore = cpuSeconds()
  const startedMs = epochMs()
  await Promise.all(
    Array.from({ length: order.inFlight }, async (_, lane) => {
      const own = new Map<RequestShape, MarkedTemplate>()
      const client = clients[lane % CONNECTIONS]
      for (const sending of schedule) {
        const dueMs = startedMs + (sending.atSecond * 1000) / speed
        if (dueMs > epochMs()) await pause(dueMs - epochMs())
        const { shape } = sending
        const template = own.get(shape) ?? templates.get(shape)?.copy()
        if (template === undefined) continue
        own.set(shape, template)
        write(template, sending, order)
        const sentMs = performance.now()
        if (client !== undefined) await sendUntilTaken(client, shape, template)
        latenciesMs.push(performance.now() - sentMs)
        const endedMs = epochMs()
        times.acknowledged(sending, endedMs)
        secondsEndedMs[Math.floor(sending.atSecond)] = endedMs
      }
    }),
  )
  for (const client of clients) client.close()
  latenciesMs.sort((a, b) => a - b)
  return {
    kind: 'sent',
    startedMs,
    secondsEndedMs,
    latenciesMs: order.keepsTimes ? latenciesMs : everyNth(latenciesMs, 1_000),
    requests: latenciesMs.length,
    cpuSeconds: cpuSeconds() - cpuBefore,
    ...times.bySpan(),
  }
}

/** Again after a while when there is no room now, as senders do. */
async function sendUntilTaken(
  client: OtlpClient,
  { signal }: RequestShape,
  { bytes }: MarkedTemplate,
): Promise<void> {
  const send = signal === 'traces' ? client.spans : client.logs
  while ((await send(bytes)).outcome === 'refused') await pause(REFUSED_PAUSE_MS)
}

function write(
  template: MarkedTemplate,
  sending: Sending,
  { seed, beginsMs, changesPerSecond }: AnchorOrder,
): void {
  const { shape, second, place, firstChange, changes } = sending
  const beganMs = beginsMs + second * 1000
  fill(template, shape, { seed, firstChange, changes, beganMs }, place, changesPerSecond)
}

/** As many values in order of size as are needed to tell percentiles. */
function everyNth(sorted: readonly number[], most: number): number[] {
  const step = Math.max(1, (sorted.length - 1) / most)
  return Array.from(
    { length: Math.min(sorted.length, most + 1) },
    (_, at) => sorted[Math.round(at * step)] ?? 0,
  )
}

obeyOrders(send)
