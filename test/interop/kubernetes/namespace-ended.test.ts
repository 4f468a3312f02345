import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { OperatorStage, webApp } from './support/operator-stage.ts'
import { untilListed } from './support/until-listed.ts'

const LONGEST_MS = 120_000
const SHOP = '/apis/example.com/v1/namespaces/shop/webapps'
const WEB_APPS = 'example.com/v1/webapps'

/** What the sample operator does not do: it holds its WebApps, and says in another namespace that one has gone. */
const WITH_FINALIZER = `
  if (app.metadata.deletionTimestamp !== undefined) {
    const said = { metadata: { name: \`\${namespace}-\${name}-went\` } }
    await core.createNamespacedConfigMap({ namespace: 'default', body: said })
    const free = { ...app, metadata: { ...app.metadata, finalizers: [] } }
    await custom.replaceNamespacedCustomObject({ ...GROUP, name, namespace, body: free })
    return
  }
  if (!app.metadata.finalizers?.length) {
    const held = { ...app, metadata: { ...app.metadata, finalizers: ['example.com/web'] } }
    await custom.replaceNamespacedCustomObject({ ...GROUP, name, namespace, body: held })
    return
  }
`
const BEHIND = '  if (app === undefined) return\n'

interface Begun {
  cpid: string
  object: string
}

/** The operator with a finalizer, whose WebApp goes with its namespace. What began is returned, by what it began with, oldest first. */
async function ended(scene: Scene, isWatched: boolean): Promise<{ causeway: Causeway; begun: Begun[] }> {
  const backend = scene.use(await TraceBackend.up())
  const exporters = { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) }
  const first = isWatched ? undefined : await Causeway.start(scene, { exporters })
  const stage = await OperatorStage.set(scene, `http://${first?.otlpHttp ?? 'localhost:1'}`)
  const { cluster, api, folder } = stage
  const watch = { cluster: 'test', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('admin') }
  const set = {
    'receivers.k8s_objects': watch,
    'service.pipelines.traces/in.receivers': ['otlp', 'k8s_objects'],
    'connectors.cpid.inference.controllers': ['kwok'],
  }
  const causeway = first ?? (await Causeway.start(scene, { exporters, set }))
  if (isWatched) await untilListed(scene, causeway)
  const file = join(folder, 'web-app-instrumented.ts')
  const plain = await readFile(file, 'utf8')
  expect(plain).toContain(BEHIND)
  await writeFile(file, plain.replace(BEHIND, BEHIND + WITH_FINALIZER))
  stage.start('web-app', { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}` })
  await cluster.kubectl('admin', 'create', 'namespace', 'shop')
  await api.create(SHOP, webApp(1))
  await scene.eventually(async () => {
    const { status } = await api.get<{ status?: { readyReplicas?: number } }>(`${SHOP}/web`)
    expect(status?.readyReplicas).toBe(1)
  }, LONGEST_MS)
  await cluster.kubectl('admin', 'delete', 'namespace', 'shop', '--wait=true', '--timeout=120s')
  const begun = await scene.eventually(() => {
    const work = causeway.stored<{ name: string }>(
      `SELECT s.name FROM audit_cascade_spans s JOIN audit_mergelogs m ON m.cpid = s.root
       WHERE m.object LIKE 'v1/namespaces/shop%' AND s.service = 'web-app-operator' AND s.status <> 'error' ORDER BY s.start`,
    )
    expect(work.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['reconcile WebApp', 'create v1/configmaps', 'update example.com/v1/webapps']),
    )
    return causeway.stored<Begun>(
      `SELECT cpid, object FROM audit_mergelogs WHERE source_count = 0 AND object LIKE '%shop%' ORDER BY time`,
    )
  }, LONGEST_MS)
  return { causeway, begun: begun.map((one) => ({ ...one, object: one.object.replace(/\?.*/, '') })) }
}

/** What goes with the namespace. */
const GOING = [
  ...['v1/pods', 'v1/services', 'v1/endpoints', 'v1/configmaps', 'v1/serviceaccounts', 'v1/namespaces'],
  ...['apps/v1/deployments', 'apps/v1/replicasets', 'discovery.k8s.io/v1/endpointslices', WEB_APPS],
  'networking.k8s.io/v1/ipaddresses',
]
const WEB = 'example.com/v1/webapps/shop/web'
const NAMESPACE = 'v1/namespaces/shop'

sceneTest(
  'of a namespace that somebody deletes, all that an operator sees go is one change, also what it does then',
  async (scene) => {
    const { begun } = await ended(scene, false)
    expect(begun.map(({ object }) => object)).toEqual([WEB, NAMESPACE])
  },
)

sceneTest('it is the one that Causeway sees begin when it watches the cluster', async (scene) => {
  const { causeway, begun } = await ended(scene, true)
  expect(begun.map(({ object }) => object)).toEqual([NAMESPACE, WEB, NAMESPACE])
  // The controller of namespaces and whoever collects garbage are in a race for what WebApps and Services own.
  await scene.eventually(() => {
    const told = causeway.stored<{ service: string; name: string }>(
      `SELECT DISTINCT service, name FROM audit_cascade_spans WHERE root = '${begun.at(-1)?.cpid ?? ''}'`,
    )
    const [services, names] = [told.map(({ service }) => service), told.map(({ name }) => name)]
    expect(services).toEqual(expect.arrayContaining(['web-app-operator', 'namespace-controller']))
    expect(names).toEqual(expect.arrayContaining(GOING.map((kind) => `delete ${kind}`)))
  }, LONGEST_MS)
})
