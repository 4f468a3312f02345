import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { cpid } from '../support/otlp-requests.ts'

const START = Date.UTC(2026, 0, 1)
const CHANGE = cpid(1)

interface Seen {
  /** What it carries as its CPID. */
  said?: string
  replicas?: number
  others?: JsonObject
  ready?: number
  gone?: boolean
}

/** The versions of a Deployment that kubectl wrote and its controller told the status of, and what is decided of each. */
function decided(...versions: Seen[]): { cpid: string; part: string }[] {
  const told: Observation[] = versions.map(({ said, replicas = 1, others, ready = 0, gone = false }, at) => {
    const annotations: JsonObject = { ...others, ...(said !== undefined && { 'causeway.io/cpid': said }) }
    const time = `2026-01-01T00:00:${String(at).padStart(2, '0')}Z`
    const isStatus = at > 0 && ready !== (versions[at - 1]?.ready ?? 0)
    const managedFields = isStatus
      ? [{ manager: 'kube-controller-manager', operation: 'Update', subresource: 'status', time }]
      : [{ manager: 'kubectl', operation: 'Update', time }]
    const metadata: JsonObject = {
      ...{ name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: String(at + 1), managedFields },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    }
    const object = {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata,
      spec: { replicas },
      status: { ready },
    }
    const type = gone ? 'DELETED' : at === 0 ? 'ADDED' : 'MODIFIED'
    const read = readWatchEvent({ type, object }, BigInt(START + at * 1_000) * 1_000_000n)
    if (typeof read === 'string') throw new Error(read)
    return read
  })
  return replay(told, ['watch']).decisions.map(({ cpid: of, part }) => ({ cpid: of, part }))
}

test('a deletion is of the change that the object was given for it', () => {
  const [, , deletion] = decided({}, { said: CHANGE }, { said: CHANGE, gone: true })
  expect(deletion).toEqual({ cpid: CHANGE, part: 'deletion' })
})

test('a scaling is, too, though a controller told the status meanwhile', () => {
  const [, , , scaling] = decided(
    { others: { a: 'b' } },
    { others: { a: 'b' }, said: CHANGE },
    { others: { a: 'b' }, said: CHANGE, ready: 1 },
    { others: { a: 'b' }, said: CHANGE, ready: 1, replicas: 2 },
  )
  expect(scaling).toEqual({ cpid: CHANGE, part: 'authored' })
})

test.each<[string, Seen[]]>([
  ['that was made with the CPID', [{ said: CHANGE }]],
  ['that was changed along with its CPID', [{}, { said: CHANGE, replicas: 2 }]],
  ['that was given the CPID for what came before', [{}, { said: CHANGE }, { said: CHANGE, replicas: 2 }]],
  ['whose other annotations changed along with it', [{}, { said: CHANGE, others: { a: 'b' } }]],
])('whoever deletes an object %s begins a change', (_, versions) => {
  const last = versions.at(-1) ?? {}
  const deletion = decided(...versions, { ...last, gone: true }).at(-1)
  expect(deletion?.part).toBe('deletion')
  expect(deletion?.cpid).not.toBe(CHANGE)
})

test('a further write of a change says that it is one, and so is a deletion for which nothing but that was written', () => {
  const again = (write: string): Seen => ({ said: CHANGE, others: { 'causeway.io/write': write } })
  const [, told, left, deletion] = decided(
    { said: CHANGE },
    { ...again('s 2'), replicas: 2 },
    { ...again('s 2'), replicas: 3 },
    { ...again('s 2'), replicas: 3, gone: true },
  )
  expect(told).toEqual({ cpid: CHANGE, part: 'authored' })
  expect(left?.cpid).not.toBe(CHANGE)
  expect(deletion?.cpid).not.toBe(CHANGE)
  const [, , announced, gone] = decided(
    { said: CHANGE },
    { ...again('s 2'), replicas: 2 },
    { ...again('s 3'), replicas: 2 },
    { ...again('s 3'), replicas: 2, gone: true },
  )
  expect([announced?.cpid, gone?.cpid]).toEqual([CHANGE, CHANGE])
})
