import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { runTelemetrygen } from './peers/run-telemetrygen.ts'
import { startCollector, writtenSpans } from './peers/start-collector.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { portOf, Relay } from '../../lab/harness/sinks/relay.ts'
import { traceIdOf } from './support/run-demo.ts'
import { logsRequest, mergelogRecord, sendOtlp } from './support/send-otlp.ts'
import { sceneTest } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { everyField } from './traces/every-field.ts'
import { isSynthetic, placedSpans, spanLines } from './traces/otlp-json.ts'

const BACKEND = { grpc: 'otlp_grpc/behind', http: 'otlp_http/behind' } as const
const PLAIN_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CHANGED_TRACE = '0af7651916cd43dd8448eb211c80319d'
const BULKY = 200_000

for (const protocol of ['grpc', 'http'] as const) {
  sceneTest(`a Collector behind Causeway gets over ${protocol} with gzip what was sent`, async (scene) => {
    const collector = await startCollector(scene)
    const port = portOf(protocol === 'grpc' ? collector.otlpGrpc : collector.otlpHttp)
    const relay = scene.use(await Relay.to(port))
    const endpoint = protocol === 'grpc' ? relay.address : `http://${relay.address}`
    const exporters = { [BACKEND[protocol]]: { ...grpcExporter(endpoint), compression: 'gzip' } }
    const causeway = await Causeway.start(scene, { exporters })

    const cpid = randomUUID()
    const bulky = { key: 'bulky', value: { stringValue: 'x'.repeat(BULKY) } }
    const changed = { key: 'cpid.id', value: { stringValue: cpid } }
    const sent = [everyField(PLAIN_TRACE, [bulky]), everyField(CHANGED_TRACE, [changed])]
    await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('kubectl', [mergelogRecord(cpid, [])]))
    await sendOtlp(causeway.otlpHttp, 'traces', { resourceSpans: sent })
    const many = { endpoint: causeway.otlpGrpc, service: 'many', count: 300, childSpans: 3 }
    await runTelemetrygen(scene, 'traces', many)
    await untilDelivered(scene, causeway, BACKEND[protocol], { settled: 1, unattributed: 1202 })

    const written = await scene.eventually(async () => {
      const spans = await writtenSpans(collector)
      expect(spans).toHaveLength(1206)
      return spans
    })
    expect(written.filter(({ service }) => service === 'many')).toHaveLength(1200)
    const synthetic = written.filter(isSynthetic)
    expect(synthetic.map(({ name }) => name)).toEqual(['change', 'cascade'])
    const original = { key: 'cpid.original_trace_id', value: { stringValue: CHANGED_TRACE } }
    const moved = everyField(traceIdOf(cpid), [changed, original])
    const expected = placedSpans({ resourceSpans: [everyField(PLAIN_TRACE, [bulky]), moved] }).map((span) => {
      const isMovedRoot = span.traceId === traceIdOf(cpid) && span.parentSpanId === undefined
      return isMovedRoot ? { ...span, parentSpanId: synthetic[0]?.spanId ?? '' } : span
    })
    const everything = written.filter(({ service }) => service === 'every-field')
    expect(spanLines(everything)).toEqual(spanLines(expected))
    expect(relay.sentBytes).toBeLessThan(BULKY)
  })
}
