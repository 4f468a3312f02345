import { expect } from '@jest/globals'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openForReading, QUICK_CHECK } from '../../src/store/sqlite/open-database.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { JaegerQuery } from './peers/jaeger-query.ts'
import { Litestream } from './peers/litestream.ts'
import { startCollector, type Collector } from './peers/start-collector.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { traceIdOf } from './support/run-demo.ts'
import { sceneTest, type Scene } from './support/scene.ts'
import { logsRequest, mergelogRecord, nanosNow, sendOtlp } from './support/send-otlp.ts'
import { isSynthetic, originalKey, type PlacedSpan, spanKey, spanLines } from './traces/otlp-json.ts'
import { traceFaults } from './traces/trace-faults.ts'

const JAEGER = 'otlp_grpc/jaeger'
const ROOT = cpid(1)
const REPLICATE = 'litestream replicate -config litestream.yml'
const RESTORE = 'litestream restore -config litestream.yml -if-db-not-exists /var/lib/causeway/causeway.db'
const TRY = 'litestream restore -config litestream.yml -o tried.db /var/lib/causeway/causeway.db'
const MERGELOG = logsRequest('kubectl', [mergelogRecord(ROOT, [])])

interface Key {
  traceId: string
  spanId: string
}

/** Sends reconciles of one change, each a trace of two spans, and knows which. */
class Sender {
  readonly sent: Key[] = []
  readonly #endpoint: string

  constructor(endpoint: string) {
    this.#endpoint = endpoint
  }

  async send(traces: number): Promise<void> {
    const from = this.sent.length + 1
    const spans = Array.from({ length: traces }, (_, at) => {
      const traceId = (from + 2 * at).toString(16).padStart(32, '0')
      const start = nanosNow()
      const time = { startTimeUnixNano: start, endTimeUnixNano: start.replace(/0{6}$/, '500000') }
      const [top = '', below = ''] = [0, 1].map((one) => (from + 2 * at + one).toString(16).padStart(16, '0'))
      const attributes = [{ key: 'cpid.id', value: { stringValue: ROOT } }]
      return [
        { ...time, traceId, spanId: top, name: 'reconcile', attributes },
        { ...time, traceId, spanId: below, parentSpanId: top, name: 'update' },
      ]
    }).flat()
    this.sent.push(...spans)
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'controller' } }] }
    await sendOtlp(this.#endpoint, 'traces', { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
  }

  /** Goes on sending until `isOver`. */
  async sendUntil(isOver: () => boolean): Promise<void> {
    while (!isOver()) await this.send(2)
  }
}

async function startOnMachine(scene: Scene, exporters: Record<string, object>): Promise<Causeway> {
  const database = join(scene.directory, 'machine', 'causeway.db')
  return Causeway.start(scene, {
    ...{ exporters, database },
    set: { 'connectors.cpid.linking.max_trace_spans': 100_000 },
  })
}

function spansIn(database: string): string[] {
  const db = openForReading(database)
  try {
    const rows = db.prepare<[], { key: string }>(`SELECT trace_id || ':' || span_id AS key FROM audit_spans`)
    expect(db.prepare(QUICK_CHECK).pluck().all()).toEqual(['ok'])
    return rows.all().map(({ key }) => key)
  } finally {
    db.close()
  }
}

/** What a restore would give now. */
async function replicated(scene: Scene, litestream: Litestream): Promise<string[]> {
  const tried = join(scene.directory, 'tried.db')
  for (const file of [tried, `${tried}-wal`, `${tried}-shm`]) await rm(file, { force: true })
  await litestream.run(TRY).output()
  return spansIn(tried)
}

async function acknowledged(collector: Collector): Promise<number> {
  const metrics = await collector.metrics()
  expect(metrics.sum('otelcol_exporter_send_failed_spans', { exporter: 'otlp_grpc' })).toBe(0)
  return metrics.sum('otelcol_exporter_sent_spans', { exporter: 'otlp_grpc' })
}

sceneTest('a machine is lost with its disk, and another goes on from the replica', async (scene) => {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  const causeway = await startOnMachine(scene, exporters)
  const litestream = await Litestream.of(scene, causeway.database)
  const replicating = litestream.run(REPLICATE)
  const queueDirectory = join(scene.directory, 'queue')
  const collector = await startCollector(scene, { exportTo: causeway.otlpGrpc, queueDirectory })

  await sendOtlp(collector.otlpHttp, 'logs', MERGELOG)
  const sender = new Sender(collector.otlpHttp)
  for (let requests = 0; requests < 20; requests++) await sender.send(25)
  const early = sender.sent.map(spanKey)
  await scene.eventually(async () => {
    expect((await replicated(scene, litestream)).sort()).toEqual(early.toSorted())
  })

  let isLoaded = true
  const load = sender.sendUntil(() => !isLoaded)
  await scene.eventually(async () =>
    expect(await acknowledged(collector)).toBeGreaterThan(early.length + 2_000),
  )
  await Promise.all([causeway.kill(), replicating.kill()])
  await rm(dirname(causeway.database), { recursive: true })
  const whileDead = sender.sent.length
  await scene.eventually(() => expect(sender.sent.length).toBeGreaterThan(whileDead + 200))
  isLoaded = false
  await load
  const dead = await acknowledged(collector)

  await mkdir(dirname(causeway.database))
  await litestream.run(RESTORE).output()
  const restored = spansIn(causeway.database)
  expect(restored).toEqual(expect.arrayContaining(early))
  const again = litestream.run(REPLICATE)
  await causeway.startAgain()
  await scene.eventually(async () => {
    expect(await acknowledged(collector)).toBe(sender.sent.length)
    const metrics = await causeway.metrics()
    expect(metrics.sum('cpid_traces_settled')).toBe(1)
    expect(metrics.sum('otelcol_exporter_queue_size', { exporter: JAEGER })).toBe(0)
  }, 90_000)

  const all = sender.sent.map(spanKey)
  const stored = causeway.stored<{ key: string }>(`SELECT trace_id || ':' || span_id AS key FROM audit_spans`)
  const keys = new Set(stored.map(({ key }) => key))
  expect(keys.size).toBe(stored.length)
  const lost = all.filter((key) => !keys.has(key))
  // Only what the lost machine had acknowledged, and not copied yet.
  expect(lost.length).toBeLessThanOrEqual(dead - restored.length)
  expect(keys.size + lost.length).toBe(all.length)

  const trace = await jaeger.trace(traceIdOf(ROOT))
  const own = trace.filter((span) => !isSynthetic(span))
  const shown = new Set(own.map(originalKey))
  // What was sent again is the same.
  expect(new Set(spanLines(own)).size).toBe(shown.size)
  expect([...keys].filter((key) => !shown.has(key))).toEqual([])
  const once = [...new Set(spanLines(trace))].map((line) => JSON.parse(line) as PlacedSpan)
  expect(traceFaults(once)).toEqual([])
  expect(
    [...(await jaeger.tracesOf('controller'))].filter(({ traceId }) => traceId !== traceIdOf(ROOT)),
  ).toEqual([])
  expect(
    await scene.eventually(async () => {
      const copy = await replicated(scene, litestream)
      expect(copy).toHaveLength(stored.length)
      return copy.sort()
    }),
  ).toEqual([...keys].sort())
  expect(await causeway.stop()).toBe(0)
  await again.stop()
})

sceneTest('a Litestream that was away while Causeway shortened its log copies all of it', async (scene) => {
  const causeway = await startOnMachine(scene, { debug: {} })
  const sender = new Sender(causeway.otlpHttp)
  await sendOtlp(causeway.otlpHttp, 'logs', MERGELOG)
  const litestream = await Litestream.of(scene, causeway.database)
  for (let times = 0; times < 2; times++) {
    const replicating = litestream.run(REPLICATE)
    await sender.send(50)
    await scene.eventually(async () =>
      expect((await replicated(scene, litestream)).sort()).toEqual(sender.sent.map(spanKey).sort()),
    )
    await replicating.kill()
    await sender.send(50)
    // Nobody else has the database open: its log is moved and removed.
    expect(await causeway.stop()).toBe(0)
    await causeway.startAgain()
    await sender.send(50)
  }
  litestream.run(REPLICATE)
  await scene.eventually(async () =>
    expect((await replicated(scene, litestream)).sort()).toEqual(sender.sent.map(spanKey).sort()),
  )
})

/** How far linking is, and how many decisions there are. */
function progressIn(database: string): unknown {
  const db = openForReading(database)
  try {
    return db.prepare('SELECT linked_arrival, last_decision FROM progress').get()
  } finally {
    db.close()
  }
}

sceneTest('what a backend got after the last copy it gets again, the same', async (scene) => {
  const ports = await freeJaegerPorts()
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  const causeway = await startOnMachine(scene, exporters)
  const sender = new Sender(causeway.otlpHttp)
  await sendOtlp(causeway.otlpHttp, 'logs', MERGELOG)
  await sender.send(100)
  const litestream = await Litestream.of(scene, causeway.database)
  const replicating = litestream.run(REPLICATE)
  await scene.eventually(async () => {
    expect((await causeway.metrics()).sum('otelcol_exporter_queue_size')).toBeGreaterThan(200)
    expect(await replicated(scene, litestream)).toHaveLength(200)
    const copied = progressIn(join(scene.directory, 'tried.db'))
    expect(copied).toEqual(progressIn(causeway.database))
  })
  await replicating.kill()
  const jaeger = await startJaeger(scene, ports)
  const untilSent = async (): Promise<void> =>
    scene.eventually(async () => {
      const metrics = await causeway.metrics()
      expect(metrics.sum('otelcol_exporter_sent_spans')).toBeGreaterThan(200)
      expect(metrics.sum('otelcol_exporter_queue_size')).toBe(0)
    })
  await untilSent()
  const first = await shownIn(jaeger)
  await causeway.kill()
  await rm(dirname(causeway.database), { recursive: true })
  await mkdir(dirname(causeway.database))
  await litestream.run(RESTORE).output()
  await causeway.startAgain()
  await untilSent()
  const again = await shownIn(jaeger)
  expect([...new Set(again)]).toEqual(first)
})

/** What Jaeger has of the change, without what it remarks itself, and without the span that sums up what has settled meanwhile. */
async function shownIn(jaeger: JaegerQuery): Promise<string[]> {
  const spans = (await jaeger.trace(traceIdOf(ROOT))).filter(({ name }) => name !== 'cascade')
  return spanLines(
    spans.map((span) => ({
      ...span,
      attributes: (span.attributes ?? []).filter(({ key }) => key?.startsWith('@jaeger') !== true),
    })),
  )
}
