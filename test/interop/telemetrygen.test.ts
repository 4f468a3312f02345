import { expect } from '@jest/globals'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { runTelemetrygen } from './peers/run-telemetrygen.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { sceneTest } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { spanKey, spansByTrace } from './traces/otlp-json.ts'

const JAEGER = 'otlp_grpc/jaeger'
const TRACES = 100
const SPANS_OF_EACH = 4
const LOGS = 50

for (const protocol of ['grpc', 'http'] as const) {
  sceneTest(`telemetrygen sends spans and logs straight to Causeway over ${protocol}`, async (scene) => {
    const ports = await freeJaegerPorts()
    const jaeger = await startJaeger(scene, ports)
    const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
    const causeway = await Causeway.start(scene, { exporters })

    const endpoint = protocol === 'grpc' ? causeway.otlpGrpc : causeway.otlpHttp
    const plain = { endpoint, protocol, service: 'plain' }
    await runTelemetrygen(scene, 'traces', { ...plain, count: TRACES, childSpans: SPANS_OF_EACH - 1 })
    await runTelemetrygen(scene, 'logs', { ...plain, count: LOGS })
    await untilDelivered(scene, causeway, JAEGER, { unattributed: TRACES * SPANS_OF_EACH })

    const shown = await jaeger.tracesOf('plain')
    const sizes = [...spansByTrace(shown).values()].map((spans) => spans.length)
    expect(sizes).toEqual(Array<number>(TRACES).fill(SPANS_OF_EACH))
    const stored = causeway.stored<{ key: string }>(
      `SELECT trace_id || ':' || span_id AS key FROM audit_spans`,
    )
    expect(shown.map(spanKey).sort()).toEqual(stored.map(({ key }) => key).sort())
    expect(causeway.stored('SELECT count(*) AS logs FROM audit_logs')).toEqual([{ logs: LOGS }])
    const metrics = await causeway.metrics()
    expect(metrics.sum('otelcol_receiver_accepted_log_records', { transport: protocol })).toBe(LOGS)
    expect(metrics.sum('otelcol_receiver_refused_spans')).toBe(0)
  })
}
