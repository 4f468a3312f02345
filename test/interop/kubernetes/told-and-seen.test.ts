import { expect } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { type Scene, sceneTest } from '../support/scene.ts'
import { OperatorStage, TENANTS, type Kept } from './support/operator-stage.ts'
import { untilListed } from './support/until-listed.ts'

const LONGEST_MS = 120_000
const AUDIT_POLICY = new URL('../../../examples/kubernetes/audit-policy.yaml', import.meta.url)
const CONFIG_MAP = '/api/v1/namespaces/default/configmaps/acme'

const tenant = (replicas: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'Tenant',
  metadata: { name: 'acme' },
  spec: { image: 'nginx:1', replicas, pods: 5 },
})

interface Written {
  object: string
  version: number
  told: number
  services: string
}

interface Begun {
  cpid: string
  object: string
  sources: number
  reason: string
  actor: string
}

/** A cluster that Causeway watches, with its audit log, and the operator of Tenants, which tells Causeway what it writes. */
async function watched(scene: Scene) {
  const backend = scene.use(await TraceBackend.up())
  const auditPolicy = await readFile(AUDIT_POLICY, 'utf8')
  // The operator has to be started before Causeway knows where the cluster is: it sends to a port that is found first.
  const stage = await OperatorStage.set(scene, '', { users: { alice: ['developers'] }, auditPolicy })
  const { cluster } = stage
  const common = { cluster: 'test', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('admin') }
  const log = { path: cluster.auditLog, start_at: 'beginning' }
  const all = { k8s_objects: common, k8s_audit: { cluster: 'test', log } }
  const causeway = await Causeway.start(scene, {
    exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    set: {
      ...Object.fromEntries(Object.entries(all).map(([id, settings]) => [`receivers.${id}`, settings])),
      'service.pipelines.traces/in.receivers': ['otlp', ...Object.keys(all)],
      // It runs the operator.
      'connectors.cpid.inference.controllers': ['kwok', 'admin'],
      // However busy this machine is, the audit log is no further behind the watch.
      'connectors.cpid.inference.who_wait': '5s',
      'connectors.cpid.linking.settle_after': '90s',
    },
  })
  await untilListed(scene, causeway)
  return { stage, causeway, env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}` } }
}

/** Versions in the namespace of the Tenant, and by how many spans each is told to have been written. */
function written(causeway: Causeway): Written[] {
  return causeway.stored<Written>(
    `SELECT object, object_version AS version, count(DISTINCT span_id) AS told, group_concat(DISTINCT service) AS services
     FROM audit_attributed_object_events WHERE action = 'wrote' AND object LIKE '%/default/%' AND object_version IS NOT NULL
     GROUP BY object, object_uid, object_version ORDER BY object_version`,
  )
}

const LANGUAGES = ['TypeScript', 'Go'] as const

for (const language of LANGUAGES) {
  sceneTest(
    `what an operator tells of its writes and what is seen of them is one, down to the end of what it made (${language})`,
    async (scene) => {
      const { stage, causeway, env } = await watched(scene)
      const { cluster, api } = stage
      const operator = language === 'Go' ? await stage.startGo('tenant', env) : stage.start('tenant', env)
      const ready = (replicas: number) =>
        scene.eventually(async () => {
          const { metadata, status } = await api.get<Kept & { metadata: { generation: number } }>(
            `${TENANTS}/acme`,
          )
          expect([status?.observedGeneration, status?.readyReplicas]).toEqual([metadata.generation, replicas])
        }, LONGEST_MS)

      await stage.apply('alice', tenant(2))
      await ready(2)
      const patch = (replicas: number) =>
        cluster.kubectl(
          'alice',
          ...['patch', 'tenant/acme', '--type=merge', '--patch', JSON.stringify({ spec: { replicas } })],
        )
      await patch(3)
      await ready(3)
      // An unpatched controller between two writes of the operator: it changes what the operator made, which puts that back.
      await cluster.kubectl('alice', 'scale', 'deployment/acme', '--replicas=1')
      await scene.eventually(async () => {
        const { spec, status } = await api.get<Kept>('/apis/apps/v1/namespaces/default/deployments/acme')
        expect([spec.replicas, status?.readyReplicas]).toEqual([3, 3])
      }, LONGEST_MS)
      await ready(3)
      await cluster.kubectl('alice', 'delete', 'tenant/acme', '--wait=false')
      for (const path of [`${TENANTS}/acme`, CONFIG_MAP, '/apis/apps/v1/namespaces/default/deployments/acme'])
        await scene.eventually(() => expect(api.get(path)).rejects.toThrow('404'), LONGEST_MS)
      expect(await operator.stop(LONGEST_MS)).toBe(0)
      await cluster.kubectl('alice', 'create', 'configmap', 'last')

      await scene.eventually(() => {
        const all = written(causeway)
        expect(all.map(({ object }) => object)).toContain('v1/configmaps/default/last')
        expect(all.filter(({ told }) => told !== 1)).toEqual([])
      }, LONGEST_MS)
      const all = written(causeway)
      // The operator's writes are those that it tells of.
      const own = all.filter(({ services }) => services === 'tenant-operator')
      expect(new Set(own.map(({ object }) => object))).toEqual(
        new Set([
          'apps/v1/deployments/default/acme',
          'example.com/v1/tenants/default/acme',
          'v1/configmaps/default/acme',
          'v1/resourcequotas/default/acme',
          'v1/services/default/acme',
        ]),
      )
      // Each change began with alice; the last one may not be linked yet.
      await scene.eventually(() => {
        const begun = causeway.stored<Begun>(
          `SELECT c.root AS cpid, c.actor, m.object, m.reason FROM audit_cascades c JOIN audit_mergelogs m ON m.cpid = c.root
           WHERE m.object LIKE '%/default/%' ORDER BY m.time`,
        )
        expect(begun.map(({ object, actor }) => `${actor}: ${object.replace(/\?.*/, '')}`)).toEqual([
          'alice: example.com/v1/tenants/default/acme',
          'alice: example.com/v1/tenants/default/acme',
          'alice: apps/v1/deployments/default/acme',
          'alice: example.com/v1/tenants/default/acme',
          'alice: v1/configmaps/default/last',
        ])
      }, LONGEST_MS)
    },
  )
}
