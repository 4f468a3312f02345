import { expect, test } from '@jest/globals'
import { decidedByWatch, type SignedBy } from '../../lab/harness/inference/signed-writes.ts'

/** Who wrote the last of these, whether that began a change, and what it follows from beside its own object. */
function lastOf(...told: SignedBy[]): unknown[] {
  const last = decidedByWatch(...told).at(-1)
  const read = (last?.reads ?? []).filter(({ identity }) => identity.uid !== last?.write.object.uid)
  return [last?.writer.service, last?.cause, ...read.map(({ identity }) => identity.name)]
}

/** Programs of this name reconcile a Stall. */
const reconciles = (name: string): SignedBy[] => [
  [5, 'kubectl', { kind: 'Stall', name: 'toys', meta: { generation: 1 } }],
  [6, name, { kind: 'Stall', name: 'toys', subresource: 'status', rest: { status: { ready: 1 } } }],
]
const web = (second: number, by: string, generation: number, more = {}): SignedBy => {
  const template = { spec: { containers: [{ name: 'c', image: `i:${generation}`, ...more }] } }
  return [second, by, { kind: 'Deployment', name: 'web', meta: { generation }, rest: { spec: { template } } }]
}
const map = (second: number, name: string, a: string): SignedBy => [
  second,
  'kubectl',
  { kind: 'ConfigMap', name, rest: { data: { a } } },
]

test.each(['manager', 'unknown', 'Go-http-client'])(
  'of programs that are all called %s, what one writes for nothing that they reconcile follows from what a person has just changed',
  (name) => {
    const known = [...reconciles(name), web(10, 'kubectl', 1)]
    const service = name === 'unknown' ? 'unnamed' : name
    expect(lastOf(...known, map(30, 'mesh', '1'), web(31, name, 2))).toEqual([service, 'inferred', 'mesh'])
    const later = [map(30, 'mesh', '1'), map(31, 'other', '2'), web(32, name, 2)]
    expect(lastOf(...known, ...later)).toEqual([service, 'inferred', 'other'])
    expect(lastOf(...known, map(30, 'mesh', '1'), web(60, name, 2))).toEqual([service, 'inferred'])
  },
)

test('of programs that share a name, one follows a namespace or settings that have just changed', () => {
  const envFrom = [{ configMapRef: { name: 'load' } }]
  const known = [...reconciles('manager'), map(9, 'load', '1'), web(10, 'kubectl', 1, { envFrom })]
  const labelled: SignedBy = [
    30,
    'kubectl',
    { kind: 'Namespace', name: 'shop', meta: { labels: { mesh: 'on' } } },
  ]
  expect(lastOf(...known, labelled, web(31, 'manager', 2))).toEqual(['manager', 'inferred', 'shop'])
  const both = [map(30, 'load', '2'), map(30, 'other', '1'), web(31, 'manager', 2, { envFrom })]
  expect(lastOf(...known, ...both)).toEqual(['manager', 'inferred', 'load'])
})

test('what such a program writes for what it reconciles does not follow from its neighbours', () => {
  const ownerReferences = [{ kind: 'Stall', name: 'toys', uid: 'uid of toys', controller: true }]
  const part = (second: number, a: string): SignedBy => [
    second,
    'manager',
    { kind: 'Secret', name: 'toys-key', meta: { ownerReferences }, rest: { data: { a } } },
  ]
  const following = lastOf(...reconciles('manager'), part(7, 'YQ=='), map(30, 'mesh', '1'), part(31, 'Yg=='))
  expect(following).not.toContain('mesh')
})
