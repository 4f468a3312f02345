import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { startCollector } from './peers/start-collector.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { traceIdOf } from './support/run-demo.ts'
import { logRecord, logsRequest, mergelogRecord, nanosNow, sendOtlp } from './support/send-otlp.ts'
import { sceneTest } from './support/scene.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const EXPORTER = 'otlp_grpc/behind'

for (const protocol of ['grpc', 'http'] as const) {
  sceneTest(
    `a Collector behind Causeway gets log records with the trace of their cascade over ${protocol}`,
    async (scene) => {
      const collector = await startCollector(scene)
      const exporter = protocol === 'grpc' ? EXPORTER : 'otlp_http/behind'
      const endpoint = protocol === 'grpc' ? collector.otlpGrpc : `http://${collector.otlpHttp}`
      const causeway = await Causeway.start(scene, {
        exporters: { [exporter]: grpcExporter(endpoint) },
        set: { 'service.pipelines.logs/out': { receivers: ['cpid'], exporters: [exporter] } },
      })
      const cpid = randomUUID()
      const reconciled = { ...logRecord('reconciled'), traceId: TRACE, spanId: SPAN, flags: 1 }
      await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('kubectl', [mergelogRecord(cpid, [])]))
      await sendOtlp(
        causeway.otlpHttp,
        'logs',
        logsRequest('controller', [reconciled, logRecord('unrelated')]),
      )
      await sendOtlp(causeway.otlpHttp, 'traces', spanRequest(cpid))

      const records = await scene.eventually(async () => {
        const written = await collector.writtenLogs()
        expect(written).toHaveLength(3)
        return written
      })
      const [mergelog] = records.filter(({ eventName }) => eventName === 'cpid.mergelog')
      expect(mergelog).toMatchObject({ traceId: traceIdOf(cpid) })
      const moved = records.find(({ body }) => body?.stringValue === 'reconciled')
      expect(moved).toMatchObject({ ...reconciled, traceId: traceIdOf(cpid), spanId: SPAN })
      expect(moved?.attributes).toEqual([
        { key: 'cpid.original_trace_id', value: { stringValue: TRACE } },
        { key: 'cpid.id', value: { stringValue: cpid } },
      ])
      const unrelated = records.find(({ body }) => body?.stringValue === 'unrelated')
      expect(unrelated?.traceId ?? '').toBe('')
      await scene.eventually(async () => {
        const metrics = await causeway.metrics()
        expect(metrics.sum('otelcol_exporter_sent_log_records', { exporter })).toBe(3)
      })
      expect((await collector.metrics()).sum('otelcol_receiver_accepted_log_records')).toBe(3)
    },
  )
}

function spanRequest(cpid: string): object {
  const now = nanosNow()
  const span = {
    traceId: TRACE,
    spanId: SPAN,
    name: 'reconcile',
    kind: 1,
    startTimeUnixNano: now,
    endTimeUnixNano: now,
    attributes: [{ key: 'cpid.id', value: { stringValue: cpid } }],
  }
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'controller' } }] }
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] }
}
