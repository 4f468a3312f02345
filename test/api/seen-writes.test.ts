import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { CascadeList, Found } from '../../src/query/answer-schemas.ts'
import type { ObjectVersion, ObjectVersions } from '../../src/query/object-answer-schemas.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'
import { QueryApi } from './support/query-api.ts'

let api: QueryApi

beforeAll(async () => {
  api = await QueryApi.over(async (path) => (await liveThroughRollout({ path })).writer)
})
afterAll(() => api[Symbol.asyncDispose]())

const get = async <T>(path: string): Promise<T> => {
  const { status, body } = await api.get(path)
  expect([path, status]).toEqual([path, 200])
  return body as T
}
const rootsOf = async (query: string): Promise<string[]> =>
  (await get<CascadeList>(`cascades?${query}`)).cascades.map(({ root }) => root)

test('cascades are narrowed down by actor and namespace, alone and together', async () => {
  const [all, alice, shop] = [
    await rootsOf('limit=1000'),
    await rootsOf('actor=alice'),
    await rootsOf('namespace=shop'),
  ]
  const both = await rootsOf('actor=alice&namespace=shop')
  expect(both.length).toBeGreaterThan(5)
  expect(both).toEqual(all.filter((root) => alice.includes(root) && shop.includes(root)))
  for (const some of [alice, shop]) expect(some.length).toBeLessThan(all.length)
  expect(await rootsOf('actor=nobody')).toEqual([])
  expect(await rootsOf('actor=&namespace=')).toEqual(await rootsOf(''))
})

test('what is found is narrowed down too', async () => {
  const all = await get<Found>('find?q=kube-root-ca.crt')
  const shop = await get<Found>('find?q=kube-root-ca.crt&namespace=shop')
  expect(all.objects.length).toBeGreaterThan(1)
  expect(shop.objects).toEqual(['v1/configmaps/shop/kube-root-ca.crt'])
  expect((await get<Found>('find?q=web&actor=nobody')).objects).toEqual([])
})

test('the versions of an object come in parts', async () => {
  const path = 'objects/versions?ref=apps/v1/deployments/shop/web'
  const whole = await get<ObjectVersions>(path)
  expect(whole.next).toBeNull()
  const parts: ObjectVersion[] = []
  for (let after: string | null = ''; after !== null;) {
    const part: ObjectVersions = await get(`${path}&limit=7${after === '' ? '' : `&after=${after}`}`)
    expect(part.versions.length).toBeLessThanOrEqual(7)
    parts.push(...part.versions)
    after = part.next
  }
  expect(parts).toEqual(whole.versions)
})

test.each([
  'cascades?user=alice',
  'cascades?cause=inferred',
  'cascades?actor=alice&actor=bob',
  'find?q=web&service=kubectl',
  'objects/versions?ref=v1/pods/shop/web&actor=alice',
  'objects/versions?ref=v1/pods/shop/web&after=7',
  'objects/versions',
])('%s is refused', async (path) => {
  const { status, body } = await api.get(path)
  expect([status, body]).toEqual([400, { error: { code: expect.any(String), message: expect.any(String) } }])
})
