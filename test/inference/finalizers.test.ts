import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const API = 'guide.example/v1'
const API_OF: Readonly<Record<string, string>> = {
  Bucket: API,
  ClusterRole: 'rbac.authorization.k8s.io/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
}
const IN_NO_NAMESPACE = new Set(['ClusterRole', 'CustomResourceDefinition', 'Namespace'])
const OPERATOR = { 'bucket-operator': 11 }
const HELD = { finalizers: ['guide.example/bucket'] }
const GOING = { deletionTimestamp: '2026-01-01T00:00:20Z' }

const timeOf = (second: number): string => new Date(START + second * 1_000).toISOString().replace('.000', '')

interface Signed {
  readonly kind: string
  readonly name: string
  readonly meta?: JsonObject
  readonly more?: JsonObject
  /** By whom in which second; of a status where it ends in a star, of the finalizers where it ends in a plus. */
  readonly by: Readonly<Record<string, number>>
}

/** A version that a watch tells of, which is also its number, in that second. */
function seen(type: string, second: number, { kind, name, meta = {}, more = {}, by }: Signed): Observation {
  const metadata = {
    ...{ name, uid: `uid-${kind}-${name}`, resourceVersion: String(second), ...meta },
    ...(!IN_NO_NAMESPACE.has(kind) && { namespace: 'shop' }),
    managedFields: Object.entries(by).map(([manager, at]) => ({
      ...{ manager: manager.replace(/[*+]$/, ''), operation: 'Update', time: timeOf(at) },
      ...(manager.endsWith('*') && { subresource: 'status' }),
      ...(manager.endsWith('+') && { fieldsV1: { 'f:metadata': { 'f:finalizers': {} } } }),
    })),
  }
  const object = { kind, apiVersion: API_OF[kind] ?? 'v1', metadata, ...more }
  const read = readWatchEvent({ type, object }, BigInt(START + second * 1_000) * 1_000_000n)
  if (typeof read === 'string') throw new Error(read)
  return read
}

const decided = (...told: Observation[]): readonly Decision[] => replay(told, ['watch']).decisions
const whoAndWhy = (one: Decision | undefined) => [one?.writer.service, one?.cause]

const SHOP = { kind: 'Namespace', name: 'shop', by: { 'kubectl-create': 1 } }
const BUCKET = { kind: 'Bucket', name: 'media', by: { 'kubectl-create': 10 } }
const TAKEN = { ...BUCKET, meta: HELD, by: { ...BUCKET.by, ...OPERATOR } }
const POLICY = { kind: 'ConfigMap', name: 'media-policy', by: OPERATOR }
const ROLE = { kind: 'ClusterRole', name: 'shop-media', by: OPERATOR }
/** Somebody makes a bucket; its controller puts its finalizer on it, and makes what nobody owns. */
const BEGUN = [
  seen('ADDED', 9, SHOP),
  seen('ADDED', 10, BUCKET),
  seen('MODIFIED', 11, TAKEN),
  seen('ADDED', 12, POLICY),
  seen('ADDED', 13, ROLE),
]

test('whoever puts a finalizer on a custom resource looks after it, and after what is called by its name', () => {
  const [, made, ...followed] = decided(...BEGUN)
  expect(followed.map(whoAndWhy)).toEqual(followed.map(() => ['bucket-operator', 'inferred']))
  expect(new Set(followed.map(({ cpid }) => cpid))).toEqual(new Set([made?.cpid]))
  const [policy, role] = followed.slice(1).map(({ reads }) => reads.at(-1))
  expect([policy, role]).toMatchObject([
    { identity: { name: 'media' }, foundBy: 'name' },
    { identity: { name: 'media' }, foundBy: 'name' },
  ])
  // A name that is only like it says nothing.
  const [other] = decided(...BEGUN, seen('ADDED', 14, { ...POLICY, name: 'mediathek' })).slice(-1)
  expect(other?.reads.map(({ identity }) => identity.name)).not.toContain('media')
})

test('what a finalizer has its controller take away goes because of whoever deleted the namespace', () => {
  const ended = seen('MODIFIED', 20, { ...SHOP, meta: GOING })
  const marked = seen('MODIFIED', 21, { ...TAKEN, meta: { ...HELD, ...GOING } })
  const roleGone = seen('DELETED', 22, ROLE)
  const [began, ...all] = decided(...BEGUN, ended, marked, roleGone).slice(-3)
  expect(all.map(whoAndWhy)).toEqual([
    ['namespace-controller', 'inferred'],
    ['bucket-operator', 'inferred'],
  ])
  expect(all[0]?.sources).toContain(began?.cpid)
  expect(all[1]?.cpid).toBe(all[0]?.cpid)
  // While nothing goes that it was made for, a person takes it away.
  const [alone] = decided(...BEGUN, seen('DELETED', 22, ROLE)).slice(-1)
  expect(alone?.cause).toBe('operator')
})

test('a namespace goes once what was left in it has gone, whoever let that go', () => {
  const message = 'Some resources are remaining: buckets.guide.example has 1 resource instances'
  const left = { conditions: [{ type: 'NamespaceContentRemaining', status: 'True', message }] }
  const by = { ...SHOP.by, 'kube-controller-manager*': 22 }
  const [gone, removed] = decided(
    ...BEGUN,
    seen('MODIFIED', 20, { ...SHOP, meta: GOING }),
    seen('MODIFIED', 21, { ...TAKEN, meta: { ...HELD, ...GOING } }),
    seen('MODIFIED', 22, { ...SHOP, meta: GOING, more: { status: left }, by }),
    seen('DELETED', 40, { ...TAKEN, meta: { ...HELD, ...GOING } }),
    seen('DELETED', 41, { ...SHOP, meta: GOING, more: { status: left }, by }),
  ).slice(-2)
  expect(removed?.writer.service).toBe('namespace-controller')
  expect(removed?.reads.map(({ identity, known }) => [identity.name, known.version])).toContainEqual([
    'media',
    gone?.version,
  ])
})

test('a definition goes once the last object that it defines has gone, whoever let that go', () => {
  const definition = {
    kind: 'CustomResourceDefinition',
    name: 'buckets.guide.example',
    by: { 'kubectl-create': 8 },
  }
  const going = { ...definition, meta: GOING, by: { ...definition.by, 'kube-apiserver*': 21 } }
  const [other, gone, removed] = decided(
    seen('ADDED', 8, definition),
    ...BEGUN,
    seen('MODIFIED', 20, { ...definition, meta: GOING }),
    seen('MODIFIED', 21, {
      ...going,
      more: { status: { conditions: [{ type: 'Terminating', status: 'True' }] } },
    }),
    seen('DELETED', 38, POLICY),
    seen('DELETED', 40, TAKEN),
    seen('DELETED', 41, going),
  ).slice(-3)
  const read = removed?.reads.map(({ identity, known }) => [identity.name, known.version])
  expect(read).toContainEqual(['media', gone?.version])
  expect(other?.write.object.name).toBe('media-policy')
  // What goes before its definition is deleted is no cause of that.
  const [alone] = decided(
    seen('ADDED', 8, definition),
    ...BEGUN,
    seen('DELETED', 15, TAKEN),
    seen('MODIFIED', 20, { ...definition, meta: GOING }),
    seen('DELETED', 41, going),
  ).slice(-1)
  expect(alone?.reads.map(({ identity }) => identity.name)).not.toContain('media')
})

test('Endpoints that list no Pods any more were written by their controller, though nobody signed that', () => {
  const targetRef = { kind: 'Pod', name: 'web-1', uid: 'uid-web-1' }
  const subsets = [{ addresses: [{ ip: '10.0.0.1', targetRef }] }]
  const endpoints = { kind: 'Endpoints', name: 'web', by: { 'kube-controller-manager': 10 } }
  const told = [
    seen('ADDED', 10, { ...endpoints, more: { subsets } }),
    seen('MODIFIED', 30, { ...endpoints, more: {} }),
  ]
  expect(decided(...told).at(-1)?.writer).toMatchObject({ service: 'endpoint-controller' })
  const labelled = { ...endpoints, meta: { labels: { a: 'b' } } }
  const [unlabelled] = decided(seen('ADDED', 10, labelled), seen('MODIFIED', 30, endpoints)).slice(-1)
  expect(unlabelled?.writer.role).toBe('operator')
})

test('what goes after all that it owns goes once the last of that has gone, whoever let that go', () => {
  const meta = { finalizers: ['foregroundDeletion'], ...GOING }
  const owner = { kind: 'Service', name: 'web', by: { 'kubectl-create': 10 } }
  const ownerReferences = [{ kind: 'Service', name: 'web', uid: 'uid-Service-web', blockOwnerDeletion: true }]
  const owned = (name: string, more: JsonObject) =>
    ({ kind: 'ConfigMap', name, meta: { ownerReferences, ...more }, by: { 'kubectl-create+': 11 } }) as const
  const [removed, ended] = decided(
    seen('ADDED', 10, owner),
    seen('ADDED', 11, owned('held', HELD)),
    seen('ADDED', 12, owned('plain', {})),
    seen('MODIFIED', 20, { ...owner, meta }),
    seen('DELETED', 21, owned('plain', {})),
    seen('MODIFIED', 22, owned('held', { ...HELD, ...GOING })),
    seen('DELETED', 40, owned('held', { ...HELD, ...GOING })),
    seen('DELETED', 41, { ...owner, meta }),
  ).slice(-2)
  expect(whoAndWhy(removed)).toEqual(['unknown', 'operator'])
  expect(whoAndWhy(ended)).toEqual(['generic-garbage-collector', 'inferred'])
  expect(ended?.reads.map(({ identity, known }) => [identity.name, known.version])).toEqual([
    ['web', 20n],
    ['held', removed?.version],
  ])
})

test.each([
  ['a tool', { 'kubectl-create+': 14 }, 'operator'],
  ['a program that made the object with it', { 'deploybot+': 14 }, 'operator'],
  ['a program that found the object', { deploybot: 13, 'labeller+': 14 }, 'inferred'],
  ['a program that looks after custom resources', { 'bucket-operator+': 14 }, 'inferred'],
])('who takes a finalizer away that %s has set', (_who, by, cause) => {
  const held = { kind: 'ConfigMap', name: 'settings', meta: HELD, by }
  const going = { ...held, meta: { ...HELD, ...GOING } }
  const told = [seen('ADDED', 14, held), seen('MODIFIED', 20, going), seen('DELETED', 30, going)]
  expect(decided(...BEGUN, ...told).at(-1)?.cause).toBe(cause)
})
