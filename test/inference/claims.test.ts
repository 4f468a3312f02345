import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'

interface Told {
  kind: string
  name: string
  version: number
  by?: string
  annotations?: object
  spec?: object
  status?: object
}

const KCM = 'kube-controller-manager'

/** What a watch alone shows of these. */
function decided(...all: Told[]): readonly Decision[] {
  const observations = all.map(
    ({ kind, name, version, by = 'kubectl', annotations = {}, spec = {}, status = {} }) => {
      const metadata = {
        ...{ name, uid: `${kind} ${name}`, resourceVersion: String(version), annotations },
        ...(kind !== 'PersistentVolume' && { namespace: 'shop' }),
        managedFields: [{ manager: by, time: `t${version}` }],
      }
      const apiVersion = kind === 'StatefulSet' ? 'apps/v1' : 'v1'
      const event = { type: 'MODIFIED', object: { apiVersion, kind, metadata, spec, status } }
      const read = readWatchEvent(event as unknown as JsonObject, BigInt(version))
      if (typeof read === 'string') throw new Error(read)
      return read
    },
  )
  return replay(observations, ['watch']).decisions
}

const readsOf = (decisions: readonly Decision[], version: number): string[] =>
  decisions
    .find(({ write }) => write.version === BigInt(version))!
    .reads.map(({ identity, known }) => `${identity.name}@${known.version}`)

const writerOf = (decisions: readonly Decision[], version: number): string | undefined =>
  decisions.find(({ write }) => write.version === BigInt(version))?.writer.service

const set = (name: string, version: number, claims: string): Told => ({
  ...{ kind: 'StatefulSet', name, version },
  spec: { volumeClaimTemplates: [{ metadata: { name: 'logs' } }, { metadata: { name: claims } }] },
})
const claim = (name: string, version: number, by = KCM): Told => ({
  ...{ kind: 'PersistentVolumeClaim', name, version, by },
})
const volume = (version: number, more: Partial<Told>): Told => ({
  ...{ kind: 'PersistentVolume', name: 'pv', version, ...more },
})

test('the claims of its Pods follow from a StatefulSet, by their name', () => {
  const decisions = decided(
    set('db', 1, 'data'),
    set('big-db', 2, 'data'),
    claim('data-big-db-0', 3),
    claim('data-db-10', 4),
  )
  expect(readsOf(decisions, 3)).toEqual(['big-db@2'])
  expect(readsOf(decisions, 4)).toEqual(['db@1'])
  expect(writerOf(decisions, 4)).toBe('statefulset-controller')
  expect(decisions.filter(({ cause }) => cause === 'operator')).toHaveLength(2)
})

test('a claim that somebody makes by hand follows from nothing, whatever its name', () => {
  const decisions = decided(
    set('db', 1, 'data'),
    claim('data-db-0', 2, 'kubectl'),
    claim('data', 3, 'kubectl'),
  )
  expect(decisions.map(({ cause }) => cause)).toEqual(['operator', 'operator', 'operator'])
})

test('a volume that is given to a claim follows from the claim, though that is older than what was written of the volume', () => {
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'data' }
  const decisions = decided(
    claim('data', 1, 'kubectl'),
    volume(2, {}),
    volume(3, { by: KCM, status: { phase: 'Available' } }),
    volume(4, { by: KCM, spec: { claimRef }, status: { phase: 'Available' } }),
    volume(5, { by: KCM, spec: { claimRef }, status: { phase: 'Bound' } }),
  )
  expect(readsOf(decisions, 4)).toEqual(['pv@3', 'data@1'])
  expect(readsOf(decisions, 5)).toEqual(['pv@4'])
  expect([3, 4, 5].map((version) => writerOf(decisions, version))).toEqual(
    Array.from({ length: 3 }, () => 'persistent-volume-binder'),
  )
})

test('a claim is noted to be for a node because of the Pod that uses it', () => {
  const using = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }
  const noted = claim('data', 3, 'kube-scheduler')
  const decisions = decided(
    claim('data', 1, 'kubectl'),
    { kind: 'Pod', name: 'db', version: 2, spec: using },
    { ...noted, annotations: { 'volume.kubernetes.io/selected-node': 'n1' } },
  )
  expect(readsOf(decisions, 3)).toEqual(['data@1', 'db@2'])
})
