import { expect } from '@jest/globals'
import { join } from 'node:path'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { hexSpan, hexTrace, spansRequest } from '../../support/otlp-requests.ts'
import { deployment } from './support/manifests.ts'
import { Stage } from './support/stage.ts'
import { untilListed } from './support/until-listed.ts'

interface Placed {
  name: string
  under: string
  activity: string
}

sceneTest(
  'what a real API server says of a request hangs below the write that it made, or below who asked',
  async (scene) => {
    const directory = join(scene.directory, 'cluster')
    const port = await freePort()
    const cluster = scene.use(
      await Cluster.start(directory, {
        users: { alice: ['developers'] },
        auditLevel: 'RequestResponse',
        tracing: `127.0.0.1:${port}`,
      }),
    )
    const backend = scene.use(await TraceBackend.up())
    const causeway = await Causeway.start(scene, {
      exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
      set: {
        'receivers.otlp.protocols.grpc.endpoint': `127.0.0.1:${port}`,
        'receivers.k8s_objects': {
          cluster: 'test',
          auth_type: 'kubeConfig',
          kubeconfig: cluster.kubeconfig('admin'),
        },
        'receivers.k8s_audit': { cluster: 'test', log: { path: cluster.auditLog } },
        'service.pipelines.traces/in.receivers': ['otlp', 'k8s_objects', 'k8s_audit'],
        'connectors.cpid.inference.controllers': ['kwok'],
        'connectors.cpid.linking.wait': '10s',
        'connectors.cpid.linking.settle_after': '60s',
      },
    })
    await untilListed(scene, causeway)
    // It was there before Causeway, and would try again to send only after a while.
    await cluster.restartApiServer()
    const stage = new Stage('shop', cluster, scene.directory)
    await cluster.api().create('/api/v1/namespaces', { metadata: { name: 'shop' } })
    await stage.apply('alice', deployment('web', 2))
    await stage.rolledOut('web', 2)

    const placed = (): Placed[] =>
      causeway.stored<Placed>(
        `SELECT s.name, coalesce(w.name, 'nobody') AS under, s.activity FROM audit_cascade_spans s
       JOIN audit_cascade_spans a ON a.root = s.root AND a.actor = 'alice' AND a.name = 'create apps/v1/deployments'
       LEFT JOIN audit_cascade_spans w ON w.span_id = s.parent_span_id AND w.trace_id = s.trace_id
       WHERE s.service = 'apiserver' AND s.actor = 'apiserver' AND s.copy = 'no'`,
      )
    await scene.eventually(() => {
      const places = new Set(placed().map(({ name, under }) => `${name} under ${under}`))
      expect([...places]).toEqual(
        expect.arrayContaining([
          'POST /apis/apps/v1/namespaces/{:namespace}/deployments under create apps/v1/deployments',
          'POST /api/v1/namespaces/{:namespace}/pods under create v1/pods',
          'POST /api/v1/namespaces/{:namespace}/pods/{:name}/binding under bind v1/pods',
          'Create under POST /apis/apps/v1/namespaces/{:namespace}/deployments',
          'etcdserverpb.KV/Txn under Create etcd3',
        ]),
      )
    }, 60_000)

    const root = causeway.stored<{ root: string }>(
      `SELECT root FROM audit_cascade_spans WHERE actor = 'alice'`,
    )
    const call = { trace: 0xca11, id: 0xca11, name: 'call', cpid: root[0]!.root }
    const body = spansRequest('caller', [call], 'test')
    const headers = { 'content-type': 'application/x-protobuf' }
    await fetch(`http://${causeway.otlpHttp}/v1/traces`, { method: 'POST', headers, body })
    const traceparent = `00-${hexTrace(call.trace)}-${hexSpan(call.id)}-01`
    await cluster.api('alice').getTraced('/api/v1/namespaces/shop/pods', traceparent)
    await scene.eventually(() => {
      const places = placed().map(({ name, under }) => `${name} under ${under}`)
      expect(places).toContain('GET /api/v1/namespaces/{:namespace}/pods under call')
    }, 30_000)
    expect(placed().filter(({ activity }) => activity === 'yes')).toEqual([])
    const filters = `SELECT count(*) AS count FROM audit_spans WHERE name IN ('authentication', 'priorityandfairness')`
    expect(causeway.stored(filters)).toEqual([{ count: 0 }])
    expect((await causeway.metrics()).sum('cpid_filter_spans_dropped')).toBeGreaterThan(100)
  },
)
