import { ANY_RESOURCE } from '../../model/inference-store.ts'
import {
  type CustomReference,
  FINGERPRINT,
  type NamedSettings,
  type RelationSettings,
} from '../../model/kubernetes-objects.ts'
import type { Reads } from './reads.ts'
import type { WritePart } from './write-part.ts'
import { UNKNOWN } from './writers.ts'

/**
 * What a controller's write of one kind of object follows from, beside the version before. The table is data: each line says which writes
 * it covers, and which other objects were read for them.
 */
export interface Relation {
  /** The resource of the written object; all resources if missing. */
  readonly write?: string
  /** The parts of the object that are written. */
  readonly parts: readonly WritePart[]
  /** Covers only writes of this controller, if given. */
  readonly by?: string
  readonly reads: Reads
  /**
   * Fingerprints that are equal if the write copies what it read: `theirs` of the object that is read, `ours` of the object that is
   * written.
   */
  readonly copies?: readonly { readonly theirs: string; readonly ours: string }[]
  /** The written object counts the objects it reads, which shows how many of them the writer knew. */
  readonly counts?: Counts
  /** Skips versions in which the other object is deleted: no controller creates or changes anything for a deleted object. */
  readonly alive?: true
  /** Only the content is read, from the version that last changed it. Later status writes do not count. */
  readonly content?: true
  /** Covers only writes that change this fingerprint of the written object. */
  readonly changes?: string
  /** Covers only Pods that were unschedulable for this reason; `nothing`: that were not. */
  readonly waitedFor?: 'claims' | 'room' | 'company' | 'nothing'
  /** Covers only writes of objects that name something in this field. */
  readonly names?: string
}

export interface Counts {
  /** Fingerprints that are numbers: `ours` is the sum of `theirs` over all objects that exist. */
  readonly sums: readonly { readonly theirs: string; readonly ours: string }[]
  /** Other fingerprints whose change also makes the controller write. */
  readonly also?: readonly string[]
}

/** Stands for controllers that are not part of Kubernetes itself. */
const CUSTOM_CONTROLLERS = 'custom controllers'
/** Stands for accounts that reconcile no custom resource. */
const PLAIN_CONTROLLERS = 'accounts that reconcile no custom resource'
const MADE: readonly WritePart[] = ['creation', 'authored']
const SUMS = ['replicas', 'ready'].map((name) => ({ theirs: name, ours: name }))
const WANTED = { theirs: 'wanted', ours: 'wanted' }

/** What Kubernetes' own controllers read, and what holds for all controllers that own the objects they create. */
export const RELATIONS: readonly Relation[] = [
  {
    parts: ['creation'],
    reads: { kind: 'owner' },
    copies: [{ theirs: 'template', ours: 'template' }, WANTED],
    alive: true,
  },
  // Whether or not its owner still exists: the controller removes the finalizer of a Pod once it has counted that Pod.
  {
    write: 'pods',
    parts: ['authored', 'removal'],
    by: 'job-controller',
    reads: { kind: 'owner' },
    changes: 'held',
  },
  // A template does not change once it is copied. The wanted replicas are copied again and again.
  { parts: ['authored'], reads: { kind: 'owner' }, copies: [WANTED], alive: true },
  { parts: ['deletion'], by: 'generic-garbage-collector', reads: { kind: 'owner' } },
  {
    write: 'endpointslices',
    parts: ['deletion'],
    by: 'endpointslicemirroring-controller',
    reads: { kind: 'owner' },
  },
  // A Service that gets a selector has slices of its own, and the mirrored ones are deleted.
  {
    write: 'endpointslices',
    parts: ['deletion'],
    by: 'endpointslicemirroring-controller',
    reads: { kind: 'named', field: 'service' },
    content: true,
  },
  ...['endpointslices', 'endpoints'].map((write): Relation => ({
    write,
    parts: ['deletion'],
    reads: { kind: 'ended', field: 'service' },
  })),
  { parts: ['deletion'], reads: { kind: 'owner' }, alive: true },
  { parts: ['authored', 'removal'], by: 'generic-garbage-collector', reads: { kind: 'former owner' } },
  { parts: ['removal'], by: 'generic-garbage-collector', reads: { kind: 'awaited' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'leaving' } },
  // A Pod that ends may end its Job.
  { write: 'pods', parts: ['deletion'], by: 'job-controller', reads: { kind: 'leaving' } },
  { write: 'replicasets', parts: ['creation'], reads: { kind: 'replaced' } },
  {
    write: 'replicasets',
    parts: ['creation', 'authored', 'scale'],
    by: 'deployment-controller',
    reads: { kind: 'edited' },
  },
  { write: 'pods', parts: ['creation'], reads: { kind: 'departed', resource: 'pods' } },
  { write: 'replicasets', parts: ['creation'], reads: { kind: 'departed', resource: 'replicasets' } },
  { write: 'deployments', parts: ['status'], reads: { kind: 'departed', resource: 'replicasets' } },
  { write: 'pods', parts: ['deletion'], by: 'replicaset-controller', reads: { kind: 'adopted' } },
  { parts: ['creation'], reads: { kind: 'predecessor' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'admission' }, content: true },
  { write: 'pods', parts: ['creation'], reads: { kind: 'quota' } },
  // How far a ReplicaSet is scaled depends on the progress of the Deployment's other ReplicaSets.
  {
    write: 'replicasets',
    parts: ['authored', 'scale'],
    by: 'deployment-controller',
    reads: { kind: 'fellows' },
  },
  {
    write: 'deployments',
    parts: ['status'],
    reads: { kind: 'dependents', resource: 'replicasets' },
    counts: { sums: SUMS, also: [FINGERPRINT.authored, 'refused'] },
  },
  ...['replicasets', 'replicationcontrollers'].map((write): Relation => ({
    write,
    parts: ['status'],
    reads: { kind: 'dependents', resource: 'pods' },
    counts: { sums: SUMS },
  })),
  ...['statefulsets', 'daemonsets', 'jobs'].map((write): Relation => ({
    write,
    parts: ['status'],
    reads: { kind: 'dependents', resource: 'pods' },
  })),
  ...['replicasets', 'replicationcontrollers', 'statefulsets', 'daemonsets', 'jobs'].map(
    (write): Relation => ({ write, parts: ['status'], reads: { kind: 'departed', resource: 'pods' } }),
  ),
  ...[
    { write: 'daemonsets', changes: 'nodes' },
    { write: 'pods', by: 'kube-scheduler' },
  ].map((one): Relation => ({
    ...{ ...one, parts: ['status'], content: true },
    reads: { kind: 'changed', resource: 'nodes' },
  })),
  {
    write: 'pods',
    parts: ['creation', 'deletion'],
    by: 'daemon-set-controller',
    reads: { kind: 'named', field: 'node' },
    content: true,
  },
  {
    write: 'pods',
    parts: ['binding'],
    reads: { kind: 'named', field: 'node' },
    content: true,
    changes: 'pending',
  },
  {
    write: 'pods',
    parts: ['binding'],
    reads: { kind: 'named', field: 'claims' },
    content: true,
    changes: 'pending',
    waitedFor: 'claims',
  },
  // A Pod that is not unschedulable may have a chosen node, and wait for its claim to be bound.
  {
    write: 'pods',
    parts: ['binding'],
    reads: { kind: 'named since', field: 'claims' },
    content: true,
    waitedFor: 'nothing',
  },
  {
    write: 'pods',
    parts: ['binding'],
    reads: { kind: 'freed' },
    changes: 'pending',
    waitedFor: 'room',
  },
  {
    write: 'pods',
    parts: ['binding'],
    reads: { kind: 'joined' },
    content: true,
    changes: 'pending',
    waitedFor: 'company',
  },
  {
    write: 'pods',
    parts: ['status'],
    by: 'kube-scheduler',
    reads: { kind: 'named', field: 'claims' },
    content: true,
  },
  { write: 'pods', parts: ['binding'], reads: { kind: 'named', field: 'devices' } },
  ...[
    { write: 'pods', parts: ['status'] as const, names: 'devices' },
    { write: 'resourceclaims', parts: ['authored', 'status'] as const },
  ].flatMap((written): Relation[] => [
    { ...written, by: 'kube-scheduler', reads: { kind: 'changed', resource: 'resourceslices' } },
    {
      ...written,
      by: 'kube-scheduler',
      reads: { kind: 'changed', resource: 'resourceclaims', isBeside: true },
    },
  ]),
  {
    write: 'resourceclaims',
    parts: ['authored', 'status', 'deletion'],
    by: 'resource-claim-controller',
    reads: { kind: 'owner' },
  },
  { write: 'pods', parts: ['deletion', 'status'], by: 'kube-scheduler', reads: { kind: 'preemptor' } },
  {
    write: 'poddisruptionbudgets',
    parts: ['status'],
    reads: { kind: 'selected', resource: 'pods' },
  },
  { write: 'resourcequotas', parts: ['status'], reads: { kind: 'counted' } },
  {
    write: 'clusterroles',
    parts: ['authored'],
    by: 'clusterrole-aggregation-controller',
    reads: { kind: 'selected', resource: 'clusterroles' },
  },
  { write: 'secrets', parts: ['deletion'], reads: { kind: 'ended', field: 'account' } },
  { write: 'ipaddresses', parts: ['deletion'], reads: { kind: 'ended', field: 'allocated for' } },
  // A Service may give up its address.
  {
    write: 'ipaddresses',
    parts: ['deletion'],
    reads: { kind: 'named', field: 'allocated for' },
    content: true,
  },
  {
    write: 'apiservices',
    parts: ['creation', 'authored', 'deletion'],
    reads: { kind: 'naming', resource: 'customresourcedefinitions', field: 'serves' },
  },
  {
    write: 'customresourcedefinitions',
    parts: ['status', 'removal'],
    reads: { kind: 'defined' },
  },
  { write: 'flowschemas', parts: ['status'], reads: { kind: 'named', field: 'level' } },
  { write: 'cronjobs', parts: ['status'], reads: { kind: 'dependents', resource: 'jobs' } },
  ...[
    { write: 'endpointslices', print: 'slice' },
    { write: 'endpoints', print: 'endpoints' },
  ].flatMap(({ write, print }): Relation[] => [
    { write, parts: MADE, reads: { kind: 'named', field: 'service' }, alive: true },
    { write, parts: MADE, reads: { kind: 'entries', field: 'pods', print } },
  ]),
  {
    parts: ['scale', 'authored'],
    by: 'horizontal-pod-autoscaler',
    reads: { kind: 'naming', resource: 'horizontalpodautoscalers', field: 'target' },
  },
  { write: 'horizontalpodautoscalers', parts: ['status'], reads: { kind: 'named', field: 'target' } },
  ...['taint-eviction-controller', 'node-controller', 'pod-garbage-collector'].map((by): Relation => ({
    parts: ['deletion', 'status', 'removal'],
    by,
    reads: { kind: 'named', field: 'node' },
  })),
  {
    write: 'pods',
    parts: ['deletion', 'status'],
    by: 'device-taint-eviction-controller',
    reads: { kind: 'changed', resource: 'resourceslices' },
    content: true,
  },
  {
    write: 'persistentvolumeclaims',
    parts: ['creation'],
    by: 'statefulset-controller',
    reads: { kind: 'naming', resource: 'statefulsets', field: 'claims', isSeries: true },
    alive: true,
  },
  { write: 'endpointslices', parts: ['creation'], reads: { kind: 'leaving' } },
  // If claims are not retained, the StatefulSet controller gives them an owner.
  {
    write: 'persistentvolumeclaims',
    parts: ['authored'],
    by: 'statefulset-controller',
    reads: { kind: 'naming', resource: 'statefulsets', field: 'claims', isSeries: true },
    content: true,
  },
  // A claim without a class gets the StorageClass that becomes the default one.
  {
    write: 'persistentvolumeclaims',
    parts: ['authored'],
    by: 'persistent-volume-binder',
    reads: { kind: 'named', field: 'class' },
    content: true,
    changes: 'class',
  },
  ...[
    { write: 'persistentvolumeclaims', field: 'volume' },
    { write: 'persistentvolumes', field: 'claim' },
  ].flatMap(({ write, field }): Relation[] => [
    { write, parts: ['status'], reads: { kind: 'named', field } },
    ...['persistent-volume-binder', 'kube-scheduler', CUSTOM_CONTROLLERS].map((by): Relation => ({
      write,
      parts: ['authored'],
      by,
      reads: { kind: 'named', field },
    })),
  ]),
  {
    write: 'persistentvolumes',
    parts: ['authored'],
    by: 'kube-scheduler',
    reads: { kind: 'users', resource: 'pods', field: 'claims', of: 'claim' },
  },
  // The scheduler writes the selected node into an annotation of the claim.
  ...['pvc-protection-controller', 'kube-scheduler'].map((by): Relation => ({
    write: 'persistentvolumeclaims',
    parts: ['authored', 'removal'],
    by,
    reads: { kind: 'users', resource: 'pods', field: 'claims' },
  })),
  { parts: ['deletion'], by: 'namespace-controller', reads: { kind: 'namespace' } },
  { write: 'namespaces', parts: ['status', 'removal'], reads: { kind: 'remaining' } },
  {
    write: 'serviceaccounts',
    parts: ['creation'],
    by: 'service-account-controller',
    reads: { kind: 'namespace' },
  },
  { write: 'configmaps', parts: ['creation'], by: 'root-ca-cert-publisher', reads: { kind: 'namespace' } },
  // These are created again once the object that has their name is deleted.
  ...[
    ...['service-account-controller', 'root-ca-cert-publisher', 'endpoint-controller'],
    ...['statefulset-controller', 'apiserver', 'kube-apiserver'],
  ].map((by): Relation => ({ parts: ['creation'], by, reads: { kind: 'namesake' } })),
  { parts: MADE, reads: { kind: 'applied from' } },
  {
    parts: [...MADE, 'status'],
    by: CUSTOM_CONTROLLERS,
    reads: { kind: 'dependents', resource: ANY_RESOURCE },
  },
  { write: 'pods', parts: ['deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'ended below' } },
  { parts: ['authored', 'status'], by: CUSTOM_CONTROLLERS, reads: { kind: 'made for it' } },
  { parts: [...MADE, 'status'], by: CUSTOM_CONTROLLERS, reads: { kind: 'referred' } },
  { parts: [...MADE, 'status', 'scale', 'deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'primaries' } },
  ...(['named by primaries', 'selected namespace'] as const).map((kind): Relation => ({
    parts: [...MADE, 'scale', 'deletion'],
    by: CUSTOM_CONTROLLERS,
    reads: { kind },
    content: true,
  })),
  { parts: ['status'], by: CUSTOM_CONTROLLERS, reads: { kind: 'selected by it' } },
  { parts: MADE, by: CUSTOM_CONTROLLERS, reads: { kind: 'annotated' }, content: true },
  { parts: ['creation'], by: CUSTOM_CONTROLLERS, reads: { kind: 'restored' } },
  { parts: [...MADE, 'status', 'deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'kin' } },
  // Another Pod of the owner may take over from one that is being deleted.
  { write: 'pods', parts: ['authored'], by: CUSTOM_CONTROLLERS, reads: { kind: 'leaving' } },
  ...(['made for the same', 'done just before'] as const).map((kind): Relation => ({
    parts: [...MADE, 'status', 'scale', 'deletion'],
    by: CUSTOM_CONTROLLERS,
    reads: { kind },
  })),
  ...[CUSTOM_CONTROLLERS, PLAIN_CONTROLLERS, UNKNOWN].map((by): Relation => ({
    write: 'pods',
    parts: ['deletion'],
    by,
    reads: { kind: 'closed node' },
  })),
  ...[CUSTOM_CONTROLLERS, PLAIN_CONTROLLERS, UNKNOWN].map((by): Relation => ({
    write: 'pods',
    parts: ['deletion'],
    by,
    reads: { kind: 'naming just before' },
  })),
  {
    parts: ['authored', 'status', 'scale'],
    by: PLAIN_CONTROLLERS,
    reads: { kind: 'naming just before' },
  },
  ...[CUSTOM_CONTROLLERS, PLAIN_CONTROLLERS].flatMap((by) =>
    ['deployments', 'statefulsets', 'daemonsets'].map((write): Relation => ({
      write,
      parts: ['authored'],
      by,
      reads: { kind: 'settings' },
      content: true,
    })),
  ),
  { parts: [...MADE, 'deletion'], by: PLAIN_CONTROLLERS, reads: { kind: 'annotated' }, content: true },
  { parts: ['creation'], by: PLAIN_CONTROLLERS, reads: { kind: 'restored' } },
  { parts: [...MADE, 'scale'], by: PLAIN_CONTROLLERS, reads: { kind: 'named just before' }, content: true },
  { parts: MADE, by: PLAIN_CONTROLLERS, reads: { kind: 'new kin' }, content: true },
  { parts: ['creation'], by: PLAIN_CONTROLLERS, reads: { kind: 'kin' }, content: true },
  ...[CUSTOM_CONTROLLERS, PLAIN_CONTROLLERS].map((by): Relation => ({
    parts: [...MADE, 'scale'],
    by,
    reads: { kind: 'new namespace' },
    content: true,
  })),
  { parts: [...MADE, 'scale'], by: CUSTOM_CONTROLLERS, reads: { kind: 'just begun' } },
  { parts: ['deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'successor' } },
]

/** The lines of a table that cover a write. */
export function relationsOf(
  table: readonly Relation[],
  write: {
    resource: string
    part: WritePart
    by: string
    isCustomController: boolean
    isPlainController: boolean
  },
): Relation[] {
  return table.filter(
    (relation) =>
      (relation.write === undefined || relation.write === write.resource) &&
      relation.parts.includes(write.part) &&
      (relation.by === undefined ||
        relation.by === write.by ||
        (relation.by === CUSTOM_CONTROLLERS && write.isCustomController) ||
        (relation.by === PLAIN_CONTROLLERS && write.isPlainController)),
  )
}

interface ParsedRelations {
  readonly relations: readonly Relation[]
  /** The references that readers of objects have to put into `ObjectFacts` for these relations. */
  readonly references: readonly CustomReference[]
  /** Settings with errors, which are left out: their index (from 0), and what to write instead. */
  readonly problems: readonly { readonly at: number; readonly problem: string }[]
}

const PARTS: readonly WritePart[] = ['creation', 'authored', 'status', 'deletion']
const PLACE = /^(?:\.[\w-]+(?:\[\*\])?)+$/
const PLURAL = /^[a-z][a-z0-9-]*$/

/** The relations that the settings describe. Settings with errors are left out and returned in `problems`. */
export function parseRelations(settings: readonly RelationSettings[]): ParsedRelations {
  const relations: Relation[] = []
  const references: CustomReference[] = []
  const problems: { at: number; problem: string }[] = []
  for (const [at, one] of settings.entries()) {
    const problem = problemOf(one)
    if (problem !== undefined) {
      problems.push({ at, problem })
      continue
    }
    const reference = one.from === 'owner' ? undefined : referenceOf(one.resource, one.from)
    if (reference !== undefined) references.push(reference)
    relations.push({
      write: one.resource,
      parts: PARTS.filter((part) => (one.on ?? ['creation', 'authored']).includes(part)),
      ...(one.by !== undefined && { by: one.by }),
      reads: reference === undefined ? { kind: 'owner' } : { kind: 'named', field: reference.field },
    })
  }
  return { relations, references, problems }
}

function problemOf({ resource, from, on = [] }: RelationSettings): string | undefined {
  if (!PLURAL.test(resource)) return `resource is "${resource}"; write the plural, such as widgets`
  const unknown = on.find((part) => !PARTS.some((known) => known === part))
  if (unknown !== undefined) return `on has "${unknown}"; write one of ${PARTS.join(', ')}`
  if (from === 'owner') return undefined
  const places = [from.label, from.annotation, from.field].filter(
    (place) => place !== undefined && place !== '',
  )
  if (places.length !== 1) return 'from needs exactly one of label, annotation and field, or is owner'
  if (!PLURAL.test(from.of)) return `of is "${from.of}"; write the plural of what is named, such as shops`
  const bad = [from.field, from.namespace].find((place) => place !== undefined && !PLACE.test(place))
  return bad === undefined ? undefined : `"${bad}" is no place in an object; write it like .spec.shop.name`
}

function referenceOf(resource: string, from: NamedSettings): CustomReference {
  const { label, annotation, field = '', of, namespace } = from
  const [place, path] =
    label !== undefined
      ? [`label ${label}`, ['metadata', 'labels', label]]
      : annotation !== undefined
        ? [`annotation ${annotation}`, ['metadata', 'annotations', annotation]]
        : [`field ${field}`, keysOf(field)]
  return {
    ...{ resource, field: `${place} of ${of}`, path, of },
    ...(namespace !== undefined && { namespacePath: keysOf(namespace) }),
  }
}

function keysOf(place: string): string[] {
  return place.slice(1).replaceAll('[*]', '.*').split('.')
}
