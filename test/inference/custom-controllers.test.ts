import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { encodeDecisions } from '../../src/kube/inference/inferred-telemetry.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const API = 'guide.example/v1'
const OF_KUBERNETES = ['Secret', 'Namespace', 'StatefulSet', 'Pod']

interface Signed {
  readonly kind: string
  readonly name: string
  /** `shop` unless given; empty where it is in none. */
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly generation?: number
  readonly owner?: { kind: string; name: string }
  readonly spec?: JsonObject
  readonly status?: JsonObject
  /** By whom in which second; of a status where it ends in a star. */
  readonly by: Readonly<Record<string, number>>
  /** Of another object that has its name. */
  readonly uid?: string
}

const timeOf = (second: number): string => new Date(START + second * 1_000).toISOString().replace('.000', '')

function seen(type: string, version: number, second: number, one: Signed): Observation {
  const { kind, name, namespace = 'shop', labels, annotations, owner, spec = {}, status, by } = one
  const { uid = `uid-${name}` } = one
  const isOfKubernetes = OF_KUBERNETES.includes(kind)
  const apiVersion = isOfKubernetes ? 'v1' : API
  const { generation = isOfKubernetes ? undefined : 1 } = one
  const metadata = {
    ...{ name, uid, resourceVersion: String(version) },
    ...(generation !== undefined && { generation }),
    ...(namespace !== '' && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    managedFields: Object.entries(by).map(([manager, at]) => ({
      ...{ manager: manager.replace('*', ''), operation: 'Update', time: timeOf(at) },
      ...(manager.endsWith('*') && { subresource: 'status' }),
    })),
    ...(owner && {
      ownerReferences: [{ ...owner, apiVersion: API, uid: `uid-${owner.name}`, controller: true }],
    }),
  }
  const object = { kind, apiVersion, metadata, spec, ...(status && { status }) }
  const read = readWatchEvent({ type, object }, BigInt(START + second * 1_000) * 1_000_000n)
  if (typeof read === 'string') throw new Error(read)
  return read
}

const ISSUER = { kind: 'Issuer', name: 'root' }
const CERTIFICATE = {
  kind: 'Certificate',
  name: 'web',
  spec: { issuerRef: { name: 'root' }, secretName: 'web-tls' },
}
const KEY = { kind: 'Secret', name: 'web-key', owner: { kind: 'Certificate', name: 'web' } }

/** alice makes an issuer, bob a certificate by it; the program with two controllers makes a key for it, and says so in its status. */
const BEGUN = [
  seen('ADDED', 10, 10, { ...ISSUER, by: { 'kubectl-create': 10 } }),
  seen('ADDED', 20, 20, { ...CERTIFICATE, by: { 'kubectl-create': 20 } }),
  seen('ADDED', 21, 21, { ...KEY, by: { 'certs-made-keys': 21 } }),
  seen('MODIFIED', 22, 22, {
    ...CERTIFICATE,
    status: { key: 'web-key' },
    by: { 'kubectl-create': 20, 'certs-made-trigger*': 22 },
  }),
]

const decided = (...more: Observation[]): readonly Decision[] =>
  replay([...BEGUN, ...more], ['watch']).decisions

test('what a custom controller does for an object that names the one that changed follows from that, and says by which field', () => {
  const decisions = decided(
    seen('MODIFIED', 30, 30, { ...ISSUER, generation: 2, spec: { ca: 'new' }, by: { 'kubectl-edit': 30 } }),
    seen('MODIFIED', 31, 31, {
      ...CERTIFICATE,
      status: { key: 'web-key', issued: 'new' },
      by: { 'kubectl-create': 20, 'certs-made-trigger*': 31 },
    }),
  )
  const [changed, status] = decisions.slice(-2)
  expect(changed).toMatchObject({ cause: 'operator' })
  expect(status).toMatchObject({
    cause: 'inferred',
    writer: { service: 'certs-made-trigger', role: 'controller' },
  })
  expect(status?.reads.map(({ identity, foundBy }) => [identity.name, foundBy])).toEqual([
    ['web', undefined],
    ['web-key', undefined],
    ['root', 'spec.issuerRef.name'],
  ])
  const bytes = encodeDecisions(status ? [status] : []).toString('latin1')
  expect(bytes).toContain('cpid.found_by')
  expect(bytes).toContain(`${API}/issuers/shop/root: spec.issuerRef.name`)
})

test('controllers of one program look after the same objects, whatever each signs with', () => {
  const decisions = decided(
    seen('ADDED', 30, 23, { kind: 'Secret', name: 'web-tls', by: { 'certs-made-issuing': 23 } }),
  )
  expect(decisions.at(-1)).toMatchObject({
    ...{ cause: 'inferred', writer: { service: 'certs-made-issuing', role: 'controller' } },
    reads: [{ identity: { name: 'web' }, foundBy: 'spec.secretName' }],
  })
})

test('a status of what a program looks after is a person’s where another program writes it', () => {
  const decisions = decided(
    seen('MODIFIED', 30, 30, {
      ...CERTIFICATE,
      status: { key: 'web-key', issuing: 'asked for' },
      by: { 'kubectl-create': 20, 'certs-made-trigger*': 22, 'deploybot*': 30 },
    }),
  )
  expect(decisions.at(-1)).toMatchObject({ cause: 'operator', writer: { service: 'deploybot' } })
})

test('what a custom resource owns and goes just after that was written, its controller takes away; later a person does', () => {
  const gone = (second: number): Decision | undefined =>
    decided(seen('DELETED', 30, second, { ...KEY, by: { 'certs-made-keys': 21 } })).at(-1)
  expect(gone(24)).toMatchObject({ cause: 'inferred', writer: { service: 'certs-made', role: 'controller' } })
  expect(gone(90)).toMatchObject({ cause: 'operator' })
})

test('where its owner says nothing new, a custom controller acts on what it wrote there last', () => {
  const decisions = decided(
    seen('MODIFIED', 30, 30, { ...ISSUER, generation: 2, spec: { ca: 'new' }, by: { 'kubectl-edit': 30 } }),
    seen('MODIFIED', 31, 31, {
      ...CERTIFICATE,
      status: { key: 'web-key', issuing: 'yes' },
      by: { 'kubectl-create': 20, 'certs-made-trigger*': 31 },
    }),
    seen('ADDED', 32, 32, { ...KEY, name: 'web-key-2', by: { 'certs-made-keys': 32 } }),
  )
  const owner = decisions.at(-1)?.reads.find(({ identity }) => identity.name === 'web')
  expect(owner).toMatchObject({ known: { version: 31n } })
  expect(owner?.actedOn).toBeUndefined()
})

test('where nothing else is new, what changed beside it in the same API group is what a custom controller acts on', () => {
  const monitor = { kind: 'Monitor', name: 'all', by: { 'kubectl-create': 30 } }
  const decisions = decided(
    seen('ADDED', 30, 30, monitor),
    seen('MODIFIED', 31, 31, { ...KEY, generation: 2, by: { 'certs-made-keys': 31 } }),
    seen('MODIFIED', 40, 40, { ...KEY, generation: 3, by: { 'certs-made-keys': 40 } }),
  )
  const [made, follows, alone] = decisions.slice(-3)
  expect(follows?.cpid).not.toBe(made?.cpid)
  expect(follows?.sources).toContain(made?.cpid)
  expect(follows?.reads.at(-1)).toMatchObject({ identity: { name: 'all' }, foundBy: 'same API group' })
  expect(alone?.reads.map(({ identity }) => identity.name)).not.toContain('all')
})

test.each([
  ['queueName', { queueName: 'team' }, 'spec.queueName'],
  ['an object with a name', { queue: { name: 'team' } }, 'spec.queue.name'],
  ['a list of such', { queues: [{ name: 'team' }] }, 'spec.queues.name'],
  ['the whole kind', { localQueue: 'team' }, 'spec.localQueue'],
])('what is named without its kind, as %s, is of a kind of the API group that ends so', (_, spec, says) => {
  const queue = { kind: 'LocalQueue', name: 'team' }
  const batch = { kind: 'Batch', name: 'nightly', spec }
  const decisions = decided(
    seen('ADDED', 30, 30, { ...queue, by: { 'kubectl-create': 30 } }),
    seen('ADDED', 31, 31, { ...batch, by: { 'kubectl-create': 31 } }),
    seen('MODIFIED', 32, 32, {
      ...{ ...batch, status: { state: 'waits' } },
      by: { 'kubectl-create': 31, 'certs-made-trigger*': 32 },
    }),
    seen('MODIFIED', 40, 40, { ...queue, generation: 2, spec: { room: 2 }, by: { 'kubectl-edit': 40 } }),
    seen('MODIFIED', 41, 41, {
      ...{ ...batch, status: { state: 'runs' } },
      by: { 'kubectl-create': 31, 'certs-made-trigger*': 41 },
    }),
  )
  expect(decisions.at(-1)?.reads.map(({ identity, foundBy }) => [identity.name, foundBy])).toEqual([
    ['nightly', undefined],
    ['team', says],
  ])
})

test('what a controller looks after and names without its kind is found by what is written', () => {
  const queue = { kind: 'LocalQueue', name: 'team' }
  const batch = { kind: 'Batch', name: 'nightly', spec: { queueName: 'team' } }
  const decisions = decided(
    seen('ADDED', 30, 30, { ...queue, by: { 'kubectl-create': 30 } }),
    seen('ADDED', 31, 31, { ...batch, by: { 'kubectl-create': 31 } }),
    seen('MODIFIED', 32, 32, {
      ...{ ...batch, status: { state: 'waits' } },
      by: { 'kubectl-create': 31, 'certs-made-trigger*': 32 },
    }),
    seen('MODIFIED', 33, 33, {
      ...queue,
      status: { waiting: 1 },
      by: { 'kubectl-create': 30, 'certs-made-trigger*': 33 },
    }),
  )
  expect(decisions.at(-1)?.reads.map(({ identity, foundBy }) => [identity.name, foundBy])).toEqual([
    ['team', undefined],
    ['nightly', 'spec.queueName'],
  ])
})

test('what a custom controller makes for an object follows from what that object names, where only that changed', () => {
  const decisions = decided(
    seen('MODIFIED', 30, 30, { ...ISSUER, generation: 2, spec: { ca: 'new' }, by: { 'kubectl-edit': 30 } }),
    seen('MODIFIED', 31, 31, { ...KEY, labels: { ca: 'new' }, by: { 'certs-made-keys': 31 } }),
    seen('MODIFIED', 40, 40, { ...KEY, labels: { ca: 'same' }, by: { 'certs-made-keys': 40 } }),
  )
  const foundBy = (decision: Decision | undefined): unknown =>
    Object.fromEntries(decision?.reads.map(({ identity, foundBy }) => [identity.name, foundBy]) ?? [])
  expect(foundBy(decisions.at(-2))).toHaveProperty('root', 'spec.issuerRef.name')
  expect(foundBy(decisions.at(-1))).not.toHaveProperty('root')
})

const BUNDLE = { kind: 'Bundle', name: 'trust', namespace: '' }
const NAMESPACE = { kind: 'Namespace', name: 'shop', namespace: '' }
const COPY = { kind: 'Secret', name: 'copy', owner: BUNDLE, by: { bundler: 12 } }
/** alice makes a namespace and a bundle that is to be in all that have a label; bob gives the namespace that label. */
const LABELLED = [
  seen('ADDED', 10, 10, { ...NAMESPACE, by: { 'kubectl-create': 10 } }),
  seen('ADDED', 11, 11, { ...BUNDLE, by: { 'kubectl-create': 11 } }),
  seen('MODIFIED', 12, 12, {
    ...BUNDLE,
    status: { ready: 'True' },
    by: { 'kubectl-create': 11, 'bundler*': 12 },
  }),
  seen('MODIFIED', 20, 20, { ...NAMESPACE, labels: { trust: 'yes' }, by: { 'kubectl-label': 20 } }),
  seen('ADDED', 21, 21, { ...COPY, by: { bundler: 21 } }),
]

test('what a custom controller makes in a namespace for an object in none follows from a change of the namespace', () => {
  const { decisions } = replay(LABELLED, ['watch'])
  const [label, made] = decisions.slice(-2)
  expect(label).toMatchObject({ cause: 'operator' })
  expect(made).toMatchObject({ cause: 'inferred', writer: { service: 'bundler' } })
  expect(made?.reads.map(({ identity, known }) => [identity.name, known.cpid])).toContainEqual([
    'shop',
    label?.cpid,
  ])
})

test('what an object in no namespace owns in one goes by its controller where the namespace has changed since, else by a person', () => {
  const gone = (...before: Observation[]): Decision | undefined =>
    replay(
      [...LABELLED, ...before, seen('DELETED', 40, 90, { ...COPY, by: { bundler: 21 } })],
      ['watch'],
    ).decisions.at(-1)
  const unlabelled = seen('MODIFIED', 30, 89, { ...NAMESPACE, by: { 'kubectl-create': 10 } })
  expect(gone(unlabelled)).toMatchObject({ cause: 'inferred', writer: { service: 'bundler' } })
  expect(gone()).toMatchObject({ cause: 'operator' })
})

test('the first status of a custom resource is its controller’s, whatever that made for it under another name', () => {
  const { decisions } = replay(
    [
      seen('ADDED', 20, 20, { ...CERTIFICATE, by: { 'kubectl-create': 20 } }),
      seen('ADDED', 21, 21, { ...KEY, by: { 'certificates.guide.example/web': 21 } }),
      seen('MODIFIED', 22, 22, {
        ...CERTIFICATE,
        status: { key: 'web-key' },
        by: { 'kubectl-create': 20, 'keymaker*': 22 },
      }),
    ],
    ['watch'],
  )
  expect(decisions.at(-1)).toMatchObject({ cause: 'inferred', writer: { service: 'keymaker' } })
})

test('what a custom controller copies follows from what the copy’s annotations name in another namespace, where that changed', () => {
  const source = { kind: 'Secret', name: 'source', namespace: 'vault', by: { 'kubectl-create': 23 } }
  const copy = { kind: 'Secret', name: 'copied', annotations: { 'guide.example/reflects': 'vault/source' } }
  const decisions = decided(
    seen('ADDED', 30, 23, source),
    seen('ADDED', 31, 24, { ...copy, by: { 'certs-made-keys': 24 } }),
    seen('MODIFIED', 32, 30, { ...source, labels: { key: 'two' }, by: { 'kubectl-edit': 30 } }),
    seen('MODIFIED', 33, 31, { ...copy, labels: { key: 'two' }, by: { 'certs-made-keys': 31 } }),
    seen('MODIFIED', 34, 40, { ...copy, labels: { key: 'own' }, by: { 'certs-made-keys': 40 } }),
  )
  const found = decisions.map(({ write, reads }) => [
    write.version,
    reads.find(({ identity }) => identity.name === 'source')?.foundBy,
  ])
  expect(found.slice(-4)).toEqual([
    [31n, 'annotations guide.example/reflects'],
    [32n, undefined],
    [33n, 'annotations guide.example/reflects'],
    [34n, undefined],
  ])
})

test('annotations name objects that a custom controller looks after in other namespaces', () => {
  const injected = {
    ...{ kind: 'Secret', name: 'hooks', namespace: 'apps' },
    annotations: { 'guide.example/inject-from': 'shop/web' },
  }
  const decisions = decided(
    seen('ADDED', 29, 23, { ...injected, by: { 'kubectl-create': 23 } }),
    seen('MODIFIED', 30, 30, {
      ...CERTIFICATE,
      generation: 2,
      status: { key: 'web-key' },
      spec: { issuerRef: { name: 'root' }, secretName: 'other' },
      by: { 'kubectl-edit': 30, 'certs-made-trigger*': 22 },
    }),
    seen('MODIFIED', 31, 31, { ...injected, labels: { ca: 'new' }, by: { 'certs-made-injector': 31 } }),
  )
  expect(decisions.at(-1)).toMatchObject({ cause: 'inferred' })
  expect(decisions.at(-1)?.reads.map(({ identity, foundBy }) => [identity.name, foundBy])).toContainEqual([
    'web',
    'annotations guide.example/inject-from',
  ])
})

test('a label names an object of the namespace that another label says beside it', () => {
  const claim = { kind: 'Claim', name: 'db', spec: { size: 1 } }
  const labels = { 'guide.example/claim-name': 'db', 'guide.example/claim-namespace': 'shop' }
  const whole = { kind: 'Whole', name: 'db-7x2', namespace: '', labels, spec: { size: 1 } }
  const decisions = decided(
    seen('ADDED', 30, 30, { ...claim, by: { 'kubectl-create': 30 } }),
    seen('MODIFIED', 31, 31, {
      ...{ ...claim, status: { ready: 'no' } },
      by: { 'kubectl-create': 30, 'platform*': 31 },
    }),
    seen('ADDED', 32, 32, { ...whole, by: { platform: 32 } }),
    seen('MODIFIED', 40, 40, {
      ...{ ...claim, generation: 2, spec: { size: 2 }, status: { ready: 'no' } },
      by: { 'kubectl-edit': 40, 'platform*': 31 },
    }),
    seen('MODIFIED', 41, 41, { ...whole, generation: 2, spec: { size: 2 }, by: { platform: 41 } }),
  )
  const [made, , changed] = decisions.slice(-3)
  const foundBy = 'labels guide.example/claim-name'
  expect(made).toMatchObject({ cause: 'inferred', reads: [{ identity: { name: 'db' }, foundBy }] })
  expect(changed?.reads.map(({ identity, known }) => `${identity.name}@${known.version}`)).toContain('db@40')
})

test('a Pod of an old revision goes by the program that looks after its StatefulSet and has just written the Pod', () => {
  const cluster = { kind: 'Cluster', name: 'main', by: { 'kubectl-create': 10 } }
  const set = {
    ...{ kind: 'StatefulSet', name: 'main-db', generation: 1, owner: { kind: 'Cluster', name: 'main' } },
    ...{ spec: { updateStrategy: { type: 'OnDelete' } }, by: { 'db-operator': 12 } },
    status: { observedGeneration: 1, updateRevision: 'new' },
  }
  const made = { 'kube-controller-manager': 13 }
  const pod = {
    ...{ kind: 'Pod', name: 'main-db-0', owner: { kind: 'StatefulSet', name: 'main-db' } },
    labels: { 'controller-revision-hash': 'old' },
  }
  const deletedBy = (...labelled: Observation[]): string | undefined =>
    decided(
      seen('ADDED', 30, 30, cluster),
      seen('MODIFIED', 31, 31, {
        ...cluster,
        status: { phase: 'new' },
        by: { ...cluster.by, 'db-operator*': 31 },
      }),
      seen('ADDED', 32, 32, set),
      seen('ADDED', 33, 33, { ...pod, by: made }),
      ...labelled,
      seen('DELETED', 61, 61, { ...pod, by: labelled.length > 0 ? { ...made, 'db-operator': 60 } : made }),
    ).at(-1)?.writer.service
  const labels = { ...pod.labels, role: 'replica' }
  expect(deletedBy(seen('MODIFIED', 60, 60, { ...pod, labels, by: { ...made, 'db-operator': 60 } }))).toBe(
    'db-operator',
  )
  expect(deletedBy()).toBe('unknown')
})

/** alice makes a database, and its operator, which owns nothing of what it makes for it, writes its status. */
const DATABASE = { kind: 'Database', name: 'main', by: { 'kubectl-create': 30 } }
const STATED = {
  ...{ ...DATABASE, status: { phase: 'new' } },
  by: { ...DATABASE.by, 'db-operator*': 31 },
}
const OF_MAIN = { labels: { 'cluster-name': 'main' } }

test('what labels tie to an object that is gone goes by the program that still clears up after it; later a person takes it away', () => {
  const key = { kind: 'Secret', name: 'key', ...OF_MAIN, by: { 'db-operator': 32 } }
  const claim = { kind: 'Secret', name: 'claim', ...OF_MAIN, by: { 'kube-controller-manager': 33 } }
  const deletedBy = (...before: Observation[]): string | undefined =>
    decided(
      seen('ADDED', 30, 30, DATABASE),
      seen('MODIFIED', 31, 31, STATED),
      seen('ADDED', 32, 32, key),
      seen('ADDED', 33, 33, claim),
      ...before,
      seen('DELETED', 63, 63, claim),
    ).at(-1)?.writer.service
  const gone = seen('DELETED', 60, 60, STATED)
  expect(deletedBy(gone)).toBe('db-operator')
  expect(deletedBy(gone, seen('DELETED', 61, 61, key))).toBe('unknown')
  const twin = { ...DATABASE, kind: 'Replica', uid: 'twin', by: { 'kubectl-create': 34 } }
  const stated = { ...twin, status: { phase: 'new' }, by: { ...twin.by, 'db-operator*': 35 } }
  expect(deletedBy(seen('ADDED', 34, 34, twin), seen('MODIFIED', 35, 35, stated), gone)).toBe('unknown')
  expect(deletedBy()).toBe('unknown')
})

test('a Pod of an old revision goes by the program that has marked it, while others of its StatefulSet are replaced', () => {
  const set = (second: number): Signed => ({
    ...{
      kind: 'StatefulSet',
      name: 'db',
      ...OF_MAIN,
      generation: 2,
      spec: { updateStrategy: { type: 'OnDelete' } },
    },
    ...{ status: { observedGeneration: 2, updateRevision: 'new', readyReplicas: second } },
    by: { 'db-operator': 50, 'kube-controller-manager*': second },
  })
  const made = { 'kube-controller-manager': 33 }
  const pod = {
    ...{ kind: 'Pod', name: 'db-0', owner: { kind: 'StatefulSet', name: 'db' } },
    labels: { 'controller-revision-hash': 'old' },
  }
  const deletedBy = (
    changed: number,
    by: Signed['by'] = { ...made, 'db-operator': 50 },
  ): string | undefined =>
    decided(
      seen('ADDED', 30, 30, DATABASE),
      seen('MODIFIED', 31, 31, STATED),
      seen('ADDED', 33, 33, { ...pod, by: made }),
      seen('MODIFIED', 50, 50, set(50)),
      seen('MODIFIED', 51, 51, { ...pod, annotations: { renew: 'true' }, by }),
      seen('MODIFIED', changed, changed, set(changed)),
      seen('DELETED', 73, 73, { ...pod, by }),
    ).at(-1)?.writer.service
  expect(deletedBy(72)).toBe('db-operator')
  expect(deletedBy(60)).toBe('unknown')
  expect(deletedBy(72, { ...made, 'kubectl-annotate': 51 })).toBe('unknown')
})

test('a reference that is called after no known kind may name settings', () => {
  const certificate = {
    ...CERTIFICATE,
    generation: 2,
    spec: { ...CERTIFICATE.spec, credentialsRef: { name: 'login' } },
  }
  const login = { kind: 'Secret', name: 'login' }
  const decisions = decided(
    seen('ADDED', 30, 30, { ...login, by: { 'kubectl-create': 30 } }),
    seen('MODIFIED', 40, 40, {
      ...certificate,
      status: { key: 'web-key' },
      by: { 'kubectl-edit': 40, 'certs-made-trigger*': 22 },
    }),
    seen('MODIFIED', 41, 41, { ...KEY, labels: { login: 'old' }, by: { 'certs-made-keys': 41 } }),
    seen('MODIFIED', 50, 50, { ...login, labels: { changed: 'yes' }, by: { 'kubectl-edit': 50 } }),
    seen('MODIFIED', 51, 51, { ...KEY, labels: { login: 'new' }, by: { 'certs-made-keys': 51 } }),
  )
  const { reads = [] } = decisions.at(-1) ?? {}
  expect(reads.map(({ identity, foundBy }) => [identity.name, foundBy])).toContainEqual([
    'login',
    'spec.credentialsRef.name',
  ])
})
