import { expect, test } from '@jest/globals'
import { API, decided, read, told, type Write } from '../../lab/harness/inference/told-with-audit.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

const LABEL = 'trade.example.com/shop'
const SHOP = { kind: 'Shop', name: 'books' }
/** Its controller has written its status. */
const STATED = [
  { manager: 'shop-operator', operation: 'Update', subresource: 'status', time: '2026-01-01T00:00:09Z' },
]
const HELD = { finalizers: [LABEL], managedFields: STATED }
/** Nothing in its name is the Shop's, and no owner tells of that. */
const PART = { kind: 'ConfigMap', name: 's1f0', meta: { labels: { [LABEL]: 'books' } } }
const LABELLED = `labels ${LABEL}`
const BEGUN: readonly Write[] = [
  { ...SHOP, type: 'ADDED', meta: { generation: 1 }, second: 10, by: '@alice' },
  { ...SHOP, meta: { generation: 1, ...HELD }, second: 11, by: 'shop-operator' },
  { ...PART, type: 'ADDED', second: 12, by: 'shop-operator' },
]

test('what a label names by its kind is what its controller makes something for', () => {
  expect(read(...BEGUN)).toEqual([['books', 11, LABELLED]])
  const twin = { ...PART, name: 's2', meta: { labels: { 'trade.example.com/shelf': 'books' } } }
  expect(read(...BEGUN, { ...twin, type: 'ADDED', second: 13, by: 'shop-operator' })).not.toContainEqual([
    ...['books', 11],
    'labels trade.example.com/shelf',
  ])
})

test('a label of a domain names an object in no namespace too, and one of Helm names none', () => {
  const labelled = (key: string): unknown[] => {
    const house = { kind: 'House', name: 'rules', namespace: '' }
    return read(
      { ...house, type: 'ADDED', meta: { generation: 1 }, second: 10, by: '@alice' },
      { ...house, meta: { generation: 1, ...HELD }, second: 11, by: 'shop-operator' },
      { ...PART, meta: { labels: { [key]: 'rules' } }, type: 'ADDED', second: 12, by: 'shop-operator' },
    )
  }
  const key = 'trade.example.com/generated-by'
  expect(labelled(key)).toContainEqual(['rules', 11, `labels ${key}`])
  expect(labelled('helm.sh/house')).not.toContainEqual(['rules', 11, 'labels helm.sh/house'])
  expect(labelled('helm.sh/chart')).not.toContainEqual(['rules', 11, 'labels helm.sh/chart'])
})

const OWNED = {
  ownerReferences: [{ apiVersion: API, kind: 'Shop', name: 'books', uid: 'uid of books', controller: true }],
}
const web = (a: string, second: number, type: Write['type'] = 'MODIFIED'): Write => ({
  ...{ kind: 'ConfigMap', name: 'web', meta: OWNED, rest: { data: { a } } },
  ...{ type, second, by: 'shop-operator' },
})

test('what is written for an owner follows from what names that owner, where its content changed', () => {
  const discount = (percent: number): Omit<Write, 'second' | 'by'> => ({
    ...{ kind: 'Discount', name: 'spring', meta: { generation: percent, ...HELD } },
    rest: { spec: { shopRef: { kind: 'Shop', name: 'books' }, percent } },
  })
  const begun: Write[] = [
    ...BEGUN,
    web('0', 13, 'ADDED'),
    { ...discount(1), type: 'ADDED', meta: { generation: 1 }, second: 20, by: '@bob' },
    { ...discount(1), second: 21, by: 'shop-operator' },
    web('1', 22),
    { ...discount(2), second: 30, by: '@carol' },
  ]
  expect(read(...begun, web('2', 31))).toContainEqual(['spring', 30, 'spec.shopRef.name'])
  expect(read(...begun, web('2', 31), web('3', 41))).not.toContainEqual(['spring', 30, 'spec.shopRef.name'])
})

test('what a controller writes in the same reconcile follows from what it wrote just before', () => {
  const shop = { meta: { generation: 1, ...HELD }, rest: { spec: { secretName: 'key' } } }
  const key = { kind: 'Secret', name: 'key' }
  const begun: Write[] = [
    { ...key, type: 'ADDED', second: 9, by: '@alice' },
    { ...SHOP, ...shop, type: 'ADDED', meta: { generation: 1 }, second: 10, by: '@alice' },
    { ...SHOP, ...shop, second: 11, by: 'shop-operator' },
    web('1', 12, 'ADDED'),
    { ...key, rest: { data: { a: 'new' } }, second: 30, by: '@bob' },
    web('2', 31),
  ]
  const other = (second: number): Write => ({ ...web('1', second, 'ADDED'), name: 'other' })
  expect(read(...begun)).toContainEqual(['key', 30, 'spec.secretName'])
  expect(read(...begun, other(32))).toContainEqual(['web', 31, undefined])
  expect(read(...begun, other(50))).not.toContainEqual(['web', 31, undefined])
})

test('what somebody changes of one part is what a controller writes another part for', () => {
  const meta = { labels: { 'trade.example.com/made-for': 'books' } }
  const part = (name: string, a: string, second: number, by: string): Write => ({
    ...{ kind: 'ConfigMap', name, meta, rest: { data: { a } }, second, by },
  })
  const [shop, held] = BEGUN
  const begun: Write[] = [
    ...(shop && held ? [shop, held] : []),
    { ...part('one', '1', 12, 'shop-operator'), type: 'ADDED' },
    { ...part('two', '1', 13, 'shop-operator'), type: 'ADDED' },
  ]
  const edited = part('one', '2', 20, '@bob')
  expect(read(...begun, edited, part('two', '2', 21, 'shop-operator'))).toContainEqual([
    ...['one', 20],
    'made for books',
  ])
  expect(
    read(...begun, part('one', '2', 20, 'shop-operator'), part('two', '2', 31, 'shop-operator')),
  ).not.toContainEqual(['one', 20, 'made for books'])
})

test('a Pod takes over because another Pod of its owner goes', () => {
  const pod = (name: string, second: number, by: string, more: JsonObject = {}): Write => ({
    ...{ kind: 'Pod', name, meta: { ...OWNED, ...more }, second, by },
  })
  const going = { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 1 }
  expect(
    read(
      ...BEGUN,
      { ...pod('one', 13, 'shop-operator', { labels: { role: 'leader' } }), type: 'ADDED' },
      { ...pod('two', 14, 'shop-operator'), type: 'ADDED' },
      pod('one', 30, '@bob', going),
      pod('two', 31, 'shop-operator', { labels: { role: 'leader' } }),
    ),
  ).toContainEqual(['one', 30, undefined])
})

test('a label may name an object with dots in its name', () => {
  const label = 'app.kubernetes.io/instance'
  const shop = { kind: 'Shop', name: 'books.v2' }
  const begun: Write[] = [
    { ...shop, type: 'ADDED', meta: { generation: 1 }, second: 10, by: '@alice' },
    { ...shop, meta: { generation: 1, ...HELD }, second: 11, by: 'shop-operator' },
    { ...PART, meta: { labels: { [label]: 'books.v2' } }, type: 'ADDED', second: 12, by: 'shop-operator' },
  ]
  expect(read(...begun)).toEqual([['books.v2', 11, `labels ${label}`]])
})

test('of an object with many labels and annotations only the first are read', () => {
  const keys = Array.from({ length: 200 }, (_, at) => [`l${at}.example.com/name`, `books-${at}`])
  const labels = { instance: 'books', ...(Object.fromEntries(keys) as Record<string, string>) }
  const [seen] = told({ ...PART, meta: { labels }, type: 'ADDED', second: 12, by: 'shop-operator' })
  expect(seen).toMatchObject({ source: 'watch' })
  if (seen?.source === 'watch') expect(seen.facts.references.length).toBeLessThan(20)
})

test('the status of a custom resource follows from what a label gives to it', () => {
  const edited = { ...PART, rest: { data: { a: 'edited' } }, second: 20, by: '@bob' }
  const status = { meta: { generation: 1, ...HELD }, rest: { status: { ready: 1 } }, subresource: 'status' }
  const written = { ...SHOP, ...status, second: 21, by: 'shop-operator' }
  expect(read(...BEGUN, edited, written)).toEqual([
    ['books', 11, undefined],
    ['s1f0', 20, undefined],
  ])
})

test('what a controller makes again follows from the deletion, unless what it looks after has changed since', () => {
  const gone = { ...PART, type: 'DELETED', second: 20, by: '@bob' } as const
  const again = { ...PART, type: 'ADDED', uid: 'another', second: 40, by: 'shop-operator' } as const
  expect(read(...BEGUN, gone, again)).toContainEqual(['s1f0', 20, undefined])
  const changed = {
    ...SHOP,
    meta: { generation: 2, ...HELD },
    rest: { spec: { a: 1 } },
    second: 30,
    by: '@carol',
  }
  expect(read(...BEGUN, gone, changed, again)).toEqual([['books', 30, LABELLED]])
})

test('a program writes into what another one looks after, upon what it looks after itself', () => {
  const discount = { kind: 'Discount', name: 'spring' }
  const given: Write[] = [
    { ...discount, type: 'ADDED', meta: { generation: 1 }, second: 20, by: '@bob' },
    { ...SHOP, meta: { generation: 2, ...HELD }, rest: { spec: { off: 10 } }, second: 21, by: 'discounter' },
    {
      ...{ ...discount, meta: { generation: 1 }, rest: { status: { shops: 1 } } },
      ...{ subresource: 'status', second: 22, by: 'discounter' },
    },
  ]
  expect(read(...BEGUN, ...given.slice(0, 2))).toContainEqual(['spring', 20, 'same API group'])
  const raised = {
    ...discount,
    meta: { generation: 2 },
    rest: { spec: { percent: 20 } },
    second: 60,
    by: '@carol',
  }
  const shop = {
    ...SHOP,
    meta: { generation: 3, ...HELD },
    rest: { spec: { off: 20 } },
    second: 61,
    by: 'discounter',
  }
  expect(read(...BEGUN, ...given, raised, shop)).toContainEqual(['spring', 60, 'same API group'])
  expect(read(...BEGUN, ...given, raised, { ...shop, by: 'shop-operator' })).not.toContainEqual([
    ...['spring', 60],
    'same API group',
  ])
})

test('a program that looks after two kinds of a group writes into one upon the other, though nothing ties them', () => {
  const discount = { kind: 'Discount', name: 'spring', by: 'shop-operator' }
  const given: Write[] = [
    { ...discount, type: 'ADDED', meta: { generation: 1 }, second: 20, by: '@bob' },
    {
      ...{ ...discount, meta: { generation: 1 }, rest: { status: { shops: 1 } } },
      ...{ subresource: 'status', second: 22 },
    },
  ]
  const raised = { ...discount, meta: { generation: 2 }, second: 60, by: '@carol' }
  const shop = { ...SHOP, meta: { generation: 2, ...HELD }, second: 61, by: 'shop-operator' }
  const percent = (off: number): Pick<Write, 'rest'> => ({ rest: { spec: { percent: off, off } } })
  const written = { ...shop, ...percent(20) }
  expect(read(...BEGUN, ...given, { ...raised, ...percent(20) }, written)).toContainEqual([
    ...['spring', 60],
    'same API group',
  ])
  const ended = { ...raised, type: 'DELETED' } as const
  expect(read(...BEGUN, ...given, ended, written)).toContainEqual(['spring', 60, 'same API group'])
  expect(read(...BEGUN, ...given, written)).not.toContainEqual(['spring', 20, 'same API group'])
})

const SPREAD = { kind: 'Secret', name: 'login' }
const FROM = 'copier.example.com/from'
const COPY = { ...SPREAD, namespace: 'other', uid: 'copy', meta: { labels: { [FROM]: 'shop.login' } } }

test('a copy follows from what its label names in another namespace, also where it is taken away', () => {
  const made: Write[] = [
    { ...SPREAD, type: 'ADDED', second: 10, by: '@alice' },
    { ...COPY, type: 'ADDED', second: 11, by: 'copier' },
  ]
  expect(read(...made)).toEqual([['login', 10, `labels ${FROM}`]])
  const gone: Write = { ...SPREAD, type: 'DELETED', second: 20, by: '@bob' }
  const cleared = decided(...made, gone, { ...COPY, type: 'DELETED', second: 21, by: 'copier' }).at(-1)
  expect(cleared).toMatchObject({ cause: 'inferred', writer: { service: 'copier' } })
  expect(cleared?.reads.map(({ known }) => Number(known.version))).toContain(20)
})

test('an account makes again what it had made when somebody has just deleted that; later it begins a change', () => {
  const made: Write[] = [
    { ...COPY, meta: {}, type: 'ADDED', second: 11, by: 'copier' },
    { ...COPY, meta: {}, type: 'DELETED', second: 20, by: '@bob' },
  ]
  const again = (second: number): Write => ({
    ...COPY,
    meta: {},
    uid: 'new',
    type: 'ADDED',
    second,
    by: 'copier',
  })
  expect(decided(...made, again(28)).at(-1)).toMatchObject({ cause: 'inferred' })
  expect(decided(...made, again(60)).at(-1)).toMatchObject({ cause: 'operator' })
  expect(decided(...made, { ...again(28), by: 'pipeline' }).at(-1)).toMatchObject({ cause: 'operator' })
})

test('what an account scales follows from its namespace, if that has just changed and the object has not since', () => {
  const space = { kind: 'Namespace', name: 'shop' }
  const web = { kind: 'Deployment', name: 'web' }
  const before: Write[] = [
    { ...space, type: 'ADDED', second: 5, by: '@alice' },
    {
      ...web,
      type: 'ADDED',
      meta: { generation: 1 },
      rest: { spec: { replicas: 2 } },
      second: 10,
      by: '@alice',
    },
    { ...space, meta: { annotations: { sleeps: 'yes' } }, second: 60, by: '@carol' },
  ]
  const scaled = {
    ...web,
    meta: { generation: 2 },
    rest: { spec: { replicas: 0 } },
    second: 61,
    by: 'night-watch',
  }
  expect(read(...before, scaled)).toContainEqual(['shop', 60, undefined])
  const late = decided(...before, { ...scaled, second: 90 }).at(-1)
  expect(late).toMatchObject({ cause: 'operator' })
})

test('a ReplicaSet that gets an annotation before it is scaled follows from the Deployment that has both', () => {
  const web = { kind: 'Deployment', name: 'web' }
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: 'web',
    uid: 'uid of web',
    controller: true,
  }
  const set = (annotations: JsonObject): Pick<Write, 'kind' | 'name' | 'meta' | 'rest'> => ({
    ...{ kind: 'ReplicaSet', name: 'web-1', rest: { spec: { replicas: 2 } } },
    meta: {
      ...{ generation: 1, ownerReferences: [owner] },
      annotations: { 'deployment.kubernetes.io/desired-replicas': '2', ...annotations },
    },
  })
  const by = 'deployment-controller'
  const spec = { replicas: 2 }
  const made: Write[] = [
    { ...web, type: 'ADDED', meta: { generation: 1 }, rest: { spec }, second: 10, by: '@alice' },
    { ...set({}), type: 'ADDED', second: 11, by },
    {
      ...{ ...web, meta: { generation: 1 }, rest: { spec, status: { replicas: 2 } } },
      ...{ subresource: 'status', second: 12, by },
    },
  ]
  const annotations = { was: '2' }
  const scaled: Write = {
    ...{ ...web, meta: { generation: 2, annotations }, rest: { spec: { replicas: 0 } } },
    ...{ second: 60, by: '@bob' },
  }
  expect(read(...made, scaled, { ...set(annotations), second: 61, by })).toContainEqual([
    'web',
    60,
    undefined,
  ])
})

test('what belongs to an object that a label ties to another belongs to that other too', () => {
  const web = { kind: 'Deployment', name: 'w1f0', meta: { labels: { [LABEL]: 'books' } } }
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    name: 'w1f0',
    uid: 'uid of w1f0',
    controller: true,
  }
  const part = (second: number, by: string, annotations: JsonObject = {}): Write => ({
    ...{ kind: 'ReplicaSet', name: 'w1f0-1', meta: { ownerReferences: [owner], annotations }, second, by },
  })
  const begun: Write[] = [
    ...BEGUN.slice(0, 2),
    { ...web, type: 'ADDED', second: 12, by: 'shop-operator' },
    { ...part(13, 'deployment-controller'), type: 'ADDED' },
    { ...SHOP, meta: { generation: 2, ...HELD }, rest: { spec: { a: 1 } }, second: 30, by: '@bob' },
  ]
  expect(read(...begun, part(31, 'shop-operator', { renew: 'true' }))).toContainEqual(['books', 30, LABELLED])
})

test('what a controller makes that nothing ties to an object follows from what it has just been asked for', () => {
  const account = { ...PART, meta: {}, name: 'shared', second: 61, by: 'shop-operator' }
  const made = (shop: Write): Write[] => [...BEGUN, shop, { ...account, namespace: 'other', type: 'ADDED' }]
  const shop: Write = {
    ...{ ...SHOP, name: 'toys', namespace: 'other', type: 'ADDED', meta: { generation: 1 } },
    ...{ second: 60, by: '@bob' },
  }
  expect(decided(...made(shop)).at(-1)?.cause).toBe('inferred')
  expect(read(...made(shop))).toContainEqual(['toys', 60, 'same API group'])
  expect(read(...made({ ...shop, namespace: 'elsewhere' }))).toEqual([])
})

test('an account that is called a controller makes something for what somebody has just made, before it is known to look after that', () => {
  const [shop] = BEGUN
  const made = (by: string, second: number): Decision | undefined =>
    decided(...(shop ? [shop] : []), { ...PART, meta: {}, type: 'ADDED', second, by }).at(-1)
  expect(made('shop-operator', 12)).toMatchObject({
    cause: 'inferred',
    reads: [{ identity: { name: 'books' } }],
  })
  expect(made('shop-operator', 40)).toMatchObject({ cause: 'operator' })
  expect(made('pipeline', 12)).toMatchObject({ cause: 'operator' })
})
