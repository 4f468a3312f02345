import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import type { Found } from '../../src/query/answer-schemas.ts'
import { ask } from '../query/asking.ts'
import { cpid, hexTrace } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { QueryApi } from './support/query-api.ts'

/** CPIDs that differ late, and some that begin as no other does. */
const CPIDS = [
  ...Array.from({ length: 30 }, (_, at) => `0000000f-0000-4000-8000-0000000000${(at + 16).toString(16)}`),
  'dfd6a0d7-115b-4a53-8016-5f112e033bdb',
  'dfd6a0d8-115b-4a53-8016-5f112e033bdb',
].map((text) => parseCpid(text) as Cpid)

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over((path) => TestWriter.open({}, path))
  const object = 'v1/configmaps/default/dfd6a0d8'
  api.writer.mergelogs(
    'paper',
    CPIDS.map((cpid, at) => ({ new: cpid, time: at + 1, object })),
  )
  api.writer.link()
})
afterAll(() => api[Symbol.asyncDispose]())

const beginnings = fc
  .tuple(fc.constantFrom(...CPIDS), fc.integer({ min: 8, max: 35 }))
  .map(([cpid, length]) => cpid.slice(0, length))

test('the beginning of a CPID finds it, or those that it may be', async () => {
  await fc.assert(
    fc.asyncProperty(beginnings, fc.integer({ min: 1, max: 40 }), async (text, limit) => {
      const meant = CPIDS.filter((cpid) => cpid.startsWith(text)).toSorted()
      const { body } = await api.get(`find?q=${text}&limit=${limit}`)
      const { cpid, cpids, cascades } = body as Found
      expect(cpid).toEqual(meant.length === 1 ? { cpid: meant[0], state: 'known' } : null)
      expect(cpids).toEqual(meant.length === 1 ? [] : meant.slice(0, limit))
      if (meant.length === 1 && limit > 1) expect(cascades.map(({ root }) => root)).toContain(meant[0])
    }),
    { numRuns: 60 },
  )
})

test('the trace id that a sender gave leads to the cascades of what it sent in that trace', async () => {
  const [first, last] = [CPIDS[0], CPIDS.at(-1)]
  if (first === undefined || last === undefined) throw new Error('there are no CPIDs')
  api.writer.spans('controller', [
    { trace: 0x77, id: 1, cpid: first },
    { trace: 0x77, id: 2, parent: 1 },
    { trace: 0x77, id: 3, cpid: last },
    { trace: 0x78, id: 4 },
    ...Array.from({ length: 8 }, (_, at) => ({ trace: 0x80 + at, id: 5, cpid: first })),
  ])
  const cascadesOf = async (trace: number): Promise<string[]> => {
    const { body } = await api.get(`find?q=${hexTrace(trace)}`)
    return (body as Found).cascades.map(({ root }) => root).sort()
  }
  expect(await cascadesOf(0x77)).toEqual([first, last])
  api.writer.pass(10_001)
  expect(await cascadesOf(0x77)).toEqual([first, last])
  expect(await cascadesOf(0x87)).toEqual([first])
  expect(await cascadesOf(0x78)).toEqual([])
  expect(await cascadesOf(0x79)).toEqual([])
})

test("of a sender's trace with many CPIDs the cascades of the newest are found", async () => {
  using writer = await TestWriter.open()
  const made = Array.from({ length: 250 }, (_, at) => cpid(at + 1))
  for (const [at, one] of made.entries()) {
    writer.mergelogs('paper', [{ new: one, time: at }])
    writer.spans('controller', [{ trace: 0x99, id: at + 1, cpid: one, start: at, end: at + 1 }])
  }
  writer.pass(10_001)
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), async (limit) => {
      const { cascades } = ask<Found>(writer, { kind: 'find', text: hexTrace(0x99), limit, filter: {} })
      expect(cascades.map(({ root }) => root)).toEqual(made.toReversed().slice(0, limit))
    }),
    { numRuns: 20 },
  )
})

test('an object of that name is found too', async () => {
  const { body } = await api.get('find?q=dfd6a0d8')
  expect(body).toMatchObject({ cpid: { cpid: CPIDS.at(-1) }, objects: ['v1/configmaps/default/dfd6a0d8'] })
})

test('nothing begins with digits that no CPID has, and seven digits are a part of a name', async () => {
  expect((await api.get('find?q=99999999')).body).toMatchObject({ cpid: null, cpids: [], objects: [] })
  expect((await api.get('find?q=dfd6a0d')).body).toMatchObject({ cpid: null, cpids: [] })
})

test('a path takes whole CPIDs alone', async () => {
  expect(await api.get('cpids/dfd6a0d7/related')).toMatchObject({ status: 400 })
})
