import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { encodeDecisions } from '../../src/kube/inference/inferred-telemetry.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const API = 'guide.example/v1'

interface Signed {
  readonly kind: string
  readonly name: string
  readonly generation?: number
  readonly owner?: { kind: string; name: string }
  readonly spec?: JsonObject
  readonly status?: JsonObject
  /** By whom in which second; of a status where it ends in a star. */
  readonly by: Readonly<Record<string, number>>
}

const timeOf = (second: number): string => new Date(START + second * 1_000).toISOString().replace('.000', '')

function seen(type: string, version: number, second: number, one: Signed): Observation {
  const { kind, name, generation = 1, owner, spec = {}, status, by } = one
  const apiVersion = kind === 'Secret' ? 'v1' : API
  const metadata = {
    ...{ name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: String(version), generation },
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
