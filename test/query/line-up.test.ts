import { expect, test } from '@jest/globals'
import { pairByName } from '../../src/query/cascade-json.ts'

test('what got slower comes first, what is only on one side stands alone', () => {
  const total = (name: string, totalNs: bigint): { name: string; totalNs: bigint } => ({ name, totalNs })
  const pairs = pairByName(
    [total('same', 5n), total('faster', 9n), total('gone', 2n)],
    [total('same', 5n), total('faster', 1n), total('new', 7n), total('slower', 3n)],
    ({ name }) => name,
  )
  expect(pairs.map(({ name, a, b, differenceNs }) => [name, a?.totalNs, b?.totalNs, differenceNs])).toEqual([
    ['new', undefined, 7n, 7n],
    ['slower', undefined, 3n, 3n],
    ['same', 5n, 5n, 0n],
    ['gone', 2n, undefined, -2n],
    ['faster', 9n, 1n, -8n],
  ])
})
