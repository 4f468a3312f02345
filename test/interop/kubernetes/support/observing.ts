import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { freePort } from '../../../../lab/harness/free-ports.ts'
import type { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'
import { TraceBackend } from '../../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../../support/causeway.ts'
import type { Scene } from '../../support/scene.ts'
import { untilListed } from './until-listed.ts'

/** Which sources of a cluster a Causeway has. */
export type Sources = 'audit log and watch' | 'admission and watch' | 'a watch alone'

const ADMISSION = new URL('../../../../examples/kubernetes/admission.yaml', import.meta.url)

/** A Causeway for each set of sources, all of one cluster at the same time; each has listed everything. */
export async function observing(scene: Scene, cluster: Cluster): Promise<Map<Sources, Causeway>> {
  const backend = scene.use(await TraceBackend.up())
  const common = { cluster: 'test', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('admin') }
  const admission = await admissionOf(scene, cluster)
  const log = { path: cluster.auditLog, start_at: 'beginning' }
  const receivers: Readonly<Record<Sources, Readonly<Record<string, object>>>> = {
    'audit log and watch': { k8s_audit: { cluster: 'test', log } },
    'admission and watch': { k8s_admission: admission },
    'a watch alone': {},
  }
  const started = Object.entries(receivers).map(async ([sources, more]) => {
    const all = { k8s_objects: common, ...more }
    const causeway = await Causeway.start(scene, {
      exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
      set: {
        ...Object.fromEntries(Object.entries(all).map(([id, settings]) => [`receivers.${id}`, settings])),
        'service.pipelines.traces/in.receivers': ['otlp', ...Object.keys(all)],
        'connectors.cpid.inference.controllers': ['kwok'],
        // However busy this machine is, no audit log is further behind a watch.
        'connectors.cpid.inference.who_wait': '5s',
        // Autoscalers and binders of volumes look again only every 15 s, and CronJobs wait for their minute.
        'connectors.cpid.linking.settle_after': '90s',
      },
    })
    await untilListed(scene, causeway)
    return [sources as Sources, causeway] as const
  })
  return new Map(await Promise.all(started))
}

/** What the example registers, for a webhook on this machine; the settings of the receiver that it calls. */
async function admissionOf(scene: Scene, cluster: Cluster): Promise<object> {
  const port = await freePort()
  const { cert, key, ca } = cluster.certificate('localhost')
  const registered = parse(readFileSync(ADMISSION, 'utf8')) as { webhooks: object[] }
  const [webhook] = registered.webhooks
  const clientConfig = { url: `https://localhost:${port}/`, caBundle: Buffer.from(ca).toString('base64') }
  await cluster.api().create('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    ...registered,
    // However busy this machine is, nothing goes on without having been told.
    webhooks: [{ ...webhook, clientConfig, timeoutSeconds: 30 }],
  })
  return { cluster: 'test', endpoint: `127.0.0.1:${port}`, tls: { cert_pem: cert, key_pem: key } }
}
