import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { startCollector } from './peers/start-collector.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { traceIdOf } from './support/run-demo.ts'
import { logsRequest, mergelogRecord, sendOtlp } from './support/send-otlp.ts'
import { sceneTest } from './support/scene.ts'

const EXPORTER = 'otlp_grpc/behind'

sceneTest('a Collector behind Causeway takes the cascade metrics, exemplars and all', async (scene) => {
  const collector = await startCollector(scene)
  const causeway = await Causeway.start(scene, {
    exporters: { [EXPORTER]: grpcExporter(collector.otlpGrpc) },
    set: {
      'service.pipelines.metrics/out': { receivers: ['cpid'], exporters: [EXPORTER] },
      'connectors.cpid.metrics.interval': '200ms',
      'connectors.cpid.linking.wait': '10ms',
      'connectors.cpid.linking.settle_after': '100ms',
    },
  })
  const root = randomUUID()
  const records = [mergelogRecord(root, []), mergelogRecord(randomUUID(), [root])]
  await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('controller', records))
  const metrics = await scene.eventually(async () => {
    const last = (await collector.writtenMetrics()).at(-1) ?? []
    expect(last.map(({ name }) => name)).toEqual(['cpid.cascade.duration', 'cpid.merges'])
    return last
  })
  expect(metrics[0]?.histogram).toMatchObject({
    aggregationTemporality: 2,
    dataPoints: [{ count: '1', exemplars: [{ traceId: traceIdOf(root) }] }],
  })
  expect(metrics[1]?.sum).toMatchObject({ isMonotonic: true, dataPoints: [{ asInt: '1' }] })
  await scene.eventually(async () => {
    const own = await causeway.metrics()
    expect(own.sum('otelcol_exporter_sent_metric_points', { exporter: EXPORTER })).toBeGreaterThan(1)
    expect(own.sum('otelcol_exporter_send_failed_metric_points', { exporter: EXPORTER })).toBe(0)
  })
})
