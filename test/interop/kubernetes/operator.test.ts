import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { OtlpSink, type Arrived } from '../../../lab/harness/sinks/otlp-sink.ts'
import { operatorFolder } from '../support/operator-folder.ts'
import { type Scene, sceneTest } from '../support/scene.ts'

const EXAMPLES = new URL('../../../examples/operator/', import.meta.url)
const WEB_APPS = '/apis/example.com/v1/namespaces/default/webapps'
const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/web'
const MOST_LINES_MORE = 15
const LONGEST_MS = 60_000

interface Kept {
  metadata: { uid: string; resourceVersion: string; annotations?: Record<string, string> }
  spec: { replicas: number }
  status?: { observedGeneration?: number; readyReplicas?: number }
}

const webApp = (replicas: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'WebApp',
  metadata: { name: 'web' },
  spec: { image: 'nginx:1', replicas },
})

const cpidOf = ({ metadata }: Kept): string => metadata.annotations?.['causeway.io/cpid'] ?? 'none'
const mergelogsIn = (sink: OtlpSink): Arrived[] => sink.records.filter(({ name }) => name === 'cpid.mergelog')
const writesIn = (sink: OtlpSink): Arrived[] =>
  sink.spans.filter(({ name }) => /^(?:create|update|patch|delete) /.test(name))

/** A cluster with the operator's resource, and the operator, which sends to the sink. */
async function stage(scene: Scene) {
  const sink = scene.use(await OtlpSink.open())
  const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster')))
  const folder = await operatorFolder(scene.directory)
  await cluster.kubectl('admin', 'apply', '--filename', join(folder, 'web-app.yaml'))
  const api = cluster.api()
  await scene.eventually(() => api.get(WEB_APPS))
  const start = () =>
    scene.use(
      new RunningProgram({
        name: 'operator',
        command: process.execPath,
        args: ['--no-warnings', join(folder, 'web-app-instrumented.ts')],
        directory: folder,
        env: {
          ...process.env,
          KUBECONFIG: cluster.kubeconfig(),
          OTEL_EXPORTER_OTLP_ENDPOINT: sink.endpoint,
          OTEL_BSP_SCHEDULE_DELAY: '100',
          OTEL_BLRP_SCHEDULE_DELAY: '100',
          OTEL_METRICS_EXPORTER: 'none',
        },
      }),
    )
  /** Waits until the WebApp says that so many replicas are ready of what was last asked for. */
  const ready = (replicas: number) =>
    scene.eventually(async () => {
      const app = await api.get<Kept & { metadata: { generation: number } }>(`${WEB_APPS}/web`)
      const { observedGeneration, readyReplicas } = app.status ?? {}
      expect([observedGeneration, readyReplicas]).toEqual([app.metadata.generation, replicas])
      return app
    }, LONGEST_MS)
  return { sink, cluster, api, start, ready }
}

sceneTest('what an operator does is of the change that it follows from, whoever made that', async (scene) => {
  const { sink, api, cluster, start, ready } = await stage(scene)
  start()
  await api.create(WEB_APPS, webApp(2))
  const app = await ready(2)
  const [created, ...others] = await scene.eventually(() => {
    expect(mergelogsIn(sink)).toHaveLength(1)
    return mergelogsIn(sink)
  })
  expect(others).toEqual([])
  expect(created?.attributes).toMatchObject({
    'cpid.sources': '',
    'cpid.object': expect.stringContaining(`example.com/v1/webapps/default/web?uid=${app.metadata.uid}&rv=`),
    'cpid.reason': 'unattributed writer',
  })
  const root = created?.attributes['cpid.new'] ?? ''
  expect(cpidOf(await api.get<Kept>(DEPLOYMENT))).toBe(root)
  expect(cpidOf(await api.get<Kept>('/api/v1/namespaces/default/services/web'))).toBe(root)
  await scene.eventually(() => {
    const names = writesIn(sink).map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([
        'create apps/v1/deployments',
        'create v1/services',
        'update example.com/v1/webapps/status',
      ]),
    )
  })
  expect(new Set(sink.spans.map(({ attributes }) => attributes['cpid.id']))).toEqual(new Set([root]))
  const reconciles = sink.spans.filter(({ name }) => name === 'reconcile WebApp')
  expect(reconciles[0]?.attributes['cpid.observed']).toMatch(
    new RegExp(`^example.com/v1/webapps/default/web\\?uid=${app.metadata.uid}&rv=\\d+$`),
  )
  expect(writesIn(sink)[0]?.attributes['cpid.wrote']).toMatch(
    /^apps\/v1\/deployments\/default\/web\?uid=.*&rv=\d+$/,
  )

  // Somebody without any instrumentation changes it, and then goes behind the operator's back.
  await cluster.kubectl('admin', 'patch', 'webapp/web', '--type=merge', '--patch', '{"spec":{"replicas":3}}')
  await ready(3)
  await cluster.kubectl('admin', 'scale', 'deployment/web', '--replicas=1')
  await scene.eventually(async () => {
    const { spec, status } = await api.get<Kept>(DEPLOYMENT)
    expect([spec.replicas, status?.readyReplicas]).toEqual([3, 3])
    const last = cpidOf(await api.get<Kept>(DEPLOYMENT))
    expect(mergelogsIn(sink).at(-1)?.attributes['cpid.new']).toBe(last)
  }, LONGEST_MS)
  const begun = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] === '')
  expect(begun.map(({ attributes }) => attributes['cpid.object']?.replace(/\?.*/, ''))).toEqual([
    'example.com/v1/webapps/default/web',
    'example.com/v1/webapps/default/web',
    'apps/v1/deployments/default/web',
  ])
  const [, patched, scaled] = begun.map(({ attributes }) => attributes['cpid.new'])
  const merges = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] !== '')
  expect(merges.map(({ attributes }) => attributes['cpid.sources']?.split(','))).toEqual([
    expect.arrayContaining([patched, root]),
    expect.arrayContaining([scaled, merges[0]?.attributes['cpid.new']]),
  ])
})

sceneTest(
  'an operator that is killed in the middle goes on, and tells of nothing that was not written',
  async (scene) => {
    const { sink, api, start, ready } = await stage(scene)
    const first = start()
    await api.create(WEB_APPS, webApp(1))
    await ready(1)
    await scene.eventually(() => expect(mergelogsIn(sink)).toHaveLength(1))
    await first.kill()
    await api.patch(`${WEB_APPS}/web`, { spec: { replicas: 2 } })
    const seen = new Set<string>()
    start()
    // Somebody writes the Deployment all the time: most of what the operator writes is refused.
    for (let round = 0; round < 40; round++) {
      const annotations = { round: String(round) }
      const { metadata } = await api.patch<Kept>(DEPLOYMENT, { metadata: { annotations } })
      seen.add(cpidOf({ metadata } as Kept))
    }
    await ready(2)
    seen.add(cpidOf(await api.get<Kept>(DEPLOYMENT)))
    await scene.eventually(() => {
      const told = mergelogsIn(sink).map(({ attributes }) => attributes['cpid.new'])
      expect(told).toEqual(expect.arrayContaining([...seen]))
    })
    const merged = mergelogsIn(sink).filter(({ attributes }) => attributes['cpid.sources'] !== '')
    expect(merged.map(({ attributes }) => attributes['cpid.new'])).toEqual([
      cpidOf(await api.get<Kept>(DEPLOYMENT)),
    ])
  },
)

sceneTest('the operator type-checks with the newest client and the packed library', async (scene) => {
  const folder = await operatorFolder(scene.directory)
  const args = [join(folder, 'node_modules/typescript/bin/tsc'), '--project', folder]
  await promisify(execFile)(process.execPath, args, { cwd: folder })
})

test('an operator becomes an instrumented one with a few lines', async () => {
  const [plain, instrumented] = await Promise.all(
    ['web-app-plain.ts', 'web-app-instrumented.ts'].map(async (file) => {
      const text = await readFile(new URL(file, EXAMPLES), 'utf8')
      return text.split('\n').filter((line) => line.trim() !== '').length
    }),
  )
  expect((instrumented ?? 0) - (plain ?? 0)).toBeGreaterThan(0)
  expect((instrumented ?? 0) - (plain ?? 0)).toBeLessThanOrEqual(MOST_LINES_MORE)
})
