import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { sceneTest } from '../support/scene.ts'
import { auditedAndWatched } from './support/audited-and-watched.ts'
import { deployment } from './support/manifests.ts'
import { PodMetrics } from './support/pod-metrics.ts'
import { Stage } from './support/stage.ts'

const LONGEST_MS = 120_000
const AUDIT_POLICY = new URL('../../../examples/kubernetes/audit-policy.yaml', import.meta.url)

interface Begun {
  span: string
  id: string
  actor: string
  reason: string
}

interface HorizontalPodAutoscaler {
  status?: { currentMetrics?: object[] | null; desiredReplicas?: number }
}

sceneTest(
  'an autoscaler that scales once more as the CPU rises begins a change by itself, linked to the autoscaler that somebody made',
  async (scene) => {
    const cluster = scene.use(
      await Cluster.start(join(scene.directory, 'cluster'), {
        ...{ nodes: 1, users: { alice: [], bob: [] } },
        auditPolicy: await readFile(AUDIT_POLICY, 'utf8'),
      }),
    )
    const metrics = scene.use(await PodMetrics.serve(cluster))
    const { causeway, backend } = await auditedAndWatched(scene, cluster)
    await cluster.api().create('/api/v1/namespaces', { metadata: { name: 'metric' } })
    const stage = new Stage('metric', cluster, scene.directory)
    const path = stage.path('/apis/autoscaling/v2', 'horizontalpodautoscalers/web')

    await stage.apply('alice', deployment('web', 1))
    await stage.rolledOut('web', 1)
    metrics.milliCores = 50
    const target = { type: 'AverageValue', averageValue: '100m' }
    await stage.apply('bob', {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: {
        ...{ minReplicas: 1, maxReplicas: 4 },
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
      },
    })
    await stage.until(async () => {
      const { status } = await stage.api.get<HorizontalPodAutoscaler>(path)
      return status?.currentMetrics?.length === 1 && status.desiredReplicas === 1
    }, 'the autoscaler has looked')
    // Twice as much as each Pod should use, however many there are.
    metrics.milliCores = 200
    await stage.podsRun('web', 2)
    await stage.podsRun('web', 4)
    await stage.rolledOut('web', 4)

    await scene.eventually(() => {
      const begun = causeway.stored<Begun>(
        `SELECT m.reason, c.actor, e.span, e.span_id AS id FROM audit_cascades c JOIN audit_mergelogs m ON m.cpid = c.root
         JOIN audit_object_events e ON e.cpid = c.root
         WHERE e.action = 'wrote' AND e.cause IN ('operator', 'self') AND e.object LIKE '%/metric/web' ORDER BY c.start`,
      )
      expect(begun).toEqual([
        expect.objectContaining({ span: 'create apps/v1/deployments', actor: 'alice' }),
        expect.objectContaining({ span: 'create autoscaling/v2/horizontalpodautoscalers', actor: 'bob' }),
        expect.objectContaining({
          span: 'scale apps/v1/deployments',
          reason: expect.stringMatching(
            /^metric: .* by system:serviceaccount:kube-system:horizontal-pod-autoscaler$/,
          ),
        }),
      ])
      const [, made, scaled] = begun
      const sent = backend.spans.find(({ spanId, name }) => spanId === scaled?.id && name === scaled.span)
      expect(sent?.links.map(({ spanId }) => spanId)).toContain(made?.id)
      // What follows from it is its work.
      const pods = causeway.stored<{ count: number }>(
        `SELECT count(*) AS count FROM audit_cascade_spans s JOIN audit_cascades c ON c.root = s.root JOIN audit_mergelogs m ON m.cpid = c.root
         WHERE s.activity = 'yes' AND s.copy = 'no' AND s.name = 'create v1/pods' AND m.reason LIKE 'metric: %'`,
      )
      expect(pods).toEqual([{ count: 2 }])
    }, LONGEST_MS)
  },
)
