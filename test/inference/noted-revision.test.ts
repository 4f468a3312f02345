import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)

/** A version of a Deployment. An entry of managedFields keeps its time while its manager writes the same fields. */
function version(at: number, image: string, revision: string): Observation {
  const managedFields = [
    { manager: 'kube-controller-manager', operation: 'Update', time: '2026-01-01T00:00:01Z' },
    { manager: 'kubectl-set', operation: 'Update', time: `2026-01-01T00:00:0${at === 1 ? 1 : 5}Z` },
  ]
  const metadata: JsonObject = {
    ...{ name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: String(at), managedFields },
    annotations: { 'deployment.kubernetes.io/revision': revision },
  }
  const template = { spec: { containers: [{ name: 'web', image }] } }
  const object = { kind: 'Deployment', apiVersion: 'apps/v1', metadata, spec: { replicas: 3, template } }
  const read = readWatchEvent(
    { type: at === 1 ? 'ADDED' : 'MODIFIED', object },
    BigInt(START + at) * 1_000_000n,
  )
  if (typeof read === 'string') throw new Error(read)
  return read
}

test('with a watch alone, who changed a template within a second has not written the revision that is noted of it', () => {
  const told = [version(1, 'web:1', '1'), version(2, 'web:2', '1'), version(3, 'web:2', '2')]
  const { decisions } = replay(told, ['watch'])
  expect(decisions.slice(1).map(({ writer }) => writer.service)).toEqual(['kubectl', 'deployment-controller'])
})
