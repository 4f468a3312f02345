import { expect, test } from '@jest/globals'
import { decided, type Write } from '../../lab/harness/inference/told-with-audit.ts'

const SHOP = { kind: 'Shop', name: 'books' }
const OWNED = {
  ownerReferences: [{ apiVersion: 'trade.example.com/v1', kind: 'Shop', name: 'books', uid: 'uid of books' }],
}
const web = (image: string, generation: number): Pick<Write, 'kind' | 'name' | 'meta' | 'rest'> => ({
  ...{ kind: 'Deployment', name: 'web' },
  meta: { ...OWNED, generation },
  rest: { spec: { replicas: 1, template: { spec: { containers: [{ name: 'main', image }] } } } },
})
const set = (image: string): Pick<Write, 'kind' | 'name' | 'meta' | 'rest'> => ({
  ...web(image, 1),
  ...{ kind: 'ReplicaSet', name: `web-${image}` },
  meta: {
    generation: 1,
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'uid of web', controller: true },
    ],
  },
})
const CONTROLLER = 'deployment-controller'

/** alice gives a Shop, its operator a Deployment, and that gets another image by somebody. */
const rolled = (by: string): Write[] => [
  { ...SHOP, type: 'ADDED', meta: { generation: 1 }, second: 10, by: '@alice' },
  { ...SHOP, meta: { generation: 1, finalizers: ['a.example.com/b'] }, second: 11, by: 'shop-operator' },
  { ...web('one', 1), type: 'ADDED', second: 12, by: 'shop-operator' },
  { ...SHOP, meta: { generation: 2, finalizers: ['a.example.com/b'] }, second: 19, by: '@alice' },
  { ...web('two', 2), second: 20, by },
  { ...set('two'), type: 'ADDED', second: 21, by: CONTROLLER },
]

test('what copies a version that a person wrote is exact, and what copies one whose own cause is inferred is not', () => {
  const [byPerson, byOperator] = ['@bob', 'shop-operator'].map((by) => decided(...rolled(by)))
  expect(byPerson?.slice(-2)).toMatchObject([{ cause: 'operator' }, { cause: 'exact' }])
  expect(byOperator?.slice(-2)).toMatchObject([{ cause: 'inferred' }, { cause: 'inferred' }])
})
