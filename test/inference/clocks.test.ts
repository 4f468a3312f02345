import { expect, test } from '@jest/globals'
import { API, decided, read, type Write } from '../../lab/harness/inference/told-with-audit.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'

const FEED = 'price-feed'
const stated = (manager: string) => [
  { manager, operation: 'Update', subresource: 'status', time: '2026-01-01T00:00:11Z' },
]
const price = (second: number, by: string, value: string | undefined, more: Partial<Write> = {}): Write => ({
  ...{ kind: 'Price', name: 'tea', second, by },
  meta: { generation: 1, managedFields: stated(FEED) },
  rest: { spec: {}, ...(value !== undefined && { status: { value } }) },
  ...(value !== undefined && { subresource: 'status' }),
  ...more,
})
const FED: readonly Write[] = [
  price(10, '@alice', undefined, { type: 'ADDED' }),
  price(11, FEED, '100'),
  price(20, FEED, '101'),
]
const saysOf = (decisions: readonly Decision[]): string[] =>
  decisions.map(({ cause, self }) => self?.reason ?? cause)

test('what a controller writes though nothing has changed begins a change of its own, until somebody changes something', () => {
  const labelled = { meta: { generation: 2, managedFields: stated(FEED) }, rest: { spec: { fine: true } } }
  const decisions = decided(
    ...FED,
    price(30, '@bob', undefined, { ...labelled, rest: { ...labelled.rest, status: { value: '101' } } }),
    price(31, FEED, '102', { ...labelled, rest: { ...labelled.rest, status: { value: '102' } } }),
    price(40, FEED, '103', { ...labelled, rest: { ...labelled.rest, status: { value: '103' } } }),
  )
  expect(saysOf(decisions)).toEqual(['operator', 'inferred', 'schedule', 'operator', 'inferred', 'schedule'])
  expect(decisions[2]?.self?.setUp).toMatchObject({ identity: { name: 'tea' } })
})

test('what others do after such a write follows from it', () => {
  const shop = { kind: 'Shop', name: 'books', rest: { spec: { priceRef: { name: 'tea' } } } }
  const meta = { generation: 1, finalizers: ['a.example.com/b'] }
  const web = {
    ...{ kind: 'ConfigMap', name: 'prices' },
    meta: { ownerReferences: [{ apiVersion: API, kind: 'Shop', name: 'books', uid: 'uid of books' }] },
  }
  const writes: Write[] = [
    ...FED,
    { ...shop, type: 'ADDED', meta: { generation: 1 }, second: 22, by: '@bob' },
    { ...shop, meta, second: 23, by: 'shop-operator' },
    { ...web, type: 'ADDED', rest: { data: { tea: '101' } }, second: 24, by: 'shop-operator' },
    price(30, FEED, '102'),
    { ...web, rest: { data: { tea: '102' } }, second: 31, by: 'shop-operator' },
  ]
  expect(read(...writes)).toContainEqual(['tea', 30, 'spec.priceRef.name'])
  expect(decided(...writes).at(-2)).toMatchObject({ cause: 'self', self: { reason: 'schedule' } })
})

test('a clock does not go by what somebody did to others of its API group', () => {
  const shop = { kind: 'Shop', name: 'books', meta: { generation: 1 } }
  const bought: Write = { ...shop, type: 'ADDED', second: 29, by: '@bob' }
  expect(saysOf(decided(...FED, bought, price(30, FEED, '102'))).at(-1)).toBe('schedule')
})

test('as long as a status says that something is under way, it is done for who wanted it', () => {
  const phase = (second: number, phase: string): Write =>
    price(second, FEED, '1', { rest: { spec: {}, status: { phase } } })
  const begun = [FED[0]!, phase(11, 'Provisioning')]
  expect(saysOf(decided(...begun, phase(40, 'Ready')))).toEqual(['operator', 'inferred', 'inferred'])
  expect(saysOf(decided(...begun, phase(40, 'Ready'), phase(60, 'Aged'))).at(-1)).toBe('schedule')
})

const TARGET = { kind: 'Deployment', name: 'web' }
const web = (second: number, by: string, replicas: number, more: Partial<Write> = {}): Write => ({
  ...{ kind: 'Deployment', name: 'web', second, by },
  meta: { generation: second },
  rest: { spec: { replicas, template: { spec: { containers: [{ name: 'main', image: 'a' }] } } } },
  ...more,
})

test('who scales what its custom resource names, though nobody has changed that, does so for a measurement', () => {
  const scaler = (second: number, by: string, max: number, more: Partial<Write> = {}): Write => ({
    ...{ kind: 'Scaler', name: 'by-load', second, by },
    meta: { generation: max, managedFields: stated('load-scaler') },
    rest: { spec: { max, targetRef: TARGET } },
    ...more,
  })
  const begun = [
    web(10, '@alice', 1, { type: 'ADDED' }),
    scaler(20, '@bob', 4, { type: 'ADDED' }),
    scaler(21, 'load-scaler', 4, {
      subresource: 'status',
      rest: { spec: { max: 4, targetRef: TARGET }, status: { wanted: 2 } },
    }),
    web(22, 'load-scaler', 2),
  ]
  const image = { spec: { replicas: 3, template: { spec: { containers: [{ name: 'main', image: 'b' }] } } } }
  const decisions = decided(
    ...begun,
    web(30, 'load-scaler', 3),
    web(33, '@carol', 3, { rest: image }),
    web(36, 'load-scaler', 4, { rest: { spec: { ...image.spec, replicas: 4 } } }),
    scaler(40, '@bob', 2),
    web(41, 'load-scaler', 2, { rest: { spec: { ...image.spec, replicas: 2 } } }),
  )
  expect(saysOf(decisions).slice(-6)).toEqual([
    'inferred',
    'metric',
    'operator',
    'metric',
    'operator',
    'inferred',
  ])
  expect(decisions.at(-5)?.self?.setUp).toMatchObject({ identity: { name: 'by-load' } })
})

test('what a controller makes for an object again and again it makes by schedule, and takes away for its age', () => {
  const plan = { kind: 'Plan', name: 'nightly', meta: { generation: 1 }, rest: { spec: { every: 15 } } }
  const shot = (name: string): Pick<Write, 'kind' | 'name' | 'meta'> => ({
    ...{ kind: 'Snapshot', name },
    meta: {
      generation: 1,
      ownerReferences: [
        { apiVersion: API, kind: 'Plan', name: 'nightly', uid: 'uid of nightly', controller: true },
      ],
    },
  })
  const decisions = decided(
    { ...plan, type: 'ADDED', second: 10, by: '@alice' },
    { ...shot('one'), type: 'ADDED', second: 11, by: 'keeper' },
    { ...shot('two'), type: 'ADDED', second: 26, by: 'keeper' },
    { ...shot('one'), type: 'DELETED', second: 35, by: 'keeper' },
  )
  expect(saysOf(decisions)).toEqual(['operator', 'inferred', 'schedule', 'expiry'])
})
