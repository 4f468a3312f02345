import { expect, test } from '@jest/globals'
import { decidedByWatch, type SignedBy } from '../../lab/harness/inference/signed-writes.ts'

const lastWriter = (...told: SignedBy[]): unknown[] => {
  const { writer, cause } = decidedByWatch(...told).at(-1) ?? {}
  return [writer?.service, writer?.role, cause]
}
const stall = (second: number, by: string, ready?: number, more = {}): SignedBy => [
  second,
  by,
  {
    ...{ kind: 'Stall', name: 'toys', meta: { generation: 1 } },
    rest: { spec: { size: 2 }, ...(ready !== undefined && { status: { ready, ...more } }) },
    ...(ready !== undefined && { subresource: 'status' }),
  },
]
const MADE = [stall(5, 'kubectl'), stall(10.1, 'stall-program', 0)]

test('who writes a status twice within a second wrote it both times', () => {
  expect(lastWriter(...MADE, stall(10.6, 'stall-program', 1))).toEqual([
    'stall-program',
    'controller',
    'inferred',
  ])
})

test('of two that wrote a status within the second of a third write, it is not known which wrote that', () => {
  const told = [stall(10.4, 'other-program', 1), stall(10.6, 'stall-program', 2)]
  expect(lastWriter(...MADE, ...told)[0]).toBe('unknown')
})

test('a status that changes long after the last entry for it was signed by nobody', () => {
  const later = stall(60, '', 1, { at: 'x' })
  expect(lastWriter(...MADE, later)[0]).not.toBe('stall-program')
})
