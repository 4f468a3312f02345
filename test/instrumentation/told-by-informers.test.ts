import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import {
  byKubectl,
  byOperator,
  CPID,
  informed,
  marked,
  rootOf,
  told,
  version,
  type Version,
} from './support/informed.ts'
import { startSdk } from './support/start-sdk.ts'

test('a change by somebody without CPID begins a root, the one that Causeway gives it, told once', async () => {
  await using sdk = startSdk()
  const { plain, contextOf } = informed()
  const first = plain.tell('add', version('5', { ...marked, managedFields: [byOperator(1)] }))
  expect(contextOf(first)).toBe(cpid(1))
  // The field that kubectl wrote is the operator's no more.
  const [{ fieldsV1, ...operator }] = [byOperator(1)]
  const without = { ...operator, fieldsV1: { ...fieldsV1, 'f:spec': {} } }
  const patched = plain.tell(
    'update',
    version('6', { ...marked, generation: 2, managedFields: [without, byKubectl(2)] }),
  )
  expect(told(sdk)).toEqual([])
  expect([contextOf(patched), contextOf(patched)]).toEqual([rootOf('6'), rootOf('6')])
  expect(told(sdk)).toEqual([rootOf('6')])
  expect(sdk.records()[0]?.attributes).toMatchObject({
    'cpid.sources': [],
    'cpid.object': 'apps/v1/deployments/web?uid=u1&rv=6',
    'cpid.reason': 'unattributed writer',
  })
  expect(sdk.spans()).toMatchObject([
    {
      name: 'write apps/v1/deployments',
      attributes: { 'cpid.id': rootOf('6'), 'cpid.wrote': ['apps/v1/deployments/web?uid=u1&rv=6'] },
    },
  ])
  // Its status follows from it.
  const status = plain.tell(
    'update',
    version('7', { ...marked, generation: 2, managedFields: [byOperator(1), byKubectl(2)] }),
  )
  expect(contextOf(status)).toBe(rootOf('6'))
  const other = {
    annotations: { [CPID]: cpid(2) },
    generation: 3,
    managedFields: [byOperator(3), byKubectl(2)],
  }
  expect(contextOf(plain.tell('update', version('8', other)))).toBe(cpid(2))
  expect(contextOf(first)).toBe(cpid(1))
})

test('an object that a reconcile looked at and did nothing about is told of by nobody', async () => {
  await using sdk = startSdk()
  const { plain, traced, cluster } = informed()
  plain.tell('add', version('5'))
  const reconcile = cluster.reconciler('reconcile', async (key: string) => void traced.get(key))
  expect(reconcile.wokenBy('web', plain.get('web'))).toBe('web')
  await reconcile('web')
  expect([...sdk.spans(), ...sdk.records()]).toEqual([])
  const failing = cluster.reconciler('reconcile', async (key: string) => {
    traced.get(key)
    throw new Error('no')
  })
  await expect(failing('web')).rejects.toThrow('no')
  expect(told(sdk)).toEqual([rootOf('5')])
  expect(sdk.spans()).toMatchObject([
    { name: 'write apps/v1/deployments' },
    { status: { code: 2 }, attributes: { 'cpid.id': rootOf('5') } },
  ])
})

test('a change that another descends from is not told anew by an operator that starts again', async () => {
  await using sdk = startSdk()
  const { plain, traced, cluster, instrumentation } = informed()
  plain.tell('add', version('5'))
  const annotations = { [CPID]: cpid(2), 'causeway.io/ancestor-cpids': rootOf('5') }
  plain.tell('add', version('6', { name: 'made', uid: 'u2', annotations }))
  const reconcile = cluster.reconciler('reconcile', async (key: string) => {
    for (const name of key.split(' ')) traced.get(name)
    return Promise.reject(new Error('no'))
  })
  await expect(reconcile('web made')).rejects.toThrow('no')
  expect(told(sdk)).toEqual([])
  await expect(reconcile('web')).rejects.toThrow('no')
  expect(told(sdk)).toEqual([rootOf('5')])
  expect(instrumentation.losses).toBe(0)
})

test('whoever wrote the CPID may write again for the same change', () => {
  const { plain, contextOf } = informed()
  plain.tell('add', version('5', { ...marked, managedFields: [byOperator(1), byKubectl(0)] }))
  const again = { ...marked, generation: 2, managedFields: [byOperator(2), byKubectl(0)] }
  expect(contextOf(plain.tell('update', version('6', again)))).toBe(cpid(1))
  // Within the same second nothing tells the entries apart; the last to write was the operator.
  expect(contextOf(plain.tell('update', version('7', { ...again, generation: 3 })))).toBe(cpid(1))
})

test('what was written while nobody looked is recognised by who wrote last', () => {
  const { plain, contextOf } = informed()
  const found = plain.tell('add', version('9', { ...marked, managedFields: [byOperator(1), byKubectl(2)] }))
  expect(contextOf(found)).toBe(rootOf('9'))
  const owned = { ownerReferences: [{ uid: 'x', controller: true }] }
  expect(contextOf(plain.tell('add', version('9', { uid: 'u2', ...owned })))).toBeUndefined()
  expect(contextOf(plain.tell('add', version('9', { uid: 'u3' })))).toBe(rootOf('9', 'u3'))
})

test('objects that count no generations are compared by what they hold', () => {
  const { plain, contextOf } = informed()
  const settings = (resourceVersion: string, image: string, labels = {}) =>
    ({
      metadata: { name: 's', uid: 'u4', resourceVersion, labels, ...marked },
      data: { image },
    }) as unknown as Version
  plain.tell('add', settings('1', 'web:1'))
  expect(contextOf(plain.tell('update', settings('2', 'web:1', { of: 'a' })))).toBe(cpid(1))
  expect(contextOf(plain.tell('update', settings('3', 'web:2')))).toBe(rootOf('3', 'u4'))
})

test('what this process wrote is of its change, whatever the object says', () => {
  const { plain, contextOf, instrumentation } = informed()
  plain.tell('add', version('5', { ...marked, managedFields: [byOperator(1)] }))
  const scaled = version('6', { ...marked, generation: 2, managedFields: [byOperator(1), byKubectl(2)] })
  instrumentation.accepted({ cpid: cpid(7), ancestors: [] }, scaled)
  expect(contextOf(plain.tell('update', scaled))).toBe(cpid(7))
})

test('a deletion is of whoever marked it; what its owner takes along is too; any other begins a root', async () => {
  await using sdk = startSdk()
  const { plain, contextOf, instrumentation } = informed()
  plain.tell('add', version('5', marked))
  const mark = { annotations: { [CPID]: cpid(2) } }
  plain.tell('update', version('6', mark))
  // A Deployment's status says that its controller saw the mark.
  plain.tell('update', version('7', mark))
  expect(contextOf(plain.tell('delete', version('8', mark)))).toBe(cpid(2))

  const parent = version('8', { uid: 'p', name: 'parent', ...marked })
  plain.tell('add', parent)
  const change = instrumentation.beginDeletion(parent)
  const child = (resourceVersion: string) =>
    version(resourceVersion, {
      uid: 'c',
      name: 'child',
      ...marked,
      ownerReferences: [{ uid: 'p', controller: true }],
    })
  plain.tell('add', child('9'))
  plain.tell('delete', { ...parent, metadata: { ...parent.metadata, resourceVersion: '10' } })
  expect(contextOf(plain.tell('delete', child('11')))).toBe(change.cpid)

  const deletion = (): unknown => sdk.spans().at(-1)
  plain.tell('add', version('12', { uid: 'd', name: 'other', ...marked }))
  expect(contextOf(plain.tell('delete', version('13', { uid: 'd', name: 'other', ...marked })))).toBe(
    rootOf('13', 'd'),
  )
  expect(deletion()).toMatchObject({
    name: 'delete apps/v1/deployments',
    attributes: { 'cpid.wrote': ['apps/v1/deployments/other?uid=d&rv=13'] },
  })
})

test('a write that has no place for a mark is of the mark just before it, as where kubectl scales; the next is not', () => {
  const { plain, contextOf, wait } = informed()
  const at = (resourceVersion: string, replicas: number, mark: number, second: number): Version => ({
    // Deployments count a generation for each change of their annotations too.
    ...version(resourceVersion, {
      annotations: { [CPID]: cpid(mark) },
      generation: replicas * 10 + mark,
      managedFields: [byOperator(1), byKubectl(second)],
    }),
    spec: { replicas },
  })
  plain.tell('add', { ...version('5', { managedFields: [byKubectl(1)] }), spec: { replicas: 1 } })
  expect(contextOf(plain.tell('update', at('6', 1, 2, 2)))).toBe(cpid(2))
  // Somebody writes its status in between.
  plain.tell('update', at('7', 1, 2, 2))
  expect(contextOf(plain.tell('update', at('8', 2, 2, 3)))).toBe(cpid(2))
  expect(contextOf(plain.tell('update', at('9', 3, 2, 4)))).toBe(rootOf('9'))

  plain.tell('update', at('10', 3, 3, 5))
  wait(10_001)
  expect(contextOf(plain.tell('update', at('11', 4, 3, 6)))).toBe(rootOf('11'))
})

test('a deletion that waits for a finalizer begins where somebody asked for it', async () => {
  await using sdk = startSdk()
  const { plain, contextOf } = informed()
  const going = { ...marked, deletionTimestamp: '2026-01-01T00:00:05Z', managedFields: [byOperator(1)] }
  plain.tell('add', version('5', { ...marked, managedFields: [byOperator(1)] }))
  expect(contextOf(plain.tell('update', version('6', { ...going, generation: 2 })))).toBe(rootOf('6'))
  expect(sdk.spans()).toMatchObject([{ name: 'delete apps/v1/deployments' }])
  // Whoever waits takes the finalizer away; then it goes.
  expect(contextOf(plain.tell('update', version('7', { ...going, generation: 3 })))).toBe(rootOf('6'))
  expect(contextOf(plain.tell('delete', version('8', { ...going, generation: 3 })))).toBe(rootOf('6'))
  expect(told(sdk)).toEqual([rootOf('6')])
})

test('what goes with its namespace goes because of whoever deleted that, which is told once', async () => {
  await using sdk = startSdk()
  const { plain, contextOf, follow } = informed()
  const namespaces = follow('Namespace')
  const ending = { name: 'shop', uid: 'n', deletionTimestamp: '2026-01-01T00:00:05Z' }
  const inShop = { ...marked, namespace: 'shop', managedFields: [byOperator(1)] }
  namespaces.tell('add', version('4', { name: 'shop', uid: 'n' }))
  plain.tell('add', version('5', inShop))
  plain.tell('add', version('6', { ...inShop, name: 'api', uid: 'u2' }))
  namespaces.tell('update', version('7', ending))
  namespaces.tell('update', version('9', ending))
  const going = { ...inShop, deletionTimestamp: '2026-01-01T00:00:10Z' }
  expect(contextOf(plain.tell('update', version('10', { ...going, generation: 2 })))).toBe(rootOf('7', 'n'))
  expect(contextOf(plain.tell('delete', version('11', { ...inShop, name: 'api', uid: 'u2' })))).toBe(
    rootOf('7', 'n'),
  )
  namespaces.tell('delete', version('12', ending))
  expect(told(sdk)).toEqual([rootOf('7', 'n')])
  expect(sdk.spans()).toMatchObject([
    { name: 'delete v1/namespaces', attributes: { 'cpid.wrote': ['v1/namespaces/shop?uid=n&rv=7'] } },
  ])

  // Another one of its name does not end, and in others each goes for a reason of its own.
  namespaces.tell('add', version('20', { name: 'shop', uid: 'm' }))
  const [again, elsewhere] = ['shop', 'other'].map((namespace) => {
    plain.tell('add', version('21', { ...inShop, namespace, uid: `in ${namespace}` }))
    return contextOf(plain.tell('delete', version('22', { ...inShop, namespace, uid: `in ${namespace}` })))
  })
  expect([again, elsewhere]).toEqual([rootOf('22', 'in shop'), rootOf('22', 'in other')])
})

test('where a namespace is deleted that somebody marked, what is in it is of the mark; a mark of its own counts more', () => {
  const { plain, contextOf, follow } = informed()
  const namespaces = follow('Namespace')
  const shop = { name: 'shop', uid: 'n', annotations: { [CPID]: cpid(3) } }
  namespaces.tell('add', version('4', { name: 'shop', uid: 'n' }))
  const objects = ['one', 'two'].map((name) => ({ ...marked, namespace: 'shop', name, uid: name }))
  const [one = {}, two = {}] = objects
  for (const each of objects) plain.tell('add', version('5', each))
  namespaces.tell('update', version('6', shop))
  namespaces.tell('update', version('7', { ...shop, deletionTimestamp: '2026-01-01T00:00:05Z' }))
  expect(contextOf(plain.tell('delete', version('8', one)))).toBe(cpid(3))
  const annotations = { [CPID]: cpid(4) }
  plain.tell('update', version('9', { ...two, annotations }))
  expect(contextOf(plain.tell('delete', version('10', { ...two, annotations })))).toBe(cpid(4))
  // Whoever starts anew sees it end.
  const later = informed()
  const ended = later.follow('Namespace')
  ended.tell('add', version('7', { name: 'shop', uid: 'n', deletionTimestamp: '2026-01-01T00:00:05Z' }))
  later.plain.tell('add', version('8', one))
  expect(later.contextOf(later.plain.tell('delete', version('9', one)))).toBe(rootOf('7', 'n'))
})

test('what an instrumented controller made, and somebody deletes, goes for a reason of its own; copies go with their maker', () => {
  const { plain, contextOf } = informed()
  const owned = { ownerReferences: [{ uid: 'x', controller: true }], ...marked }
  plain.tell('add', version('5', { ...owned, managedFields: [byOperator(1)] }))
  expect(contextOf(plain.tell('delete', version('6', owned)))).toBe(rootOf('6'))
  const copied = { ...byOperator(1), manager: 'kube-controller-manager' }
  plain.tell('add', version('7', { ...owned, uid: 'rs', managedFields: [copied] }))
  expect(contextOf(plain.tell('delete', version('8', { ...owned, uid: 'rs' })))).toBe(cpid(1))
})

test('what a list leaves out of its items is filled in', () => {
  const { plain, traced } = informed()
  plain.tell('add', version('5'))
  expect(traced.get('web')).toMatchObject({ apiVersion: 'apps/v1', kind: 'Deployment' })
})
