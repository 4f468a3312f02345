import { expect, test } from '@jest/globals'
import { BoundedMap } from '../../packages/instrumentation/src/known/bounded-map.ts'

test('what was set longest ago is forgotten, by weight; what is set again is new, and weighs once', () => {
  const map = new BoundedMap<string, number>(10, (weight) => weight)
  for (const [key, weight] of Object.entries({ a: 3, b: 3, c: 3 })) map.set(key, weight)
  map.set('a', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([4, 3, 3])
  map.set('d', 1)
  expect([map.get('a'), map.get('b'), map.get('c'), map.get('d')]).toEqual([4, undefined, 3, 1])
  map.delete('c')
  map.delete('c')
  map.set('e', 5)
  expect(map.size).toBe(3)
  map.set('f', 11)
  expect(map.size).toBe(0)
})
