import type { Part } from './part-of-write.ts'

/**
 * What a controller's write of one kind of object follows from, beside the version before. The table is data: each line
 * says of which writes it speaks, and which other objects were read for them.
 */
export interface Relation {
  /** Resource of the object that is written; all of them where it is missing. */
  readonly write?: string
  /** What of the object is written. */
  readonly parts: readonly Part[]
  /** Only writes of this controller, where it says so. */
  readonly by?: string
  readonly reads: Reads
  /**
   * Fingerprints that are equal where the write copies what it read: `theirs` of the object that is read, `ours` of the one
   * that is written.
   */
  readonly copies?: readonly { readonly theirs: string; readonly ours: string }[]
}

/**
 * - owner: those that own it.
 * - dependents: objects of a resource that it owns, those that changed since the writer wrote it last.
 * - siblings: objects of its owner that began to go since the writer acted for that owner last.
 * - named: what its content names as `field`; those that changed since the writer wrote it last.
 * - entries: what its content lists as `field`, where the list says something else than before.
 * - naming: objects of a resource whose content names it as `field`.
 * - namespace: the namespace that it is in.
 */
export type Reads =
  | { readonly kind: 'owner' }
  | { readonly kind: 'dependents'; readonly resource: string }
  | { readonly kind: 'siblings' }
  | { readonly kind: 'named'; readonly field: string }
  | { readonly kind: 'entries'; readonly field: string; readonly print: string }
  | { readonly kind: 'naming'; readonly resource: string; readonly field: string }
  | { readonly kind: 'namespace' }

const MADE: readonly Part[] = ['creation', 'authored']
const WANTED = { theirs: 'wanted', ours: 'wanted' }

/** What Kubernetes' own controllers read, and what is common to all that own what they make. */
export const RELATIONS: readonly Relation[] = [
  {
    parts: ['creation'],
    reads: { kind: 'owner' },
    copies: [{ theirs: 'template', ours: 'template' }, WANTED],
  },
  // A template stays what it was when it was copied; how many are wanted is copied again.
  { parts: ['authored'], reads: { kind: 'owner' }, copies: [WANTED] },
  { parts: ['deletion'], reads: { kind: 'owner' } },
  { write: 'pods', parts: ['creation'], reads: { kind: 'siblings' } },
  { write: 'deployments', parts: ['status'], reads: { kind: 'dependents', resource: 'replicasets' } },
  ...['replicasets', 'statefulsets', 'daemonsets', 'jobs', 'replicationcontrollers'].map(
    (write): Relation => ({ write, parts: ['status'], reads: { kind: 'dependents', resource: 'pods' } }),
  ),
  { write: 'cronjobs', parts: ['status'], reads: { kind: 'dependents', resource: 'jobs' } },
  ...[
    { write: 'endpointslices', print: 'slice' },
    { write: 'endpoints', print: 'endpoints' },
  ].flatMap(({ write, print }): Relation[] => [
    { write, parts: [...MADE, 'deletion'], reads: { kind: 'named', field: 'service' } },
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
    parts: ['authored', 'status'],
    reads: { kind: 'named', field: 'volume' },
  },
  { write: 'persistentvolumes', parts: ['authored', 'status'], reads: { kind: 'named', field: 'claim' } },
  { parts: ['deletion'], by: 'namespace-controller', reads: { kind: 'namespace' } },
  {
    write: 'serviceaccounts',
    parts: ['creation'],
    by: 'service-account-controller',
    reads: { kind: 'namespace' },
  },
  { write: 'configmaps', parts: ['creation'], by: 'root-ca-cert-publisher', reads: { kind: 'namespace' } },
  { parts: MADE, reads: { kind: 'named', field: 'applied from' } },
]

/** The lines of a table that speak of a write. */
export function relationsOf(
  table: readonly Relation[],
  write: { resource: string; part: Part; by: string },
): Relation[] {
  return table.filter(
    (relation) =>
      (relation.write === undefined || relation.write === write.resource) &&
      relation.parts.includes(write.part) &&
      (relation.by === undefined || relation.by === write.by),
  )
}
