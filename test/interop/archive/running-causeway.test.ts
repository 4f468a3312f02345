import { expect } from '@jest/globals'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { Causeway } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { logsRequest, mergelogRecord, nanosNow, sendOtlp } from '../support/send-otlp.ts'

const SOON = { initial_interval: '100ms', max_interval: '300ms' }

function archive(endpoint: string, other: object = {}): Record<string, object> {
  const settings = { endpoint, causeway: 'prod-eu', username: 'writer', password: 'secret' }
  return { clickhouse: { ...settings, flush_interval: '50ms', retry_on_failure: SOON, ...other } }
}

function spansRequest(from: number, count: number): object {
  const spans = Array.from({ length: count }, (_, at) => ({
    traceId: (from + at).toString(16).padStart(32, '0'),
    spanId: (from + at).toString(16).padStart(16, '0'),
    name: 'reconcile',
    startTimeUnixNano: nanosNow(),
    endTimeUnixNano: nanosNow(),
    attributes: [{ key: 'cpid.id', value: { stringValue: cpid(1 + ((from + at) % 5)) } }],
  }))
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'controller' } }] }
  return { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }
}

const MERGELOGS = [1, 2, 3, 4, 5].map((of) => mergelogRecord(cpid(of), of === 1 ? [] : [cpid(of - 1)]))

/** What was acknowledged, and each of it once. */
async function expectAll(server: ClickHouseServer, spans: number): Promise<void> {
  const [row] = await server.rows(
    `SELECT (SELECT count() FROM causeway.audit_spans) AS spans, (SELECT count() FROM causeway.audit_edges) AS edges,
       (SELECT count() FROM causeway.audit_mergelogs) AS mergelogs,
       (SELECT uniqExact(span_id) FROM causeway.audit_spans) AS different,
       (SELECT count() FROM causeway.otel_traces FINAL WHERE SpanName = 'reconcile') AS sent`,
  )
  expect(row).toEqual({ spans, different: spans, edges: 4, mergelogs: 5, sent: spans })
}

sceneTest(
  'what a Causeway acknowledged is in the archive once, though it is killed again and again',
  async (scene) => {
    const server = scene.use(await ClickHouseServer.start())
    const causeway = await Causeway.start(scene, { exporters: archive(server.endpoint) })
    await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('kubectl', MERGELOGS))
    let sent = 0
    for (let kills = 0; kills < 3; kills++) {
      for (let requests = 0; requests < 10; requests++, sent += 200)
        await sendOtlp(causeway.otlpHttp, 'traces', spansRequest(1 + sent, 200))
      await causeway.kill()
      await causeway.startAgain()
    }
    await scene.eventually(() => expectAll(server, sent))
    expect(await causeway.stop()).toBe(0)
  },
)

sceneTest('an archive that is dead delays nobody, and gets everything once it is there', async (scene) => {
  const server = scene.use(await ClickHouseServer.start())
  const [port = 0] = await freePorts(1)
  const causeway = await Causeway.start(scene, { exporters: archive(`http://127.0.0.1:${port}`) })
  await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('kubectl', MERGELOGS))
  for (let sent = 0; sent < 2_000; sent += 200)
    await sendOtlp(causeway.otlpHttp, 'traces', spansRequest(1 + sent, 200))
  await scene.eventually(async () => {
    const metrics = await causeway.metrics()
    expect(metrics.sum('otelcol_exporter_queue_size', { exporter: 'clickhouse' })).toBeGreaterThan(2_000)
    expect(causeway.said('ECONNREFUSED')).toBe(true)
  })
  expect(await causeway.stop()).toBe(0)
  const risen = await Causeway.start(scene, {
    exporters: archive(server.endpoint),
    set: { 'connectors.cpid.storage.path': causeway.database },
  })
  await scene.eventually(() => expectAll(server, 2_000))
  await scene.eventually(async () => {
    const metrics = await risen.metrics()
    expect(metrics.sum('otelcol_exporter_queue_size', { exporter: 'clickhouse' })).toBe(0)
    expect(metrics.sum('cpid_archived_rows')).toBeGreaterThan(4_000)
  })
  expect(await risen.stop()).toBe(0)
})
