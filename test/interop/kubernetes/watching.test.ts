import { expect } from '@jest/globals'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { alphaBetaGamma } from './stories/alpha-beta-gamma.ts'
import { deployment } from './support/manifests.ts'
import { Stage } from './support/stage.ts'
import { StoredWrites } from './support/stored-writes.ts'
import type { ToldCascade } from './support/told.ts'
import { untilListed } from './support/until-listed.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples/kubernetes/', import.meta.url))

/** A cluster, and a Causeway that may do there what the examples let it do, and no more. */
async function watching(scene: Scene): Promise<{ cluster: Cluster; causeway: Causeway; stage: Stage }> {
  const users = { alice: ['developers'], bob: ['developers'] }
  const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster'), { users }))
  await cluster.api().create('/api/v1/namespaces', { metadata: { name: 'causeway' } })
  await cluster.kubectl('admin', 'apply', '-f', join(EXAMPLES, 'cluster-role.yaml'))
  const { api, kubeconfig } = await cluster.account('causeway', 'causeway')
  // The API server takes the role in by a watch of its own.
  await scene.eventually(() => api.get('/api/v1/pods?limit=1'))
  const backend = scene.use(await TraceBackend.up())
  const causeway = await Causeway.start(scene, {
    exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    set: {
      'receivers.k8s_objects': { cluster: 'test', auth_type: 'kubeConfig', kubeconfig },
      'service.pipelines.traces/in.receivers': ['otlp', 'k8s_objects'],
      'connectors.cpid.inference.controllers': ['kwok'],
      'connectors.cpid.linking.settle_after': '90s',
    },
  })
  await untilListed(scene, causeway)
  const { name } = alphaBetaGamma
  await cluster.api().create('/api/v1/namespaces', { metadata: { name } })
  return { cluster, causeway, stage: new Stage(name, cluster, scene.directory) }
}

sceneTest('a Causeway that may only list and watch tells what came of what people did', async (scene) => {
  const { causeway, stage } = await watching(scene)
  await alphaBetaGamma.play(stage)
  await scene.eventually(() => {
    const told = new StoredWrites(causeway).of(stage.namespace).cascades
    const expected = alphaBetaGamma.cascades.map(({ began, objects }) => ({ began, objects }))
    expect(told).toMatchObject(expected)
  }, 60_000)
})

sceneTest(
  'nothing is missed while the API server or Causeway is away, and what was forgotten meanwhile is listed',
  async (scene) => {
    const { cluster, causeway, stage } = await watching(scene)
    await stage.apply('alice', deployment('web', 2))
    await stage.rolledOut('web', 2)
    await scene.eventually(() => {
      expect(new StoredWrites(causeway).of(stage.namespace).cascades).toMatchObject([
        { began: 'create deployments/web' },
      ])
    }, 60_000)

    await cluster.restartApiServer()
    await stage.kubectl('bob', 'set', 'image', 'deployment/web', 'main=nginx:2')
    await causeway.kill()
    await stage.rolledOut('web', 2)
    await causeway.startAgain()
    await scene.eventually(() => {
      const told = new StoredWrites(causeway).of(stage.namespace).cascades
      expect(told.map(({ began }) => began)).toEqual(['create deployments/web', 'change deployments/web'])
      expect(told.at(-1)?.objects).toMatchObject({ deployments: 1, replicasets: 2, pods: expect.any(Number) })
    }, 60_000)
  },
)

sceneTest(
  'what came while Causeway was away and is forgotten since is listed, told, and marked',
  async (scene) => {
    const { cluster, causeway, stage } = await watching(scene)
    await stage.apply('alice', deployment('web', 2))
    await stage.rolledOut('web', 2)
    const told = (): ToldCascade[] => [...new StoredWrites(causeway).of(stage.namespace).cascades]
    await scene.eventually(() => expect(told()).toMatchObject([{ began: 'create deployments/web' }]), 60_000)

    await causeway.kill()
    await stage.kubectl('bob', 'set', 'image', 'deployment/web', 'main=nginx:2')
    await stage.rolledOut('web', 2)
    await cluster.compact()
    await cluster.restartApiServer()
    await causeway.startAgain()
    // Each resource is listed by itself, and the Pods that are there now must be known before they go.
    const listed = { deployments: 1, replicasets: 2, pods: expect.any(Number) }
    await scene.eventually(() => {
      expect(told().at(-1)).toMatchObject({ began: 'change deployments/web', objects: listed })
      expect(causeway.said('is relisted')).toBe(true)
    }, 60_000)
    await stage.kubectl('alice', 'set', 'image', 'deployment/web', 'main=nginx:3')
    await stage.rolledOut('web', 2)
    await scene.eventually(() => {
      const [first, missed, last, ...others] = told()
      expect(others).toEqual([])
      expect([first, missed, last].map((cascade) => cascade?.began)).toEqual([
        'create deployments/web',
        'change deployments/web',
        'change deployments/web',
      ])
      // A list shows what there is now, in the order in which it was written last; what was copied says what came of what.
      expect(missed?.objects).toMatchObject(listed)
      expect(last?.objects).toMatchObject({ deployments: 1, replicasets: 2, pods: 4 })
      expect([first, missed, last].map((cascade) => cascade?.hasGaps)).toEqual([false, true, false])
    }, 60_000)
  },
)
