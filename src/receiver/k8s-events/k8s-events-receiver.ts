import { componentType } from '../../config/component-type.ts'
import { field, refusedKeys, section, UNSUPPORTED_COLLECTOR_KEY } from '../../config/schema.ts'
import { TEXT_LIST } from '../../config/value-kinds.ts'
import { type AskedCluster, buildAskedCluster, clusterKeys, kubeconfigRule } from '../cluster-settings.ts'
import type { ReceiverType } from '../receiver-type.ts'

const schema = section(
  'Watches the Events of a cluster, and adds each Event as a log record to the cascade of the object it is about.',
  {
    ...clusterKeys,
    namespaces: field(
      TEXT_LIST,
      '[]',
      'Only Events in these namespaces are watched. An empty list means all namespaces.',
    ),
    ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'storage', 'k8s_leader_elector', 'dedup_interval'),
  },
  [kubeconfigRule],
)

export interface K8sEventsSettings extends AskedCluster {
  /** All when empty. */
  readonly namespaces: readonly string[]
}

export const k8sEventsReceiver: ReceiverType<K8sEventsSettings> = {
  ...componentType({
    name: 'k8s_events',
    aliases: ['k8sevents'],
    schema,
    build: ({ namespaces, ...asked }): K8sEventsSettings => ({ ...buildAskedCluster(asked), namespaces }),
  }),
  signals: ['logs'],
  observes: ({ cluster }) => ({ cluster, what: 'events' }),
  async *examine(id, settings) {
    const { examineEvents } = await import('./examine-events.ts')
    yield* examineEvents(id, settings)
  },
  load: () => import('./start-k8s-events.ts'),
}
