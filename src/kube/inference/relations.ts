import { ANY_RESOURCE } from '../../model/inference-store.ts'
import {
  type CustomReference,
  FINGERPRINT,
  type NamedSettings,
  type RelationSettings,
} from '../../model/kubernetes-objects.ts'
import type { WritePart } from './write-part.ts'

/**
 * What a controller's write of one kind of object follows from, beside the version before. The table is data: each line
 * says of which writes it speaks, and which other objects were read for them.
 */
export interface Relation {
  /** Resource of the object that is written; all of them where it is missing. */
  readonly write?: string
  /** What of the object is written. */
  readonly parts: readonly WritePart[]
  /** Only writes of this controller, where it says so. */
  readonly by?: string
  readonly reads: Reads
  /**
   * Fingerprints that are equal where the write copies what it read: `theirs` of the object that is read, `ours` of the one
   * that is written.
   */
  readonly copies?: readonly { readonly theirs: string; readonly ours: string }[]
  /** What is written counts what it reads: that tells how much of it was known. */
  readonly counts?: Counts
  /** Only versions at which it was there count: nobody makes or changes something for what is gone. */
  readonly alive?: true
  /** What is read is its content, by whoever wrote that last: a status that came since counts for nothing. */
  readonly content?: true
  /** Only writes that change this fingerprint of what is written. */
  readonly changes?: string
}

export interface Counts {
  /** Fingerprints that are numbers: `ours` is the sum of `theirs` over all that are there. */
  readonly sums: readonly { readonly theirs: string; readonly ours: string }[]
  /** Other fingerprints whose change makes it write too. */
  readonly also?: readonly string[]
}

/**
 * - owner: those that own it.
 * - dependents: objects of a resource that it owns, those that changed since the writer wrote it last.
 * - leaving: objects of its owner that began to go since the writer did something to what that owns.
 * - fellows: objects of its owner that changed since the writer wrote it last.
 * - departed: objects that its owner had and has not any more, since the writer did something to what that owns.
 * - adopted: what the writer made its owner's own last, where nothing else is new.
 * - former owner: those that owned it before and do not now.
 * - predecessor: what had its name and its owner, and is gone.
 * - namesake: what had its name, and is gone.
 * - named: what its content names as `field`, where that is new; else those that changed since the writer wrote it last.
 * - ended: the last of what its content names as `field` that is gone.
 * - selected: objects of a resource that it selects by their labels, or did, which changed since the writer wrote it last.
 * - changed: objects of a resource, of the whole cluster, which changed since the writer wrote it last.
 * - counted: objects of its namespace and of the resources that it counts, which changed since the writer wrote it last.
 * - quota: quotas of its namespace that were changed since the writer did something to what its owner owns, which had been refused.
 * - remaining: what was left in a namespace that ends when its controller wrote it last, and has gone since.
 * - freed: what went last from where it goes, while it waited for room.
 * - preemptor: what is to run where it runs.
 * - referred: what the spec of a custom resource names and what changed since its controller wrote it last.
 * - applied from: what its labels say that it is applied from, where that was changed or is of another revision; else what had its name
 *   and went.
 * - primaries: objects that a custom controller looks after, which name what is written, or are named by its labels and annotations, or
 *   own what owns it, or whose name is part of its own where it has no owner, and changed since the controller wrote it last.
 * - kin: custom resources of its namespace, of the API groups of what a custom controller looks after, whose content changed since the
 *   controller did something for the written object or its owner; where nothing else is new.
 * - entries: what its content lists as `field`, where the list says something else than before.
 * - naming: objects of a resource whose content names it as `field`; of a series, without the number that its name ends with.
 * - namespace: the namespace that it is in.
 */
export type Reads =
  | { readonly kind: 'owner' }
  | { readonly kind: 'dependents'; readonly resource: string }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'departed' }
  | { readonly kind: 'adopted' }
  | { readonly kind: 'former owner' }
  | { readonly kind: 'fellows' }
  | { readonly kind: 'predecessor' }
  | { readonly kind: 'named'; readonly field: string }
  | { readonly kind: 'ended'; readonly field: string }
  | { readonly kind: 'entries'; readonly field: string; readonly print: string }
  | { readonly kind: 'naming'; readonly resource: string; readonly field: string; readonly isSeries?: true }
  | { readonly kind: 'namesake' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'selected'; readonly resource: string }
  | { readonly kind: 'changed'; readonly resource: string }
  | { readonly kind: 'counted' }
  | { readonly kind: 'quota' }
  | { readonly kind: 'remaining' }
  | { readonly kind: 'freed' }
  | { readonly kind: 'preemptor' }
  | { readonly kind: 'referred' }
  | { readonly kind: 'applied from' }
  | { readonly kind: 'primaries' }
  | { readonly kind: 'kin' }

/** Stands for controllers that are none of Kubernetes' own. */
export const CUSTOM_CONTROLLERS = 'custom controllers'
const MADE: readonly WritePart[] = ['creation', 'authored']
const SUMS = ['replicas', 'ready'].map((name) => ({ theirs: name, ours: name }))
const WANTED = { theirs: 'wanted', ours: 'wanted' }

/** What Kubernetes' own controllers read, and what is common to all that own what they make. */
export const RELATIONS: readonly Relation[] = [
  {
    parts: ['creation'],
    reads: { kind: 'owner' },
    copies: [{ theirs: 'template', ours: 'template' }, WANTED],
    alive: true,
  },
  // A template stays what it was when it was copied; how many are wanted is copied again.
  { parts: ['authored'], reads: { kind: 'owner' }, copies: [WANTED], alive: true },
  { parts: ['deletion'], by: 'generic-garbage-collector', reads: { kind: 'owner' } },
  { parts: ['deletion'], reads: { kind: 'owner' }, alive: true },
  { parts: ['authored', 'removal'], by: 'generic-garbage-collector', reads: { kind: 'former owner' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'leaving' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'departed' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'quota' }, content: true },
  { write: 'pods', parts: ['deletion'], by: 'replicaset-controller', reads: { kind: 'adopted' } },
  { parts: ['creation'], reads: { kind: 'predecessor' } },
  // How far one is scaled depends on how far the others have come.
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
    counts: { sums: SUMS, also: [FINGERPRINT.authored] },
  },
  ...['replicasets', 'replicationcontrollers'].map((write): Relation => ({
    write,
    parts: ['status'],
    reads: { kind: 'dependents', resource: 'pods' },
    counts: { sums: SUMS },
  })),
  ...['replicasets', 'replicationcontrollers'].map((write): Relation => ({
    write,
    parts: ['status'],
    reads: { kind: 'departed' },
  })),
  ...['statefulsets', 'daemonsets', 'jobs'].map((write): Relation => ({
    write,
    parts: ['status'],
    reads: { kind: 'dependents', resource: 'pods' },
  })),
  {
    write: 'daemonsets',
    parts: ['status'],
    reads: { kind: 'changed', resource: 'nodes' },
    content: true,
    changes: 'nodes',
  },
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
  { write: 'pods', parts: ['binding'], reads: { kind: 'freed' }, changes: 'pending' },
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
  {
    write: 'apiservices',
    parts: ['creation', 'authored', 'deletion'],
    reads: { kind: 'naming', resource: 'customresourcedefinitions', field: 'serves' },
  },
  { write: 'cronjobs', parts: ['status'], reads: { kind: 'dependents', resource: 'jobs' } },
  ...[
    { write: 'endpointslices', print: 'slice' },
    { write: 'endpoints', print: 'endpoints' },
  ].flatMap(({ write, print }): Relation[] => [
    { write, parts: MADE, reads: { kind: 'named', field: 'service' }, alive: true },
    { write, parts: ['deletion'], reads: { kind: 'ended', field: 'service' } },
    { write, parts: MADE, reads: { kind: 'entries', field: 'pods', print } },
  ]),
  {
    parts: ['scale', 'authored'],
    by: 'horizontal-pod-autoscaler',
    reads: { kind: 'naming', resource: 'horizontalpodautoscalers', field: 'target' },
  },
  { write: 'horizontalpodautoscalers', parts: ['status'], reads: { kind: 'named', field: 'target' } },
  ...['taint-eviction-controller', 'node-controller', 'pod-garbage-collector'].map((by): Relation => ({
    parts: ['deletion', 'status'],
    by,
    reads: { kind: 'named', field: 'node' },
  })),
  {
    write: 'persistentvolumeclaims',
    parts: ['creation'],
    by: 'statefulset-controller',
    reads: { kind: 'naming', resource: 'statefulsets', field: 'claims', isSeries: true },
    alive: true,
  },
  {
    write: 'persistentvolumeclaims',
    parts: ['authored', 'status'],
    reads: { kind: 'named', field: 'volume' },
  },
  { write: 'persistentvolumes', parts: ['authored', 'status'], reads: { kind: 'named', field: 'claim' } },
  { parts: ['deletion'], by: 'namespace-controller', reads: { kind: 'namespace' } },
  { write: 'namespaces', parts: ['status', 'removal'], reads: { kind: 'remaining' } },
  {
    write: 'serviceaccounts',
    parts: ['creation'],
    by: 'service-account-controller',
    reads: { kind: 'namespace' },
  },
  { write: 'configmaps', parts: ['creation'], by: 'root-ca-cert-publisher', reads: { kind: 'namespace' } },
  // Made anew when somebody deletes them.
  ...['service-account-controller', 'root-ca-cert-publisher'].map((by): Relation => ({
    parts: ['creation'],
    by,
    reads: { kind: 'namesake' },
  })),
  { parts: MADE, reads: { kind: 'applied from' } },
  {
    parts: [...MADE, 'status'],
    by: CUSTOM_CONTROLLERS,
    reads: { kind: 'dependents', resource: ANY_RESOURCE },
  },
  { parts: [...MADE, 'status'], by: CUSTOM_CONTROLLERS, reads: { kind: 'referred' } },
  { parts: [...MADE, 'status', 'scale', 'deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'primaries' } },
  { parts: [...MADE, 'status', 'deletion'], by: CUSTOM_CONTROLLERS, reads: { kind: 'kin' } },
]

/** The lines of a table that speak of a write. */
export function relationsOf(
  table: readonly Relation[],
  write: { resource: string; part: WritePart; by: string; isCustomController: boolean },
): Relation[] {
  return table.filter(
    (relation) =>
      (relation.write === undefined || relation.write === write.resource) &&
      relation.parts.includes(write.part) &&
      (relation.by === undefined ||
        relation.by === write.by ||
        (relation.by === CUSTOM_CONTROLLERS && write.isCustomController)),
  )
}

interface ParsedRelations {
  readonly relations: readonly Relation[]
  /** What has to be read of objects for them. */
  readonly references: readonly CustomReference[]
  /** What is wrong with which of the settings, counted from 0, and what to write instead; those are left out. */
  readonly problems: readonly { readonly at: number; readonly problem: string }[]
}

const PARTS: readonly WritePart[] = ['creation', 'authored', 'status', 'deletion']
const PLACE = /^(?:\.[\w-]+(?:\[\*\])?)+$/
const PLURAL = /^[a-z][a-z0-9-]*$/

/** Relations beside those of the table, and what facts about objects must keep for them. */
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
