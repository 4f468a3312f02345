import { expect, test } from '@jest/globals'
import type { MatchingSpans } from '../../src/query/answer-schemas.ts'
import { answer } from '../../src/query/answer.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id } from './asking.ts'

const event = { name: 'Pulling', attributes: [{ key: 'image', value: { stringValue: 'nginx:1.27' } }] }
const map = { kvlistValue: { values: [{ key: 'zone', value: { stringValue: 'Ost' } }] } }

/** Spans 1 to 5 of one change, and 6 of another; the traces of the first are full. */
async function spansOfTwoChanges(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { maxTraceSpans: 4 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), time: 1 }])
  const of = (number: number) => ({ trace: number, id: number, cpid: cpid(1), start: number })
  writer.spans('kubelet', [
    { ...of(1), name: 'Sync Pod' },
    { ...of(2), status: 2, statusMessage: 'back-off: no such Image' },
    { ...of(3), attributes: { 'http.code': 404, retried: true, hosts: ['a.example', 'b.example'] } },
    { ...of(4), events: [event] },
    { ...of(5), events: [{ name: 'Placed', attributes: [{ key: 'place', value: map }] }] },
    { ...of(6), cpid: cpid(2), name: 'sync Pod of another change' },
  ])
  writer.pass(20_000)
  writer.link()
  return writer
}

test('finds the spans of a cascade by all that their senders said', async () => {
  using writer = await spansOfTwoChanges()
  const found = (contains: string, limit = 100) =>
    ask<MatchingSpans>(writer, { kind: 'matchingSpans', root: id(1), contains, limit })
  const cases: [text: string, ...numbers: number[]][] = [
    ['sync pod', 1],
    ['  SYNC Pod ', 1],
    ['BACK-OFF: no such image', 2],
    ['http.code=404', 3],
    ['retried=true', 3],
    ['hosts=B.example', 3],
    ['place.zone=ost', 5],
    ['pulling', 4],
    ['IMAGE=nginx', 4],
    ['image', 2, 4],
    ['nowhere'],
  ]
  for (const [text, ...numbers] of cases) {
    const { spans, truncated } = found(text)
    expect([text, truncated, [...spans].sort()]).toEqual([text, false, numbers.map(hexSpan)])
  }
  const some = found('cpid.id', 2)
  expect(some.spans).toHaveLength(2)
  expect(some.truncated).toBe(true)
  expect(ask(writer, { kind: 'matchingSpans', root: id(9), contains: 'pod', limit: 1 })).toBe('unknown')
})

test('says so when there is no time to look at all spans', async () => {
  using writer = await spansOfTwoChanges()
  let nowMs = 0
  const question = { kind: 'matchingSpans', root: id(1), contains: 'sync', limit: 9 } as const
  const answered = answer(sqliteQueries(writer.db), question, () => (nowMs += 20_000))
  const text = answered.kind === 'found' ? [...answered.pieces].join('') : ''
  expect(JSON.parse(text)).toMatchObject({ partial: expect.stringContaining('longer than 10 s') })
})
