import { TraceBackend } from '../../../../lab/harness/sinks/trace-backend.ts'
import type { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'
import { Causeway, grpcExporter } from '../../support/causeway.ts'
import type { Scene } from '../../support/scene.ts'
import { untilListed } from './until-listed.ts'

/** A Causeway that watches a cluster and reads its audit log, and where it exports to; it has listed everything. */
export async function auditedAndWatched(
  scene: Scene,
  cluster: Cluster,
  controllers: readonly string[] = ['kwok'],
): Promise<{ causeway: Causeway; backend: TraceBackend }> {
  const backend = scene.use(await TraceBackend.up())
  const receivers = {
    k8s_objects: { cluster: 'test', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('admin') },
    k8s_audit: { cluster: 'test', log: { path: cluster.auditLog, start_at: 'beginning' } },
  }
  const causeway = await Causeway.start(scene, {
    exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    set: {
      ...Object.fromEntries(Object.entries(receivers).map(([id, settings]) => [`receivers.${id}`, settings])),
      'service.pipelines.traces/in.receivers': ['otlp', ...Object.keys(receivers)],
      'connectors.cpid.inference.controllers': controllers,
      // However busy this machine is, the audit log is no further behind the watch.
      'connectors.cpid.inference.who_wait': '5s',
      'connectors.cpid.linking.settle_after': '90s',
    },
  })
  await untilListed(scene, causeway)
  return { causeway, backend }
}
