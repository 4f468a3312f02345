import { describe, expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'

interface Told {
  kind: string
  name: string
  version: number
  type?: 'DELETED'
  /** Kind and name of the owner. */
  of?: [string, string]
  uid?: string
  metadata?: object
  rest?: object
}

const uidOf = (kind: string, name: string): string => `${kind} ${name}`
const GOING = { deletionTimestamp: '2026-11-22T03:01:57Z' }

/** What a watch alone shows of objects in the shape that a real API server gives them. */
function decided(...all: Told[]): Decision[] {
  const observations = all.map(({ kind, name, version, type, of, uid, metadata, rest }) => {
    const apiVersion = ['Deployment', 'ReplicaSet'].includes(kind) ? 'apps/v1' : 'v1'
    const owner = of && { kind: of[0], name: of[1], uid: uidOf(...of), controller: true }
    const whole = {
      ...{ name, namespace: 'shop', uid: uid ?? uidOf(kind, name), resourceVersion: String(version) },
      ...(owner && { ownerReferences: [owner] }),
      ...metadata,
    }
    const event = { type: type ?? 'MODIFIED', object: { apiVersion, kind, metadata: whole, ...rest } }
    const read = readWatchEvent(JSON.parse(JSON.stringify(event)) as JsonObject, BigInt(version))
    if (typeof read === 'string') throw new Error(read)
    return read
  })
  const { decisions, left } = replay(observations, ['watch'])
  expect(left).toBe(0)
  return [...decisions]
}

const at = (decisions: readonly Decision[], version: number): Decision =>
  decisions.find(({ write }) => write.version === BigInt(version))!

const readsOf = (decisions: readonly Decision[], version: number): string[] =>
  at(decisions, version).reads.map(({ identity, known }) => `${identity.name}@${known.version}`)

const deployment = (version: number, replicas: number, image = '1', more: Partial<Told> = {}): Told => ({
  ...{ kind: 'Deployment', name: 'web', version },
  rest: { spec: { replicas, template: { spec: { image } } } },
  metadata: { generation: version, managedFields: [{ manager: 'kubectl', time: `t${version}` }] },
  ...more,
})

const replicaSet = (name: string, version: number, counts: number[], more: Partial<Told> = {}): Told => {
  const [wanted, replicas = 0, readyReplicas = 0, generation = 1] = counts
  return {
    ...{ kind: 'ReplicaSet', name, version, of: ['Deployment', 'web'] },
    metadata: { generation },
    rest: {
      spec: { replicas: wanted, template: { spec: { image: '1' } } },
      status: { replicas, readyReplicas },
    },
    ...more,
  }
}

const pod = (
  name: string,
  version: number,
  state: 'new' | 'bound' | 'ready',
  more: Partial<Told> = {},
): Told => ({
  ...{ kind: 'Pod', name, version, of: ['ReplicaSet', 'rs'] },
  rest: {
    spec: state === 'new' ? {} : { nodeName: 'n1' },
    status: { conditions: [{ type: 'Ready', status: state === 'ready' ? 'True' : 'False' }] },
  },
  ...more,
})

const endpoints = (version: number, more: Partial<Told> = {}): Told => ({
  kind: 'Endpoints',
  name: 'web',
  version,
  ...more,
})
const service = (uid: string, version: number, more: Partial<Told> = {}): Told => ({
  ...{ kind: 'Service', name: 'web', uid, version },
  metadata: { managedFields: [{ manager: 'kubectl', time: `t${version}` }] },
  ...more,
})

describe('a status that counts others', () => {
  const begun = [deployment(1, 2), replicaSet('rs', 2, [2]), pod('a', 3, 'new'), pod('b', 4, 'new')]

  test('follows from what made them count so, not from what came since or changed nothing in it', () => {
    const decisions = decided(
      ...begun,
      replicaSet('rs', 5, [2, 2]),
      pod('a', 6, 'bound'),
      pod('a', 7, 'ready'),
      pod('b', 8, 'bound'),
      pod('b', 9, 'ready'),
      replicaSet('rs', 10, [2, 2, 1]),
      replicaSet('rs', 11, [2, 2, 2]),
    )
    expect(readsOf(decisions, 5)).toEqual(['rs@2', 'b@4', 'a@3'])
    expect(readsOf(decisions, 10)).toEqual(['rs@5', 'a@7'])
    expect(readsOf(decisions, 11)).toEqual(['rs@10', 'b@9'])
  })

  test('is inferred, also where nothing that it counts has changed', () => {
    const decisions = decided(...begun, replicaSet('rs', 5, [2, 2]), replicaSet('rs', 6, [3, 2, 0, 2]), {
      ...replicaSet('rs', 7, [3, 2, 0, 2]),
      rest: { spec: { replicas: 3 }, status: { replicas: 2, observedGeneration: 2 } },
    })
    expect(at(decisions, 7)).toMatchObject({ part: 'status', cause: 'inferred' })
  })
})

describe('what an owner makes and changes', () => {
  test('a ReplicaSet that is made again follows from the end of the one before', () => {
    const gone = replicaSet('rs', 4, [1, 1, 1], { type: 'DELETED', metadata: GOING })
    const decisions = decided(
      deployment(1, 1),
      replicaSet('rs', 2, [1]),
      replicaSet('rs', 3, [1, 1, 1]),
      gone,
      replicaSet('rs', 5, [1], { uid: 'another' }),
    )
    expect(readsOf(decisions, 5)).toEqual(['web@1', 'rs@4'])
  })

  test('so does one of the same template and another name', () => {
    const decisions = decided(
      ...[deployment(1, 1), replicaSet('adopted', 2, [1])],
      replicaSet('adopted', 3, [1], { type: 'DELETED', metadata: GOING }),
      replicaSet('rs', 4, [1]),
    )
    expect(readsOf(decisions, 4)).toEqual(['web@1', 'adopted@3'])
  })

  test('one follows from what somebody made of the one before', () => {
    const rest = { spec: { replicas: 1, template: { spec: { image: '2' } } } }
    const by = {
      metadata: {
        managedFields: [{ manager: 'kubectl-edit', operation: 'Update', time: '2026-01-01T00:00:03Z' }],
      },
    }
    const decisions = decided(
      ...[deployment(1, 1), replicaSet('rs', 2, [1])],
      replicaSet('rs', 3, [1], { rest, ...by }),
      replicaSet('other', 4, [1]),
    )
    expect(readsOf(decisions, 4)).toContain('rs@3')
  })

  test('how far all are scaled follows from it too, until somebody changes the owner', () => {
    const rest = { spec: { replicas: 2, template: { spec: { image: '2' } } } }
    const edited = (version: number, replicas: number, by: string): Told =>
      replicaSet('rs', version, [replicas], {
        rest: { spec: { ...rest.spec, replicas } },
        metadata: {
          generation: version,
          managedFields: [
            { manager: 'kubectl-edit', operation: 'Update', time: '2026-01-01T00:00:03Z' },
            ...(by === 'kube-controller-manager'
              ? [{ manager: by, operation: 'Update', time: `2026-01-01T00:00:0${version}Z` }]
              : []),
          ],
        },
      })
    const decisions = decided(
      ...[deployment(1, 2), replicaSet('rs', 2, [2])],
      edited(3, 2, 'kubectl-edit'),
      replicaSet('other', 4, [1]),
      edited(5, 1, 'kube-controller-manager'),
      replicaSet('other', 6, [2], { metadata: { generation: 2 } }),
      edited(7, 0, 'kube-controller-manager'),
    )
    const actedOn = (version: number): (bigint | undefined)[] =>
      at(decisions, version).reads.flatMap(({ identity, actedOn: acted }) =>
        identity.name === 'rs' ? [acted] : [],
      )
    expect([5, 6, 7].map(actedOn)).toEqual([[3n], [3n], [3n]])
    const after = decided(
      ...[deployment(1, 2), replicaSet('rs', 2, [2]), edited(3, 2, 'kubectl-edit')],
      ...[replicaSet('other', 4, [1]), deployment(5, 3)],
      replicaSet('other', 6, [3], { metadata: { generation: 2 } }),
    )
    const scaled = at(after, 6).reads.filter(({ identity }) => identity.name === 'rs')
    expect(scaled.every(({ isPassive }) => isPassive === true)).toBe(true)
  })

  test('one of another template, or made for a later change of its owner, does not', () => {
    const begun = [
      ...[deployment(1, 1), replicaSet('rs', 2, [1])],
      replicaSet('rs', 3, [1], { type: 'DELETED', metadata: GOING }),
    ]
    const rest = { spec: { replicas: 1, template: { spec: { image: '2' } } } }
    expect(readsOf(decided(...begun, replicaSet('other', 4, [1], { rest })), 4)).toEqual(['web@1'])
    const later = decided(...begun, deployment(4, 2), replicaSet('rs', 5, [2], { uid: 'another' }))
    expect(readsOf(later, 5)).toEqual(['web@4'])
  })

  test('how far one ReplicaSet is scaled follows from how far the others have come', () => {
    const decisions = decided(
      deployment(1, 2),
      replicaSet('old', 2, [2]),
      replicaSet('empty', 3, [0]),
      deployment(4, 2, '2'),
      replicaSet('new', 5, [1]),
      replicaSet('new', 6, [1, 1, 1]),
      replicaSet('old', 7, [1, 0, 0, 2]),
    )
    expect(readsOf(decisions, 7)).toEqual(['old@2', 'web@4', 'new@6'])
  })

  test('nobody changes something for an owner that is gone, but to take it away', () => {
    const decisions = decided(
      deployment(1, 2),
      replicaSet('rs', 2, [2]),
      deployment(3, 3),
      deployment(4, 3, '1', { type: 'DELETED' }),
      replicaSet('rs', 5, [3, 0, 0, 2]),
      replicaSet('rs', 6, [3, 0, 0, 2], { type: 'DELETED' }),
    )
    expect(readsOf(decisions, 5)).toEqual(['rs@2', 'web@3'])
    expect(at(decisions, 6).writer.service).toBe('generic-garbage-collector')
    expect(readsOf(decisions, 6)).toEqual(['rs@5', 'web@4'])
  })
})

describe('Endpoints', () => {
  test('go with their Service, also where there is another of its name by then', () => {
    const decisions = decided(
      service('one', 1),
      endpoints(2),
      service('one', 3, { type: 'DELETED' }),
      service('two', 4),
      endpoints(5, { type: 'DELETED' }),
    )
    const [before, ended] = at(decisions, 5).reads
    expect([before?.known.version, ended?.identity.uid, ended?.known.version]).toEqual([2n, 'one', 3n])
  })

  test('do not go with a Service that went before they were written', () => {
    const decisions = decided(
      service('one', 1),
      service('one', 2, { type: 'DELETED' }),
      service('two', 3),
      endpoints(4),
      endpoints(5, { type: 'DELETED' }),
    )
    expect(at(decisions, 5).reads.map(({ known }) => known.version)).not.toContain(2n)
  })
})

describe('who wrote, where only a watch tells', () => {
  const again = (version: number, replicas: number): Told => ({
    ...deployment(version, replicas),
    metadata: { generation: version, managedFields: [{ manager: 'kubectl', time: 'the same second' }] },
  })

  test('an autoscaler scales what it targets, and nothing else', () => {
    const target = { scaleTargetRef: { kind: 'Deployment', name: 'web' } }
    const scaler: Told = { kind: 'HorizontalPodAutoscaler', name: 'web', version: 2, rest: { spec: target } }
    expect(at(decided(again(1, 1), again(3, 2)), 3)).toMatchObject({ cause: 'operator' })
    const nobody = (version: number, replicas: number): Told => ({
      ...deployment(version, replicas),
      metadata: { generation: version, managedFields: [] },
    })
    const scaled = decided(nobody(1, 1), scaler, nobody(3, 2))
    expect(at(scaled, 3).writer.service).toBe('horizontal-pod-autoscaler')
  })

  test('somebody who writes twice within a second is the same, not an autoscaler that writes then too', () => {
    const target = { scaleTargetRef: { kind: 'Deployment', name: 'web' } }
    const scaler: Told = { kind: 'HorizontalPodAutoscaler', name: 'web', version: 2, rest: { spec: target } }
    const by = (version: number, managedFields: object[]): Told => ({
      ...deployment(version, version),
      metadata: { generation: version, managedFields },
    })
    const kubectl = { manager: 'kubectl', time: '2026-11-22T03:01:57Z' }
    const scaling = { manager: 'kube-controller-manager', subresource: 'scale', time: '2026-11-22T03:01:50Z' }
    const decisions = decided(by(1, [kubectl]), scaler, by(3, [scaling, kubectl]), by(4, [scaling, kubectl]))
    expect(at(decisions, 4)).toMatchObject({ writer: { service: 'kubectl' }, cause: 'operator' })
    const both = [kubectl, { ...scaling, time: kubectl.time }]
    const tied = decided(by(1, both), scaler, by(3, both))
    expect(at(tied, 3).writer.service).toBe('horizontal-pod-autoscaler')
  })

  test('a Pod goes at the hand of its ReplicaSet where there are more than that wants', () => {
    const begun = [deployment(1, 2), replicaSet('rs', 2, [2]), pod('a', 3, 'new'), pod('b', 4, 'new')]
    const going = pod('a', 6, 'new', { metadata: GOING })
    const scaled = replicaSet('rs', 5, [1, 0, 0, 2])
    expect(at(decided(...begun, scaled, going), 6).writer.service).toBe('replicaset-controller')
    expect(at(decided(...begun, going), 6)).toMatchObject({ cause: 'operator' })
  })
})
