import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import { encodeDecisions, observedVersions } from '../../src/kube/inference/inferred-telemetry.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { type JsonObject, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const CONTROLLER = 'system:serviceaccount:kube-system:deployment-controller'
const DEPLOYMENT = { kind: 'Deployment', name: 'web', uid: 'd', controller: true }

interface Written {
  readonly version: number
  readonly by: string
  readonly object: JsonObject
  readonly verb?: string
  readonly subresource?: string
}

/** A request as an audit log tells it, ten milliseconds for each version. */
function written({ version, by, object, verb = 'update', subresource = '' }: Written): Observation {
  const at = (ms: number): string => new Date(START + version * 10 + ms).toISOString()
  const metadata = objectIn(object, 'metadata')
  const kind = textIn(object, 'kind')
  const read = readAuditEvent({
    ...{ stage: 'ResponseComplete', verb, auditID: `audit-${version}`, responseStatus: { code: 200 } },
    ...{ user: { username: by }, userAgent: 'x', requestReceivedTimestamp: at(0), stageTimestamp: at(5) },
    objectRef: {
      ...{ apiGroup: 'apps', apiVersion: 'v1', resource: `${kind.toLowerCase()}s`, namespace: 'shop' },
      ...{ name: textIn(metadata, 'name'), subresource },
    },
    responseObject: { ...object, metadata: { ...metadata, resourceVersion: String(version) } },
  })
  if (typeof read === 'string') throw new Error(read)
  return read
}

function deployment(image: string, replicas: number, generation: number, observed?: number): JsonObject {
  return {
    ...{ kind: 'Deployment', apiVersion: 'apps/v1' },
    metadata: { name: 'web', namespace: 'shop', uid: 'd', generation },
    spec: { replicas, template: { spec: { containers: [{ name: 'c', image }] } } },
    ...(observed !== undefined && { status: { observedGeneration: observed } }),
  }
}

function replicaSet(image: string): JsonObject {
  return {
    ...{ kind: 'ReplicaSet', apiVersion: 'apps/v1' },
    metadata: { name: 'web-1', namespace: 'shop', uid: 'r', generation: 1, ownerReferences: [DEPLOYMENT] },
    spec: { replicas: 1, template: { spec: { containers: [{ name: 'c', image }] } } },
  }
}

const decided = (...all: Written[]): readonly Decision[] => replay(all.map(written), ['audit']).decisions
const create = (version: number, by: string, object: JsonObject): Written => ({
  ...{ version, by, object, verb: 'create' },
})

test('what is made for two changes, one of which nobody had acted on, follows from both', () => {
  const [alice, bob, made] = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    { version: 2, by: 'bob', object: deployment('i:1', 3, 2) },
    create(3, CONTROLLER, replicaSet('i:1')),
  )
  expect(made?.sources).toEqual([alice?.cpid, bob?.cpid].sort())
  // Both drive it: its span observed both versions.
  expect(observedVersions(made?.reads ?? []).map(({ version }) => version)).toEqual([2n, 1n])
})

test('what has been acted on is not acted on again', () => {
  const bySeen = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    create(2, CONTROLLER, replicaSet('i:1')),
    { version: 3, by: 'bob', object: deployment('i:1', 3, 2) },
    { version: 4, by: CONTROLLER, object: deployment('i:1', 3, 2, 2), subresource: 'status' },
  )
  expect(bySeen.at(-1)?.reads.filter(({ identity }) => identity.uid === 'd')).toHaveLength(1)
  const bySaid = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    { version: 2, by: 'bob', object: deployment('i:1', 3, 2, 1) },
    create(3, CONTROLLER, replicaSet('i:1')),
  )
  expect(bySaid.at(-1)).toMatchObject({ cpid: bySaid[1]?.cpid, sources: undefined })
})

test('what is done for a deletion does not follow from what was wanted before', () => {
  const going = deployment('i:1', 1, 2)
  const deletionTimestamp = new Date(START).toISOString()
  const [, deletion, , status] = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    {
      version: 2,
      by: 'bob',
      object: { ...going, metadata: { ...objectIn(going, 'metadata'), deletionTimestamp } },
      verb: 'delete',
    },
    create(3, CONTROLLER, replicaSet('i:1')),
    {
      ...{ version: 4, by: 'system:serviceaccount:shop:other', subresource: 'status' },
      object: {
        ...going,
        metadata: { ...objectIn(going, 'metadata'), deletionTimestamp },
        status: { replicas: 0 },
      },
    },
  )
  expect(status).toMatchObject({ cpid: deletion?.cpid, sources: undefined })
})

test('a program follows from no change that it left alone while others acted on it', () => {
  const note = (version: number): Written => {
    const object = deployment('i:1', 3, 2)
    const metadata = { ...objectIn(object, 'metadata'), annotations: { 'example.com/seen': 'y' } }
    return { version, by: 'system:serviceaccount:shop:other', object: { ...object, metadata } }
  }
  const sourcesAfter = (versions: number): readonly string[] | undefined =>
    decided(
      create(1, 'alice', deployment('i:1', 1, 1)),
      { version: 2, by: CONTROLLER, object: deployment('i:1', 1, 1, 1), subresource: 'status' },
      { version: 2 + versions, by: 'bob', object: deployment('i:1', 3, 2) },
      note(3 + versions),
    ).at(-1)?.sources
  expect(sourcesAfter(1)).toHaveLength(2)
  expect(sourcesAfter(2_000)).toBeUndefined()
})

test('a change of which nothing is left says by which it was superseded', () => {
  const [alice, image, other] = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    { version: 2, by: 'alice', object: deployment('i:2', 1, 2) },
    { version: 3, by: 'bob', object: deployment('i:3', 1, 3) },
  )
  expect(image?.superseded).toEqual([])
  expect(other?.superseded.map(({ cpid }) => cpid)).toEqual([image?.cpid])
  expect(other?.superseded.map(({ cpid }) => cpid)).not.toContain(alice?.cpid)
  const sent = encodeDecisions(other === undefined ? [] : [other]).toString('latin1')
  expect(sent).toContain('superseded apps/v1/deployments')
  expect(sent).toContain('cpid.superseded_by')
})

test('what was acted on was not superseded by what came after', () => {
  const all = decided(
    create(1, 'alice', deployment('i:1', 1, 1)),
    { version: 2, by: 'alice', object: deployment('i:2', 1, 2) },
    create(3, CONTROLLER, replicaSet('i:2')),
    { version: 4, by: 'bob', object: deployment('i:3', 1, 3) },
  )
  expect(all.at(-1)?.superseded).toEqual([])
})
