import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { rfc3339 } from '../../src/model/time-and-size.ts'
import { known } from '../support/read-observation.ts'

const NOW = 1_767_225_600_000_000_000n
const SECOND = 1_000_000_000n
const CONTROLLER = 'system:serviceaccount:kube-system:deployment-controller'

interface Asked {
  readonly verb: string
  readonly resource: string
  readonly name: string
  readonly subresource?: string
}

/** A request that is answered with an object, in the second of the version that it made. */
function audited(
  version: number,
  username: string,
  asked: Asked,
  answer: JsonObject,
  atNs = NOW + BigInt(version) * SECOND,
): Observation {
  const { verb, ...reference } = asked
  const isCore = asked.resource === 'pods'
  const metadata = { name: asked.name, namespace: 'shop', uid: asked.name, resourceVersion: String(version) }
  return known(
    readAuditEvent({
      ...{ stage: 'ResponseComplete', verb, auditID: `a${version}`, requestURI: '/', user: { username } },
      ...{ userAgent: username.startsWith('system:') ? 'kube-controller-manager/v1' : 'kubectl/v1' },
      responseStatus: { code: verb === 'create' ? 201 : 200 },
      objectRef: { ...(!isCore && { apiGroup: 'apps' }), apiVersion: 'v1', namespace: 'shop', ...reference },
      responseObject: { ...answer, metadata: { ...metadata, ...(answer.metadata as JsonObject) } },
      ...{ requestReceivedTimestamp: rfc3339(atNs), stageTimestamp: rfc3339(atNs + 1_000n) },
    }),
  )
}

const template = { spec: { containers: [{ name: 'c', image: 'i:1' }] } }
const WEB = { resource: 'deployments', name: 'web' }

const deployment = (version: number, username: string, replicas: number, name = 'web'): Observation =>
  audited(
    version,
    username,
    { verb: 'create', ...WEB, name },
    {
      ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { generation: 1 } },
      spec: { replicas, template },
    },
  )

const scaling = (version: number, username: string, replicas: number): Observation =>
  audited(
    version,
    username,
    { verb: 'patch', ...WEB, subresource: 'scale' },
    {
      ...{ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: {} },
      spec: { replicas },
    },
  )

const replicaSet = (version: number, replicas: number): Observation =>
  audited(
    version,
    CONTROLLER,
    { verb: replicas === 1 && version === 2 ? 'create' : 'update', resource: 'replicasets', name: 'web-1' },
    {
      ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet' },
      metadata: {
        generation: version,
        annotations: { 'deployment.kubernetes.io/desired-replicas': String(replicas) },
        ownerReferences: [{ kind: 'Deployment', name: 'web', uid: 'web', controller: true }],
      },
      spec: { replicas, template },
    },
  )

test('what a scaling made is told by its answer where no watch shows the object', () => {
  const told = [
    deployment(1, 'alice', 1),
    replicaSet(2, 1),
    scaling(3, 'bob', 2),
    replicaSet(4, 2),
    scaling(5, 'carol', 1),
    replicaSet(6, 1),
  ]
  const { decisions } = replay(told, ['audit'])
  const causes = decisions
    .filter(({ write }) => write.object.resource === 'replicasets')
    .map(({ reads }) =>
      reads
        .filter(({ identity }) => identity.name === 'web')
        .map(({ known: read, actedOn }) => Number(actedOn ?? read.version)),
    )
  expect(causes).toEqual([[1], [3], [5]])
  expect(decisions.find(({ version }) => version === 5n)?.changed).toEqual(['spec.replicas: 2 → 1'])
})

const pod = (version: number, name: string): Observation =>
  audited(
    version,
    'system:serviceaccount:kube-system:replicaset-controller',
    { verb: 'create', resource: 'pods', name },
    {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { ownerReferences: [{ kind: 'ReplicaSet', name: 'web-1', uid: 'web-1', controller: true }] },
      spec: { nodeName: 'n1' },
      status: { phase: 'Running' },
    },
  )

test.each([5, 6])(
  'what replaces an evicted Pod follows from the eviction, whose answer has no version, where it is version %d',
  (replacing) => {
    const evicted = audited(
      4,
      'bob',
      { verb: 'create', resource: 'pods', name: 'web-1-a', subresource: 'eviction' },
      { kind: 'Status', metadata: { name: '', uid: '', resourceVersion: '' } },
      NOW + 4n * SECOND + SECOND / 2n,
    )
    const told = [
      deployment(1, 'alice', 1),
      replicaSet(2, 1),
      pod(3, 'web-1-a'),
      deployment(4, 'carol', 1, 'other'),
      evicted,
      pod(replacing, 'web-1-b'),
    ]
    const { decisions } = replay(told, ['audit'])
    const reads = decisions.find(({ write }) => write.object.name === 'web-1-b')?.reads ?? []
    const causing = reads.filter(({ isPassive }) => isPassive !== true).map(({ identity }) => identity.name)
    expect(causing).toContain('web-1-a')
    expect(decisions.find(({ write }) => write.request?.subresource === 'eviction')?.cause).toBe('operator')
  },
)
