import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { TestWriter } from '../support/test-writer.ts'
import { cascadeLoad } from './support/cascade-load.ts'
import { CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { expectDelivered, expectStoredOnce } from './support/expect-delivered.ts'
import { mergeGraphOf, type StoredGraph } from './support/merge-graph-of.ts'
import { RequestSender, type SendableRequest } from '../../lab/harness/clients/request-sender.ts'
import { drawBetween, seededRandom } from '../../lab/harness/seeded-random.ts'
import { askStored, storedPositions, storedProgress } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

const SEED = Number(process.env['CAUSEWAY_SEED'] ?? 20_260_731)
/** More with CAUSEWAY_KILLS, as npm run test:faults has it. */
const KILLS = Number(process.env['CAUSEWAY_KILLS'] ?? 4)
const CASCADES_PER_KILL = 20
const KILLED_WHILE_STARTING = 0.2
const LONGEST_DELIVERY_MS = 60_000 + KILLS * 5_000
const LONGEST_MS = LONGEST_DELIVERY_MS + 120_000 + KILLS * 10_000

leaveNothingBehind()

test(
  `killed ${KILLS} times under load, it loses nothing acknowledged and repeats only what is identical (CAUSEWAY_SEED=${SEED})`,
  async () => {
    const random = seededRandom(SEED)
    const load = cascadeLoad(random, KILLS * CASCADES_PER_KILL)
    await using backend = await TraceBackend.up()
    const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
    using sender = new RequestSender(settings.ports.grpc)

    let causeway = await startCauseway(settings)
    const sending = sender.sendAll(load.requests)
    for (let kill = 0; kill < KILLS; kill++) {
      await Promise.race([momentOfKill(random, load.requests.length / KILLS, { sender, backend }), sending])
      expect(await causeway.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
      if (random() < KILLED_WHILE_STARTING) {
        const starting = new CausewayProcess(settings)
        await pause(drawBetween(random, 50, 800))
        expect(await starting.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
      }
      causeway = await startCauseway(settings)
    }
    await sending
    expect(sender.acknowledged.size).toBe(load.requests.length)

    await expectDelivered(settings, backend, load.spans, LONGEST_DELIVERY_MS)
    expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
    expectStoredOnce(settings, load.spans)
    await expectDelivered(settings, backend, load.spans)
    expect(askStored(settings, (db) => db.pragma('integrity_check', { simple: true }))).toBe('ok')
    expect(askStored(settings, mergeGraphOf)).toEqual(await undisturbedGraph(load.requests))
  },
  LONGEST_MS,
)

test('killed while it makes its database, it starts again', async () => {
  const settings = await freshSettings()
  const first = new CausewayProcess(settings)
  await eventually(() => expect(existsSync(settings.database)).toBe(true))
  await first.end('SIGKILL')
  await using second = await startCauseway(settings)
  expect(storedProgress(settings).lastArrival).toBe(0)
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('killed while a backend is down, it delivers everything to it once both are up again', async () => {
  const load = cascadeLoad(seededRandom(2), 10)
  await using backend = await TraceBackend.down()
  await using other = await TraceBackend.up()
  const settings = await freshSettings({
    exporters: { 'otlp_grpc/down': exporterTo(backend.port), 'otlp_grpc/up': exporterTo(other.port) },
  })
  using sender = new RequestSender(settings.ports.grpc)

  const first = await startCauseway(settings)
  await sender.sendAll(load.requests)
  // Where exporters stand is saved for all of them at once.
  await eventually(() => {
    const { lastDecision } = storedProgress(settings)
    expect(storedPositions(settings)).toEqual({ 'otlp_grpc/down': 0, 'otlp_grpc/up': lastDecision })
  })
  await first.end('SIGKILL')
  await using second = await startCauseway(settings)
  expect(backend.requests).toBe(0)
  await backend.comeUp()
  await expectDelivered(settings, backend, load.spans)
  expectStoredOnce(settings, load.spans)
  await second.end('SIGTERM')
})

/** The merge graph of the same requests where nothing went wrong. */
async function undisturbedGraph(requests: readonly SendableRequest[]): Promise<StoredGraph> {
  using writer = await TestWriter.open()
  for (const { signal, bytes } of requests) writer.ingest(signal, bytes)
  writer.link()
  return mergeGraphOf(writer.db)
}

interface Watched {
  sender: RequestSender
  backend: TraceBackend
}

/** Resolves in the midst of a call, an acknowledgement or an export, after some more of them. */
function momentOfKill(random: () => number, most: number, { sender, backend }: Watched): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const kind = Math.floor(random() * 3)
  // An export holds what many requests brought, so that there are fewer of them.
  let left = kind === 2 ? drawBetween(random, 1, 3) : drawBetween(random, 1, Math.floor(most / 2))
  const countdown = (): void => {
    if (--left === 0) resolve(undefined)
  }
  if (kind === 0) sender.onCall = countdown
  else if (kind === 1) sender.onAcknowledged = countdown
  else backend.onRequest = countdown
  return promise
}
