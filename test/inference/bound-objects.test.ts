import { expect, test } from '@jest/globals'
import { read, type Write } from '../../lab/harness/inference/told-with-audit.ts'

/** Its controller has written a status of each. */
const stated = (second: number) => [
  { manager: 'disk-binder', operation: 'Update', subresource: 'status', time: `2026-01-01T00:00:${second}Z` },
]
const disk = (second: number, by: string, spec: object, more: Partial<Write> = {}): Write => ({
  ...{ kind: 'Disk', name: 'large', namespace: '', second, by },
  meta: { generation: second, managedFields: stated(11) },
  rest: { spec: { size: 30, ...spec } },
  ...more,
})
const claim = (second: number, by: string, spec: object, more: Partial<Write> = {}): Write => ({
  ...{ kind: 'DiskClaim', name: 'logs', second, by },
  meta: { generation: second, managedFields: stated(21) },
  rest: { spec: { size: 20, ...spec } },
  ...more,
})
const REF = { claimRef: { namespace: 'shop', name: 'logs', uid: 'uid of logs' } }
const FREE: readonly Write[] = [
  disk(10, '@alice', {}, { type: 'ADDED' }),
  disk(
    11,
    'disk-binder',
    {},
    { subresource: 'status', rest: { spec: { size: 30 }, status: { phase: 'Free' } } },
  ),
  claim(20, '@bob', {}, { type: 'ADDED' }),
]

test('a claim of its own API group is what the new reference of a cluster-scoped object follows from', () => {
  expect(read(...FREE, disk(21, 'disk-binder', REF))).toContainEqual(['logs', 20, 'spec.claimRef.name'])
})

test('an object without a namespace is found by what names it, and the claim by a reference that is taken away', () => {
  const bound = [
    ...FREE,
    disk(21, 'disk-binder', REF),
    claim(22, 'disk-binder', { diskName: 'large' }),
    claim(30, '@carol', { diskName: 'large', size: 25 }),
  ]
  const status = { rest: { spec: { size: 30, ...REF }, status: { used: 25 } }, subresource: 'status' }
  expect(read(...bound, disk(31, 'disk-binder', REF, status))).toContainEqual(['logs', 30, 'spec.diskName'])
  const gone = claim(40, '@bob', {}, { type: 'DELETED' })
  expect(read(...bound.slice(0, 4), gone, disk(41, 'disk-binder', {}))).toContainEqual([
    ...['logs', 40, 'spec.claimRef.name'],
  ])
})

test('a cluster-scoped object that names nothing follows from what names it', () => {
  const named = [
    ...FREE.slice(0, 2),
    claim(20, '@bob', { diskName: 'large' }, { type: 'ADDED' }),
    claim(
      21,
      'disk-binder',
      {},
      { subresource: 'status', rest: { spec: { diskName: 'large' }, status: { phase: 'Bound' } } },
    ),
    claim(30, '@carol', { diskName: 'large', size: 25 }),
  ]
  const status = { rest: { spec: { size: 30 }, status: { used: 25 } }, subresource: 'status' }
  expect(read(...named, disk(31, 'disk-binder', {}, status))).toContainEqual(['logs', 30, 'spec.diskName'])
})
