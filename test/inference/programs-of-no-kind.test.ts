import { expect, test } from '@jest/globals'
import { decidedByWatch, type SignedBy } from '../../lab/harness/inference/signed-writes.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

/** Who wrote the last of these, whether that began a change, and what it follows from. */
function lastOf(...told: SignedBy[]): unknown[] {
  const { writer, cause, reads = [] } = decidedByWatch(...told).at(-1) ?? {}
  return [writer?.service, cause, ...reads.map(({ identity }) => identity.name)]
}
const PERSON = ['unknown', 'operator']

test.each(['reloader', 'manager', 'Go-http-client', 'unknown'])(
  'what %s rolls out some seconds after its settings changed follows from them, whatever its status said meanwhile',
  (by) => {
    const envFrom = [{ configMapRef: { name: 'load' } }]
    const web = (second: number, who: string, generation: number, ready?: number): SignedBy => {
      const template = {
        metadata: { annotations: { at: `${generation}` } },
        spec: { containers: [{ envFrom }] },
      }
      const status = ready === undefined ? {} : { status: { readyReplicas: ready } }
      const subresource = ready === undefined ? '' : 'status'
      const meta = { generation }
      return [
        ...([second, who] as const),
        { kind: 'Deployment', name: 'web', meta, subresource, rest: { spec: { template }, ...status } },
      ]
    }
    const load = (second: number, a: string): SignedBy => [
      ...([second, 'kubectl'] as const),
      { kind: 'ConfigMap', name: 'load', rest: { data: { a } } },
    ]
    const all = (second: number): SignedBy[] => [
      ...[load(4, '1'), web(5, 'kubectl', 1), load(30, '2'), web(32, 'kube-controller-manager', 1, 1)],
      web(second, by, 2, undefined),
    ]
    const service = by === 'unknown' ? 'unnamed' : by
    expect(lastOf(...all(37))).toEqual([service, 'inferred', 'web', 'load'])
    expect(lastOf(...all(45)).slice(0, 2)).toEqual([service, 'operator'])
  },
)

const pod = (second: number, by: string, more: JsonObject = {}, type?: 'DELETED'): SignedBy => [
  ...([second, by] as const),
  {
    ...{ kind: 'Pod', name: 'db-0', ...(type && { type }), meta: { generation: 1, ...more } },
    rest: {
      spec: { containers: [{ name: 'c' }] },
      status: { phase: 'Running', podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'True' }] },
    },
  },
]

test('what a program has just marked it deletes, and what people have marked they delete', () => {
  const marked = { annotations: { 'trade.example.com/renew': 'yes' } }
  const told = (by: string, second: number): unknown[] =>
    lastOf(pod(5, 'kubelet'), pod(30.2, by, marked), pod(second, '', marked, 'DELETED'))
  expect(told('renewer', 30.3)).toEqual(['renewer', 'inferred', 'db-0'])
  expect(told('renewer', 40).slice(0, 2)).toEqual(PERSON)
  expect(told('kubectl', 30.3).slice(0, 2)).toEqual(PERSON)
  expect(lastOf(pod(30.2, 'renewer'), pod(30.3, '', {}, 'DELETED')).slice(0, 2)).toEqual(PERSON)
})

test('a program that notes again and again in a Pod what it does there is no person', () => {
  const noted = (role: string): JsonObject => ({ labels: { role } })
  const told = (...by: string[]): unknown[] =>
    lastOf(pod(5, 'kubelet'), ...by.map((one, at) => pod(30 + 10 * at, one, noted(`r${at}`)))).slice(0, 2)
  expect(told('Patroni')).toEqual(['Patroni', 'operator'])
  expect(told('Patroni', 'Patroni')).toEqual(['Patroni', 'inferred'])
  expect(told('Patroni', 'deployer')).toEqual(['deployer', 'operator'])
  expect(told('kubectl', 'kubectl')).toEqual(['kubectl', 'operator'])
})

test('where no managedFields are kept, what an object owns is made by the program that reconciles it', () => {
  const ownerReferences = [{ kind: 'Stall', name: 'toys', uid: 'uid of toys', controller: true }]
  const stall: SignedBy[] = [
    [5, 'kubectl', { kind: 'Stall', name: 'toys' }],
    [6, 'stall-program', { kind: 'Stall', name: 'toys', subresource: 'status', rest: { status: { a: 1 } } }],
  ]
  const part: SignedBy = [7, '', { kind: 'ConfigMap', name: 'part', meta: { ownerReferences } }]
  expect(lastOf(...stall, part)).toEqual(['stall-program', 'inferred', 'toys'])
})
