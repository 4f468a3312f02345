import { expect } from '@jest/globals'
import { sendRecorded } from '../../packages/control-plane/telemetry/send-recorded.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { runTelemetrygen } from './peers/run-telemetrygen.ts'
import { startCollector, writtenSpans } from './peers/start-collector.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { recordStory } from './support/recorded-story.ts'
import { runDemo, traceIdOf } from './support/run-demo.ts'
import { sceneTest, type Scene } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { expectGolden } from './traces/golden-file.ts'
import { goldenTrace } from './traces/golden-trace.ts'
import { isSynthetic, originalKey, spanLines, spanKey } from './traces/otlp-json.ts'
import { traceFaults } from './traces/trace-faults.ts'

const JAEGER = 'otlp_grpc/jaeger'

async function startAll(scene: Scene, exportOver: 'grpc' | 'http') {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  const causeway = await Causeway.start(scene, { exporters })
  const exportTo = exportOver === 'grpc' ? causeway.otlpGrpc : causeway.otlpHttp
  const collector = await startCollector(scene, { exportTo, exportOver })
  return { jaeger, causeway, collector }
}

sceneTest('a story told to a Collector reaches Jaeger whole', async (scene) => {
  const { jaeger, causeway, collector } = await startAll(scene, 'grpc')
  const { alpha, beta } = await runDemo(scene, collector.otlpGrpc)
  await untilDelivered(scene, causeway, JAEGER, { settled: 2 })

  const [ofAlpha, ofBeta] = [await jaeger.trace(traceIdOf(alpha)), await jaeger.trace(traceIdOf(beta))]
  expect([traceFaults(ofAlpha), traceFaults(ofBeta)]).toEqual([[], []])
  const told = await scene.eventually(async () => {
    const spans = await writtenSpans(collector)
    expect(spans).toHaveLength((await collector.metrics()).sum('otelcol_receiver_accepted_spans'))
    return spans.map(spanKey)
  })
  const shown = [...ofAlpha, ...ofBeta].filter((span) => !isSynthetic(span)).map(originalKey)
  expect([...new Set(shown)].sort()).toEqual(told.sort())
})

sceneTest('a recorded story reaches Jaeger through a Collector as it does without', async (scene) => {
  const { jaeger, causeway, collector } = await startAll(scene, 'grpc')
  const { recorder, alpha } = await recordStory()
  await sendRecorded(recorder, `http://${collector.otlpHttp}`)
  await untilDelivered(scene, causeway, JAEGER, { settled: 2 })
  expectGolden('alpha-in-jaeger.json', goldenTrace(await jaeger.trace(traceIdOf(alpha))))
})

for (const protocol of ['grpc', 'http'] as const) {
  sceneTest(
    `over ${protocol} spans of no change reach Jaeger as they were sent, and logs are kept`,
    async (scene) => {
      const { jaeger, causeway, collector } = await startAll(scene, protocol)
      const plain = { endpoint: collector.otlpGrpc, service: 'plain' }
      await runTelemetrygen(scene, 'traces', { ...plain, count: 60, childSpans: 2, links: 1 })
      await runTelemetrygen(scene, 'logs', { ...plain, count: 30 })
      await untilDelivered(scene, causeway, JAEGER, { unattributed: 180 })
      const sent = await scene.eventually(async () => {
        const spans = await writtenSpans(collector)
        expect(spans).toHaveLength(180)
        return spans
      })

      // Jaeger keeps no schema URLs.
      const expected = spanLines(sent.map((span) => ({ ...span, schemaUrls: ['', ''] })))
      expect(spanLines(await jaeger.tracesOf('plain'))).toEqual(expected)
      await scene.eventually(async () => {
        const metrics = await causeway.metrics()
        expect(metrics.sum('otelcol_receiver_accepted_log_records')).toBe(30)
      })
      expect(causeway.stored('SELECT count(*) AS logs FROM audit_logs')).toEqual([{ logs: 30 }])
    },
  )
}
