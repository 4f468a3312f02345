import { expect } from '@jest/globals'

import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { cpidOf, DEPLOYMENT, OperatorStage, WEB_APPS, webApp, type Kept } from './support/operator-stage.ts'

const LONGEST_MS = 90_000
const UNATTRIBUTED = 'unattributed writer'

interface Placed {
  root: string
  reason: string
  name: string
  under: string
  status: string
}

interface Begun {
  cpid: string
  object: string
}

async function causewayOf(scene: Scene, set: Readonly<Record<string, unknown>> = {}): Promise<Causeway> {
  const backend = scene.use(await TraceBackend.up())
  return Causeway.start(scene, {
    exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    set: {
      'connectors.cpid.linking.wait': '10s',
      'connectors.cpid.linking.settle_after': '60s',
      ...set,
    },
  })
}

/** What stands in the cascades that it is work of, below what, oldest first; the cascades by why they began. */
function placed(causeway: Causeway, reason: string): Placed[] {
  return causeway.stored<Placed>(
    `SELECT s.root, m.reason, s.name, s.status, coalesce(w.name, 'its change') AS under FROM audit_cascade_spans s
     JOIN audit_mergelogs m ON m.cpid = s.root AND m.reason = '${reason}'
     LEFT JOIN audit_cascade_spans w ON w.root = s.root AND w.span_id = s.parent_span_id AND w.trace_id = s.trace_id
     WHERE s.copy = 'no' AND s.activity = 'yes' AND s.service <> 'causeway' ORDER BY s.start`,
  )
}

/** controller-runtime calls a controller by its kind in lower case. */
const asOne = (name: string): string => name.replace('reconcile webapp', 'reconcile WebApp')
const steps = (of: readonly Placed[]): string[] =>
  of.map(({ name, under }) => `${asOne(name)} < ${asOne(under)}`)

/** The operator in each language, with whatever else its library says. */
const LANGUAGES = [
  {
    language: 'TypeScript',
    start: (stage: OperatorStage) => stage.start('web-app', { OTEL_LOG_LEVEL: 'warn' }),
    warnings: 1,
  },
  { language: 'Go', start: (stage: OperatorStage) => stage.startGo(), warnings: 0 },
]

for (const { language, start, warnings } of LANGUAGES) {
  sceneTest(
    `each change of an object is a cascade of its own, whoever made it and the one before (${language})`,
    async (scene) => {
      const causeway = await causewayOf(scene)
      const stage = await OperatorStage.set(scene, `http://${causeway.otlpHttp}`)
      const { cluster, api } = stage
      const operator = await start(stage)
      await api.create(WEB_APPS, webApp(1))
      await stage.ready(1)

      // Somebody without any instrumentation, then somebody who says why.
      await cluster.kubectl(
        'admin',
        'patch',
        'webapp/web',
        '--type=merge',
        '--patch',
        '{"spec":{"replicas":2}}',
      )
      await stage.ready(2)
      await stage.announced('patched', 'patch', 'webapp/web', '--type=merge', '-p', '{"spec":{"replicas":3}}')
      await stage.ready(3)
      await stage.announced('scaled', 'scale', 'deployment/web', '--replicas=1')
      await scene.eventually(async () => {
        const { spec } = await api.get<Kept>(DEPLOYMENT)
        expect(spec.replicas).toBe(3)
      }, LONGEST_MS)
      await stage.ready(3)
      const last = cpidOf(await api.get<Kept>(DEPLOYMENT))

      await scene.eventually(() => {
        expect(steps(placed(causeway, 'patched'))).toEqual(
          expect.arrayContaining([
            'reconcile WebApp < kubectl patch',
            'update apps/v1/deployments < reconcile WebApp',
            'update example.com/v1/webapps/status < reconcile WebApp',
          ]),
        )
        expect(steps(placed(causeway, 'scaled'))).toEqual(
          expect.arrayContaining([
            'reconcile WebApp < kubectl scale',
            'update apps/v1/deployments < reconcile WebApp',
          ]),
        )
      }, LONGEST_MS)

      await scene.eventually(() => {
        const unattributed = causeway.stored<Begun>(
          `SELECT cpid, object FROM audit_mergelogs WHERE reason = '${UNATTRIBUTED}' ORDER BY time`,
        )
        const made = 'example.com/v1/webapps/default/web'
        expect(unattributed.map(({ object }) => object.replace(/\?.*/, ''))).toEqual([made, made])
        const [created, patched] = unattributed.map(({ cpid }) =>
          placed(causeway, UNATTRIBUTED).filter(({ root }) => root === cpid),
        )
        const began = [
          'write example.com/v1/webapps < its change',
          'reconcile WebApp < write example.com/v1/webapps',
        ]
        expect(steps(created ?? []).slice(0, 2)).toEqual(began)
        expect(steps(created ?? [])).not.toContain('update apps/v1/deployments < reconcile WebApp')
        expect(steps(patched ?? []).slice(0, 2)).toEqual(began)
        expect(steps(patched ?? [])).toContain('update apps/v1/deployments < reconcile WebApp')
        const merges = causeway.stored<{ cpid: string }>(
          "SELECT cpid FROM audit_mergelogs WHERE service = 'web-app-operator' AND reason LIKE 'update %' ORDER BY time",
        )
        expect(merges.at(-1)?.cpid).toBe(last)
      })
      // What a status drops is said once.
      expect(operator.errors.match(/came back from a write without the CPID/g) ?? []).toHaveLength(warnings)
    },
  )

  sceneTest(
    `what follows from a deletion is of whoever asked for it, and so is what it takes along (${language})`,
    async (scene) => {
      const causeway = await causewayOf(scene)
      const stage = await OperatorStage.set(scene, `http://${causeway.otlpHttp}`)
      const { cluster, api } = stage
      const sources = (cpid: string): string[] =>
        causeway
          .stored<{ source: string }>(`SELECT source FROM audit_edges WHERE cpid = '${cpid}' ORDER BY source`)
          .map(({ source }) => source)
      const madeAnew = (uid: string): Promise<Kept> =>
        scene.eventually(async () => {
          const deployment = await api.get<Kept>(DEPLOYMENT)
          expect(deployment.metadata.uid).not.toBe(uid)
          return deployment
        }, LONGEST_MS)
      await start(stage)
      await api.create(WEB_APPS, webApp(1))
      await stage.ready(1)
      const first = await api.get<Kept>(DEPLOYMENT)

      // Garbage collection takes the Deployment: when the WebApp is made anew, that follows from the deletion.
      await stage.announced('gone', 'delete', 'webapp/web')
      await scene.eventually(() => expect(api.get(DEPLOYMENT)).rejects.toThrow('404'), LONGEST_MS)
      await api.create(WEB_APPS, webApp(1))
      // Until the operator knows that the Deployment is gone it takes the new WebApp for ready.
      const second = await madeAnew(first.metadata.uid)
      await stage.ready(1)
      const why = (cpid: string): string[] =>
        causeway
          .stored<{ reason: string }>(
            `SELECT m.reason FROM audit_mergelogs m JOIN audit_edges e ON e.source = m.cpid WHERE e.cpid = '${cpid}' ORDER BY reason`,
          )
          .map(({ reason }) => reason)
      await scene.eventually(() => expect(why(cpidOf(second))).toEqual(['gone', UNATTRIBUTED]), LONGEST_MS)
      expect(sources(cpidOf(second))).not.toContain(cpidOf(first))

      // Somebody who says nothing; it waits for its ReplicaSet.
      await cluster.kubectl('admin', 'delete', 'deployment/web', '--cascade=foreground')
      const third = await madeAnew(second.metadata.uid)
      await stage.ready(1)
      await scene.eventually(() => {
        expect(steps(placed(causeway, UNATTRIBUTED))).toEqual(
          expect.arrayContaining([
            'delete apps/v1/deployments < its change',
            'reconcile WebApp < delete apps/v1/deployments',
            'create apps/v1/deployments < reconcile WebApp',
          ]),
        )
      }, LONGEST_MS)

      // Somebody who marks it by hand.
      const mark = '0f3c1f0e-6a5e-4d4e-9a42-5f2f2d1f6a10'
      await cluster.kubectl('admin', 'annotate', '--overwrite', 'deployment/web', `causeway.io/cpid=${mark}`)
      await cluster.kubectl('admin', 'delete', 'deployment/web')
      const fourth = await madeAnew(third.metadata.uid)
      await scene.eventually(() => expect(sources(cpidOf(fourth))).toContain(mark), LONGEST_MS)
    },
  )
}

sceneTest('spans of the API server hang below a write of the operator in Go', async (scene) => {
  const causeway = await causewayOf(scene)
  const stage = await OperatorStage.set(scene, `http://${causeway.otlpHttp}`, { tracing: causeway.otlpGrpc })
  await stage.startGo()
  await stage.api.create(WEB_APPS, webApp(1))
  await stage.ready(1)
  await scene.eventually(() => {
    const placed = causeway.stored<{ name: string }>(
      `SELECT DISTINCT s.name FROM audit_cascade_spans s
       JOIN audit_cascade_spans w ON w.root = s.root AND w.span_id = s.parent_span_id AND w.trace_id = s.trace_id
       WHERE s.service = 'apiserver' AND w.name = 'create apps/v1/deployments'`,
    )
    expect(placed).toEqual([{ name: 'POST /apis/apps/v1/namespaces/{:namespace}/deployments' }])
  }, LONGEST_MS)
})

sceneTest('spans of the API server hang below the request of an operator, whoever runs it', async (scene) => {
  const causeway = await causewayOf(scene)
  const stage = await OperatorStage.set(scene, `http://${causeway.otlpHttp}`, { tracing: causeway.otlpGrpc })
  const { cluster, api } = stage
  await cluster.makeAccount('default', 'operator')
  await api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'operator' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'operator' }],
  })
  const operator = await cluster.account('default', 'operator')
  // The API server takes the role in by a watch of its own.
  await scene.eventually(() => operator.api.get(WEB_APPS))
  // The API server links to a service account's trace; it goes on in that of system:masters.
  stage.start('web-app', { KUBECONFIG: operator.kubeconfig })
  stage.start('summary')
  await api.create(WEB_APPS, webApp(1))
  await stage.ready(1)
  await scene.eventually(() => {
    const placed = causeway.stored<{ name: string; under: string }>(
      `SELECT DISTINCT s.name, w.name AS under FROM audit_cascade_spans s
       JOIN audit_cascade_spans w ON w.root = s.root AND w.span_id = s.parent_span_id AND w.trace_id = s.trace_id
       WHERE s.service = 'apiserver'`,
    )
    expect(placed).toEqual(
      expect.arrayContaining([
        {
          name: 'POST /apis/apps/v1/namespaces/{:namespace}/deployments',
          under: 'create apps/v1/deployments',
        },
        { name: 'POST /api/v1/namespaces/{:namespace}/configmaps', under: 'create v1/configmaps' },
      ]),
    )
  }, LONGEST_MS)
})
