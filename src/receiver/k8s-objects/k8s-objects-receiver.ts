import { componentType } from '../../config/component-type.ts'
import {
  field,
  optionalField,
  refusedKeys,
  requiredField,
  section,
  sections,
  type SettingsOf,
  UNSUPPORTED_COLLECTOR_KEY,
  withoutUndefined,
} from '../../config/schema.ts'
import { choice, TEXT, TEXT_LIST, WAIT } from '../../config/value-kinds.ts'
import { type AskedCluster, buildAskedCluster, clusterKeys, kubeconfigRule } from '../cluster-settings.ts'
import type { ReceiverType } from '../receiver-type.ts'

const object = section('Objects of one resource.', {
  name: requiredField(
    TEXT,
    'deployments',
    'The name of the resource in the plural, as in URL paths: `deployments`.',
  ),
  group: optionalField(
    TEXT,
    'The API group of the resource, such as `apps`. It is needed where several groups have a resource of this name.',
  ),
  namespaces: field(
    TEXT_LIST,
    '[]',
    'Only objects in these namespaces are watched. An empty list means those of `namespaces` above.',
  ),
  label_selector: optionalField(
    TEXT,
    'Only objects with these labels are watched, in kubectl’s notation. An object that loses such a label counts as deleted, because a watch reports both in the same way.',
  ),
  field_selector: optionalField(
    TEXT,
    'Only objects with these field values are watched, in kubectl’s notation. An object whose field changes to another value counts as deleted.',
  ),
  mode: field(
    choice(['watch']),
    'watch',
    'How objects are observed. Only `watch` is supported. Objects are listed only when a watch starts or has to restart.',
  ),
  ...refusedKeys('objects are always watched; remove it', 'interval'),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'exclude_watch_type', 'resource_version'),
})

const schema = section(
  'Watches the objects of a cluster, so that Causeway can infer which write followed from which. The controllers need no change. It needs the rights to list and watch, and changes nothing.',
  {
    ...clusterKeys,
    objects: sections(
      'The resources to watch. By default all resources that can be watched are, except Leases and Events.',
      '[]',
      object,
    ),
    namespaces: field(
      TEXT_LIST,
      '[]',
      'Only objects in these namespaces are watched. Cluster-scoped resources are then watched only if `objects` names them. An empty list means all namespaces.',
    ),
    discovery_interval: field(
      WAIT,
      '30s',
      'How often Causeway asks the API server which resources exist, to find those of new CustomResourceDefinitions. At least `1s`.',
    ),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'error_mode',
      'storage',
      'k8s_leader_elector',
      'include_initial_state',
    ),
  },
  [
    kubeconfigRule,
    ({ discovery_interval }) =>
      discovery_interval < LEAST_INTERVAL_MS
        ? { key: 'discovery_interval', message: 'must be at least 1s' }
        : undefined,
    ({ objects }) => {
      const twice = objects.find((one, at) => objects.slice(0, at).some((other) => overlap(one, other)))
      return twice === undefined
        ? undefined
        : {
            key: 'objects',
            message: `has ${twice.name} twice for the same namespaces; write one entry, with one selector`,
          }
    },
  ],
)

const LEAST_INTERVAL_MS = 1_000

export interface K8sObjectsSettings extends AskedCluster {
  /** Everything when empty. */
  readonly objects: readonly WantedObjects[]
  /** All when empty. */
  readonly namespaces: readonly string[]
  readonly discoveryIntervalMs: number
}

export interface WantedObjects {
  readonly name: string
  /** Any unless given. */
  readonly group?: string
  /** All when empty. */
  readonly namespaces: readonly string[]
  readonly labelSelector: string
  readonly fieldSelector: string
}

export const k8sObjectsReceiver: ReceiverType<K8sObjectsSettings> = {
  ...componentType({ name: 'k8s_objects', aliases: ['k8sobjects'], schema, build }),
  signals: ['traces'],
  observes: ({ cluster }) => ({ cluster, what: 'versions' }),
  async *examine(id, settings) {
    const { examineObjects } = await import('./examine-objects.ts')
    yield* examineObjects(id, settings)
  },
  load: () => import('./start-k8s-objects.ts'),
}

function build(settings: SettingsOf<typeof schema>): K8sObjectsSettings {
  return {
    ...buildAskedCluster(settings),
    objects: settings.objects.map(({ name, group, namespaces, label_selector, field_selector }) => ({
      name,
      ...withoutUndefined({ group }),
      namespaces: namespaces.length > 0 ? namespaces : settings.namespaces,
      labelSelector: label_selector ?? '',
      fieldSelector: field_selector ?? '',
    })),
    namespaces: settings.namespaces,
    discoveryIntervalMs: settings.discovery_interval,
  }
}

function overlap(one: SettingsOf<typeof object>, other: SettingsOf<typeof object>): boolean {
  if (one.name !== other.name) return false
  if (one.group !== undefined && other.group !== undefined && one.group !== other.group) return false
  const isAll = one.namespaces.length === 0 || other.namespaces.length === 0
  return isAll || one.namespaces.some((namespace) => other.namespaces.includes(namespace))
}
