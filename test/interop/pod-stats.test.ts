import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installPeers } from '../../lab/peers/install-peers.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import type { CascadePodStatsAnswer } from '../../src/query/object-answer-schemas.ts'
import { COLLECTOR_IS_READY, startCollector } from './peers/start-collector.ts'
import { startKubelet } from './peers/stats-summary.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { sceneTest } from './support/scene.ts'
import { logsRequest, mergelogRecord, sendOtlp } from './support/send-otlp.ts'

const COPIED = new URL('../../examples/kubernetes/pod-stats.yaml', import.meta.url)
const BEHIND = 'otlp_grpc/behind'
const UID = '5b1c2a34-0c4e-4bd6-9d1e-1f2a3b4c5d6e'

sceneTest(
  "what the Collector's kubeletstats receiver measures stays with the change, and goes on",
  async (scene) => {
    await using kubelet = await startKubelet([
      { uid: UID, name: 'web-1', cores: 0.5, memoryBytes: 64 * 1024 * 1024 },
      { uid: randomUUID(), name: 'other', cores: 1, memoryBytes: 1024 * 1024 },
    ])
    const behind = await startCollector(scene)
    const causeway = await Causeway.start(scene, {
      exporters: { [BEHIND]: grpcExporter(behind.otlpGrpc) },
      set: { 'service.pipelines.metrics/in': { receivers: ['otlp'], exporters: ['cpid', BEHIND] } },
    })
    const root = randomUUID()
    await sendOtlp(causeway.otlpHttp, 'logs', logsRequest('kubectl', [mergelogRecord(root, [])]))
    const nowNs = `${Date.now()}000000`
    const span = {
      ...{ traceId: '0a'.repeat(16), spanId: '0b'.repeat(8), name: 'create v1/pods', kind: 1 },
      ...{ startTimeUnixNano: nowNs, endTimeUnixNano: nowNs },
      attributes: [
        { key: 'cpid.id', value: { stringValue: root } },
        { key: 'cpid.wrote', value: { stringValue: `v1/pods/shop/web-1?uid=${UID}&rv=7` } },
      ],
    }
    await sendOtlp(causeway.otlpHttp, 'traces', { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })

    const { collector } = await installPeers(['collector'])
    const [metrics = 0] = await freePorts(1)
    const config = readFileSync(COPIED, 'utf8')
      .replace('collection_interval: 10s', 'collection_interval: 500ms')
      .replace('auth_type: serviceAccount', 'auth_type: none')
      .replace(/endpoint: https:.*/, `endpoint: http://127.0.0.1:${kubelet.port}`)
      .replace('causeway.causeway.svc:4317', causeway.otlpGrpc)
      .replace(
        'service:\n',
        `service:\n  telemetry: { metrics: { readers: [{ pull: { exporter: { prometheus: { host: 127.0.0.1, port: ${metrics} } } } }] } }\n`,
      )
    const file = join(scene.directory, 'pod-stats.yaml')
    await writeFile(file, config)
    const program = scene.start({ name: 'kubeletstats', command: collector, args: ['--config', file] })
    await scene.eventually(() => {
      if (!program.said(COLLECTOR_IS_READY)) throw new Error('the Collector does not say that it is ready')
    })

    const pod = await scene.eventually(async () => {
      const answer = await fetch(`http://${causeway.query}/api/v1/cascades/${root}/pod-stats`)
      const { pods } = (await answer.json()) as CascadePodStatsAnswer
      const [found] = pods
      expect(found?.series.map(({ metric }) => metric)).toEqual([
        'k8s.pod.cpu.usage',
        'k8s.pod.memory.working_set',
      ])
      return found
    })
    expect(pod).toMatchObject({ object: 'v1/pods/shop/web-1', uid: UID })
    const [cpu, memory] = pod?.series ?? []
    expect(cpu?.points[0]?.value).toBeGreaterThan(0.1)
    expect(cpu?.points[0]?.value).toBeLessThan(2)
    expect(memory?.points[0]?.value).toBe(64 * 1024 * 1024)
    await scene.eventually(async () => {
      const names = (await behind.writtenMetrics()).flat().map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(['container.cpu.time', 'k8s.pod.memory.rss']))
    })
  },
)
