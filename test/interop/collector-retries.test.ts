import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { runTelemetrygen } from './peers/run-telemetrygen.ts'
import { startCollector, writtenSpans, type Collector } from './peers/start-collector.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { portOf, Relay } from '../../lab/harness/sinks/relay.ts'
import { traceIdOf } from './support/run-demo.ts'
import { logRecord, logsRequest, mergelogRecord, sendOtlp } from './support/send-otlp.ts'
import { sceneTest, type Scene } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { isSynthetic, originalKey, spanKey, spanLines } from './traces/otlp-json.ts'

const JAEGER = 'otlp_grpc/jaeger'
const TO_CAUSEWAY = { exporter: 'otlp_grpc' }
const TIMES_KILLED = 2

async function startWithJaeger(scene: Scene) {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  return { jaeger, causeway: await Causeway.start(scene, { exporters }) }
}

/** Waits until a Collector has got rid of this many spans or log records, losing none. */
async function untilSent(
  scene: Scene,
  collector: Collector,
  count: number,
  items: 'spans' | 'log_records' = 'spans',
): Promise<void> {
  await scene.eventually(async () => {
    const metrics = await collector.metrics()
    expect(metrics.sum(`otelcol_exporter_sent_${items}`, TO_CAUSEWAY)).toBe(count)
    expect(metrics.sum(`otelcol_exporter_send_failed_${items}`, TO_CAUSEWAY)).toBe(0)
  })
}

sceneTest('spans sent while Causeway is killed are stored once and delivered', async (scene) => {
  const { jaeger, causeway } = await startWithJaeger(scene)
  const collector = await startCollector(scene, { exportTo: causeway.otlpGrpc })
  const cpid = randomUUID()
  const send = async (count: number): Promise<void> => {
    const steady = { endpoint: collector.otlpGrpc, count, childSpans: 2, rate: 60 }
    const changed = { ...steady, service: 'changed', attributes: { 'cpid.id': cpid } }
    const plain = { ...steady, service: 'plain' }
    await Promise.all([plain, changed].map((one) => runTelemetrygen(scene, 'traces', one)))
  }
  for (let times = 0; times < TIMES_KILLED; times += 1) {
    const sending = send(80)
    sending.catch(() => undefined)
    await scene.eventually(async () => {
      expect((await causeway.metrics()).sum('otelcol_receiver_accepted_spans')).toBeGreaterThan(0)
    })
    await causeway.kill()
    // Those may have been sent before.
    await Promise.all([sending, send(20)])
    await scene.eventually(async () => {
      const waiting = (await collector.metrics()).sum('otelcol_exporter_queue_size', TO_CAUSEWAY)
      expect(waiting).toBeGreaterThan(0)
    })
    await causeway.startAgain()
  }
  await untilSent(scene, collector, 1200)
  await untilDelivered(scene, causeway, JAEGER, { settled: 1 })

  const written = await scene.eventually(async () => {
    const spans = await writtenSpans(collector)
    expect(spans).toHaveLength(1200)
    return spans
  })
  const sent = [...new Set(written.map(spanKey))].sort()
  const stored = causeway.stored<{ key: string }>(`SELECT trace_id || ':' || span_id AS key FROM audit_spans`)
  expect(stored.map(({ key }) => key).sort()).toEqual(sent)
  const ofChange = await jaeger.trace(traceIdOf(cpid))
  const shown = [...(await jaeger.tracesOf('plain')), ...ofChange.filter((span) => !isSynthetic(span))]
  expect([...new Set(shown.map(originalKey))].sort()).toEqual(sent)
  // A span that was on its way when Causeway was killed is sent again, but never with other content.
  expect(new Set(spanLines(shown)).size).toBe(sent.length)
})

sceneTest('a request whose answer was lost is not stored twice', async (scene) => {
  const { jaeger, causeway } = await startWithJaeger(scene)
  const relay = scene.use(await Relay.to(portOf(causeway.otlpGrpc)))
  const collector = await startCollector(scene, { exportTo: relay.address })
  const plain = { endpoint: collector.otlpGrpc, service: 'plain', childSpans: 2 }
  await runTelemetrygen(scene, 'traces', { ...plain, count: 1 })
  await untilSent(scene, collector, 3)

  relay.isDeaf = true
  await runTelemetrygen(scene, 'traces', { ...plain, count: 5 })
  await untilDelivered(scene, causeway, JAEGER, { unattributed: 18 })
  relay.isDeaf = false
  relay.cut()

  await untilSent(scene, collector, 18)
  const metrics = await causeway.metrics()
  expect(metrics.sum('cpid_requests_repeated')).toBeGreaterThan(0)
  expect(metrics.sum('otelcol_receiver_accepted_spans')).toBe(18)
  expect(causeway.stored('SELECT count(*) AS spans FROM audit_spans')).toEqual([{ spans: 18 }])
  expect(await jaeger.tracesOf('plain')).toHaveLength(18)
})

sceneTest('a Collector does not send again what Causeway refused for good', async (scene) => {
  const { causeway } = await startWithJaeger(scene)
  const collector = await startCollector(scene, { exportTo: causeway.otlpGrpc })
  const [root, merged, loop] = [randomUUID(), randomUUID(), randomUUID()]
  const records = [mergelogRecord(root, []), mergelogRecord(loop, [loop]), mergelogRecord(merged, [root])]
  const request = logsRequest('kubectl', [...records, logRecord('no mergelog at all')])
  await sendOtlp(collector.otlpHttp, 'logs', request)
  await untilSent(scene, collector, 4, 'log_records')
  await scene.eventually(() => expect(collector.said('Partial success response')).toBe(true))
  await sendOtlp(collector.otlpHttp, 'logs', logsRequest('kubectl', [logRecord('and on it goes')]))
  await untilSent(scene, collector, 5, 'log_records')

  const metrics = await causeway.metrics()
  expect(metrics.sum('cpid_mergelogs_refused')).toBe(1)
  expect(metrics.sum('cpid_requests_repeated')).toBe(0)
  expect(metrics.sum('otelcol_receiver_accepted_log_records')).toBe(4)
  expect(metrics.sum('otelcol_receiver_refused_log_records')).toBe(1)
  expect(causeway.stored('SELECT cpid FROM audit_rejected_mergelogs')).toEqual([{ cpid: loop }])
  const known = causeway.stored<{ cpid: string }>('SELECT cpid FROM audit_mergelogs')
  expect(known.map(({ cpid }) => cpid).sort()).toEqual([root, merged].sort())
  expect(causeway.stored('SELECT source, cpid FROM audit_edges')).toEqual([{ source: root, cpid: merged }])
})
