import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { byKubectl, byOperator, CPID, informed, marked, rootOf, version } from './support/informed.ts'

test('a deletion that finalizers hold up begins a change when it begins, and whoever ends it goes on from there', () => {
  const { plain, contextOf } = informed()
  const finalizers = ['example.com/cleanup']
  const one = (resourceVersion: string, more: object = {}) =>
    version(resourceVersion, { ...marked, managedFields: [byOperator(1)], ...more })
  plain.tell('add', version('4', { managedFields: [byKubectl(0)] }))
  // The operator adds its finalizer and its mark at once: that says nothing of a deletion.
  plain.tell('update', one('5', { finalizers }))
  const deletionTimestamp = '2026-01-01T00:00:05Z'
  const going = { finalizers, deletionTimestamp, generation: 2 }
  expect(contextOf(plain.tell('update', one('6', going)))).toBe(rootOf('6'))
  expect(contextOf(plain.tell('update', one('7', { ...going, finalizers: [] })))).toBe(rootOf('6'))
  expect(contextOf(plain.tell('delete', one('8', { ...going, finalizers: [] })))).toBe(rootOf('6'))
})

test('an instrumented writer that deletes by a mark, and one that ends a deletion, are believed', () => {
  const { plain, contextOf, instrumentation } = informed()
  const deletionTimestamp = '2026-01-01T00:00:05Z'
  plain.tell('add', version('5', marked))
  const mark = { annotations: { [CPID]: cpid(2) } }
  plain.tell('update', version('6', mark))
  expect(contextOf(plain.tell('update', version('7', { ...mark, deletionTimestamp, generation: 2 })))).toBe(
    cpid(2),
  )
  const ended = { annotations: { [CPID]: cpid(3) }, deletionTimestamp, generation: 2 }
  expect(contextOf(plain.tell('update', version('8', ended)))).toBe(cpid(3))
  expect(contextOf(plain.tell('delete', version('9', ended)))).toBe(cpid(3))

  const other = plain.tell('add', version('10', { uid: 'u2', name: 'other', ...marked }))
  const { cpid: begun } = instrumentation.beginDeletion(other)
  const goes = { uid: 'u2', name: 'other', ...marked, deletionTimestamp }
  expect(contextOf(plain.tell('update', version('11', goes)))).toBe(begun)
  expect(contextOf(plain.tell('delete', version('12', goes)))).toBe(begun)
})

test('what is known of each object stays known, however many there are and however often others change', () => {
  const { plain, contextOf } = informed()
  const many = 20_000
  const numbered = (number: number, round = 0) =>
    version(String(round * many + number), { uid: `n${number}`, name: `n${number}` })
  for (let number = 1; number <= many; number++) plain.tell('add', numbered(number))
  expect([contextOf(numbered(1)), contextOf(numbered(many))]).toEqual([
    rootOf('1', 'n1'),
    rootOf(String(many), `n${many}`),
  ])
  for (let number = 2; number <= many; number++) plain.tell('update', numbered(number, 1))
  expect(contextOf(numbered(1))).toBe(rootOf('1', 'n1'))
  // The version before the last is known for a while.
  expect(contextOf(numbered(many))).toBe(rootOf(String(many), `n${many}`))
})

test('an object that came instead of one of the same name, unseen, is another', () => {
  const { plain, contextOf } = informed()
  plain.tell('add', version('5', marked))
  const unmarked = version('9', { uid: 'u2', generation: 1 })
  expect(contextOf(plain.tell('update', unmarked))).toBe(rootOf('9', 'u2'))
  expect(contextOf(plain.tell('update', version('10', { uid: 'u2', generation: 1 })))).toBe(rootOf('9', 'u2'))
})
