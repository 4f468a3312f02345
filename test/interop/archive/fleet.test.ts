import { expect } from '@jest/globals'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { startGateway } from '../peers/start-gateway.ts'
import { freeJaegerPorts, startJaeger } from '../peers/start-jaeger.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { traceIdOf } from '../support/run-demo.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { mergelogRecord, nanosNow, sendOtlp } from '../support/send-otlp.ts'
import { traceFaults } from '../traces/trace-faults.ts'
import {
  attribute,
  isSynthetic,
  originalKey,
  type PlacedSpan,
  spanKey,
  spanLines,
} from '../traces/otlp-json.ts'

const JAEGER = 'otlp_grpc/jaeger'
const SOON = { initial_interval: '100ms', max_interval: '300ms' }
const CLUSTERS = ['host', 'east', 'west'] as const
type Cluster = (typeof CLUSTERS)[number]

function resourceOf(cluster: string): object {
  return {
    attributes: Object.entries({ 'service.name': `controller-${cluster}`, 'k8s.cluster.name': cluster }).map(
      ([key, stringValue]) => ({ key, value: { stringValue } }),
    ),
  }
}

async function startFleet(scene: Scene) {
  const server = scene.use(await ClickHouseServer.start())
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const start = async (cluster: Cluster): Promise<[Cluster, Causeway]> => {
    const archive = {
      ...{ endpoint: server.endpoint, causeway: cluster, username: 'writer', password: 'secret' },
      ...{ flush_interval: '50ms', retry_on_failure: SOON },
    }
    const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`), clickhouse: archive }
    return [cluster, await Causeway.start(scene, { exporters })]
  }
  const causeways = Object.fromEntries(await Promise.all(CLUSTERS.map(start))) as Record<Cluster, Causeway>
  const endpoints = Object.entries(causeways).map(([cluster, { otlpGrpc }]) => [cluster, otlpGrpc] as const)
  const gateway = await startGateway(scene, Object.fromEntries(endpoints))
  return { server, jaeger, causeways, gateway }
}

let ids = 0
/** A request with reconciles of this change, each in a trace of its own; returns what names them. */
async function work(endpoint: string, cluster: string, of: string, count = 1): Promise<string[]> {
  const spans = Array.from({ length: count }, () => {
    const id = (++ids).toString(16)
    return {
      ...{ traceId: id.padStart(32, '0'), spanId: id.padStart(16, '0'), name: `reconcile in ${cluster}` },
      ...{ startTimeUnixNano: nanosNow(), endTimeUnixNano: nanosNow() },
      attributes: [{ key: 'cpid.id', value: { stringValue: of } }],
    }
  })
  const resourceSpans = [{ resource: resourceOf(cluster), scopeSpans: [{ spans }] }]
  await sendOtlp(endpoint, 'traces', { resourceSpans })
  return spans.map(spanKey)
}

async function merge(endpoint: string, cluster: string, to: string, sources: string[]): Promise<void> {
  const logRecords = [mergelogRecord(to, sources)]
  const resourceLogs = [{ resource: resourceOf(cluster), scopeLogs: [{ logRecords }] }]
  await sendOtlp(endpoint, 'logs', { resourceLogs })
}

function storedIn(causeway: Causeway): string[] {
  const stored = causeway.stored<{ key: string }>(`SELECT trace_id || ':' || span_id AS key FROM audit_spans`)
  return stored.map(({ key }) => key).sort()
}

const [ALPHA, DELTA, EAST, WEST, BACK, AGAIN] = [1, 2, 3, 4, 5, 6].map(cpid) as [
  ...[string, string, string, string, string, string],
]
const [ON_HOST, ON_WEST, OMEGA, OF_OMEGA] = [7, 8, 9, 10].map(cpid) as [string, string, string, string]

sceneTest('each cluster goes to its Causeway, and one that is killed misses nothing', async (scene) => {
  const { server, jaeger, causeways, gateway } = await startFleet(scene)
  await merge(gateway.otlpHttp, 'host', ALPHA, [])
  const sent: Record<Cluster, string[]> = { host: [], east: [], west: [] }
  const sendAll = async (): Promise<void> => {
    for (const cluster of CLUSTERS) sent[cluster].push(...(await work(gateway.otlpHttp, cluster, ALPHA, 5)))
    // Nobody has a Causeway for it.
    sent.host.push(...(await work(gateway.otlpHttp, 'north', ALPHA)))
  }
  const enough = new AbortController()
  const load = (async () => {
    while (!enough.signal.aborted) await sendAll()
  })()
  const accepted = async (cluster: Cluster): Promise<number> =>
    (await causeways[cluster].metrics()).sum('otelcol_receiver_accepted_spans')
  await scene.eventually(async () => expect(await accepted('east')).toBeGreaterThan(200))
  await causeways.east.kill()
  await scene.eventually(async () => {
    const metrics = await gateway.metrics()
    const waiting = metrics.sum('otelcol_exporter_queue_size', { exporter: 'otlp_grpc/east' })
    expect(waiting).toBeGreaterThan(20)
  })
  // The others go on meanwhile.
  const before = await accepted('west')
  await scene.eventually(async () => expect(await accepted('west')).toBeGreaterThan(before + 100))
  enough.abort()
  await load
  await causeways.east.startAgain()

  const all = Object.values(sent).flat().sort()
  await scene.eventually(async () => {
    const metrics = await gateway.metrics()
    expect(metrics.sum('otelcol_exporter_sent_spans')).toBe(all.length)
    for (const cluster of CLUSTERS) expect(storedIn(causeways[cluster])).toEqual(sent[cluster].toSorted())
  })
  expect((await gateway.metrics()).sum('otelcol_exporter_send_failed_spans')).toBe(0)
  await scene.eventually(async () => {
    const rows = await server.rows(
      `SELECT concat(trace_id, ':', span_id) AS key FROM causeway.audit_spans ORDER BY key`,
    )
    expect(rows.map(({ key }) => key)).toEqual(all)
    const shown = (await jaeger.trace(traceIdOf(ALPHA))).filter((span) => !isSynthetic(span))
    expect([...new Set(shown.map(originalKey))].sort()).toEqual(all)
    // What was sent to Jaeger again is the same.
    expect(new Set(spanLines(shown)).size).toBe(all.length)
  })
})

sceneTest(
  'a change that goes through all clusters is one trace, and one graph in the archive',
  async (scene) => {
    const { server, jaeger, causeways, gateway } = await startFleet(scene)
    const known = Object.values(causeways)
    const step = async (cluster: string, to: string, sources: string[]): Promise<void> => {
      await merge(gateway.otlpHttp, cluster, to, sources)
      await scene.eventually(() => {
        for (const causeway of known)
          expect(causeway.stored(`SELECT cpid FROM audit_mergelogs WHERE cpid = '${to}'`)).toHaveLength(1)
      })
      await work(gateway.otlpHttp, cluster, to)
    }
    await step('host', ALPHA, [])
    await step('west', DELTA, [])
    await step('east', EAST, [ALPHA])
    await step('west', WEST, [ALPHA, DELTA])
    await step('host', BACK, [EAST])
    await step('east', AGAIN, [BACK])
    // As where mergelogs go only to the Causeway of their own cluster.
    await merge(causeways.host.otlpHttp, 'host', ON_HOST, [ALPHA])
    await work(causeways.host.otlpHttp, 'host', ON_HOST)
    await merge(causeways.west.otlpHttp, 'west', ON_WEST, [ON_HOST])
    await work(causeways.west.otlpHttp, 'west', ON_WEST)
    await merge(causeways.host.otlpHttp, 'host', OMEGA, [])
    await work(causeways.host.otlpHttp, 'host', OMEGA)
    await merge(causeways.west.otlpHttp, 'west', OF_OMEGA, [OMEGA])
    await work(causeways.west.otlpHttp, 'west', OF_OMEGA)
    for (const causeway of known) {
      await scene.eventually(async () => {
        const metrics = await causeway.metrics()
        expect(metrics.sum('otelcol_exporter_queue_size')).toBe(0)
        expect(causeway.stored(`SELECT root FROM audit_cascades WHERE state = 'open'`)).toEqual([])
        expect(metrics.sum('cpid_traces_settled')).toBeGreaterThan(0)
      }, 90_000)
    }

    const trace = await jaeger.trace(traceIdOf(ALPHA))
    const cascades = trace.filter(({ name }) => name === 'cascade')
    // Each Causeway sums up what it has, under one span id.
    expect(cascades).toHaveLength(CLUSTERS.length)
    expect(new Set(cascades.map(({ spanId }) => spanId)).size).toBe(1)
    expect(traceFaults(trace.filter((span) => span.name !== 'cascade'))).toEqual([])
    const own = trace.filter((span) => !isSynthetic(span))
    const at = (of: string): string => nameOf(own, of)
    expect([ALPHA, EAST, WEST, BACK, AGAIN, ON_HOST].map(at)).toEqual(
      ['host', 'east', 'west', 'host', 'east', 'host'].map((cluster) => `reconcile in ${cluster}`),
    )
    expect(own).toHaveLength(6)
    // The Causeway of west does not know where that came from: it begins a trace of its own.
    const alone = await jaeger.trace(traceIdOf(ON_HOST))
    expect(nameOf(alone, ON_WEST)).toBe('reconcile in west')
    // Nor does it know that root, but a root gives its trace the same id everywhere.
    const shared = await jaeger.trace(traceIdOf(OMEGA))
    const begun = shared.filter(({ name }) => name === 'change')
    // Each has its root span at a time of its own.
    expect(begun).toHaveLength(2)
    expect(new Set(begun.map(({ spanId }) => spanId)).size).toBe(1)
    expect([OMEGA, OF_OMEGA].map((of) => nameOf(shared, of))).toEqual([
      'reconcile in host',
      'reconcile in west',
    ])
    await scene.eventually(async () => {
      const related = await server.rows(`SELECT * FROM related(cpid = '${ALPHA}')`, {}, 'causeway')
      expect(related.map((row) => row['cpid']).sort()).toEqual([
        ALPHA,
        EAST,
        WEST,
        BACK,
        AGAIN,
        ON_HOST,
        ON_WEST,
      ])
      const roots = await server.rows(`SELECT * FROM roots(cpid = '${ON_WEST}')`, {}, 'causeway')
      expect(roots.map((row) => row['cpid'])).toEqual([ALPHA])
    })
  },
)

/** What the span of this change is called that somebody sent. */
function nameOf(spans: readonly PlacedSpan[], of: string): string {
  const isOf = (span: PlacedSpan): boolean => attribute(span, 'cpid.id')?.stringValue === of
  return spans.find((span) => isOf(span) && !isSynthetic(span))?.name ?? 'missing'
}
