import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { figureSeven, TABLE_2 } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'
import { QueryApi } from './support/query-api.ts'

let api: QueryApi

beforeAll(async () => {
  api = await QueryApi.over((path) => figureSeven(path))
})

afterAll(() => api[Symbol.asyncDispose]())

test.each(Object.entries(TABLE_2))(
  'the related CPIDs of %s are those of Table 2',
  async (number, related) => {
    const of = cpid(Number(number))
    const { status, headers, body } = await api.get(`cpids/${of}/related`)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(body).toEqual({ cpid: of, related: related.map(cpid) })
  },
)

test('ancestors and roots', async () => {
  expect((await api.get(`cpids/${cpid(5)}/ancestors`)).body).toEqual({
    cpid: cpid(5),
    ancestors: [3, 4, 1, 2].map(cpid),
  })
  expect((await api.get(`cpids/${cpid(8)}/ancestors`)).body).toEqual({ cpid: cpid(8), ancestors: [] })
  expect((await api.get(`cpids/${cpid(8)}/roots`)).body).toEqual({ cpid: cpid(8), roots: [cpid(8)] })
})

test('a CPID, however it is written', async () => {
  const answers = await Promise.all(
    [cpid(7), cpid(7).replaceAll('-', ''), cpid(7).toUpperCase()].map((text) => api.get(`cpids/${text}`)),
  )
  for (const { status, body } of answers) {
    expect(status).toBe(200)
    expect(body).toEqual({
      cpid: cpid(7),
      timestamp: '2026-01-01T00:00:00.007000000Z',
      sources: [2, 4, 6].map(cpid),
      explained: true,
      service: 'paper',
      object: null,
    })
  }
})

test('mergelogs of a CPID and all of them', async () => {
  interface Mergelogs {
    mergelogs: { cpid: string; timestamp: string }[]
    next: string | null
  }
  const ofSix = (await api.get(`cpids/${cpid(6)}/mergelogs`)).body as Mergelogs
  expect(ofSix).toMatchObject({ mergelogs: [{ cpid: cpid(6) }, { cpid: cpid(7) }], next: null })
  const first = (await api.get('mergelogs?limit=5')).body as Mergelogs
  expect(first.mergelogs.map((mergelog) => mergelog.cpid)).toEqual([1, 2, 3, 4, 5].map(cpid))
  const rest = (await api.get(`mergelogs?limit=5&after=${first.next}`)).body as Mergelogs
  expect(rest.mergelogs.map((mergelog) => mergelog.cpid)).toEqual([6, 7, 8].map(cpid))
  expect(rest.next).toBeNull()
})

test('spans and logs, whole or in part', async () => {
  const whole = (await api.get(`cpids/${cpid(6)}/spans`)).body
  expect(whole).toEqual({ resourceSpans: [expect.anything(), expect.anything()] })
  const cut = (await api.get(`cpids/${cpid(6)}/spans?limit=1`)).body
  expect(cut).toEqual({ resourceSpans: [expect.anything()], next: expect.any(String) })
  expect((await api.get('spans')).body).toEqual({ resourceSpans: expect.any(Array), next: null })
  expect((await api.get('logs?limit=3')).body).toEqual({
    resourceLogs: expect.any(Array),
    next: expect.any(String),
  })
  expect((await api.get(`cpids/${cpid(6)}/logs`)).body).toEqual({ resourceLogs: [expect.anything()] })
})

test('what was acknowledged is there for the next question', async () => {
  api.writer.mergelogs('paper', [{ new: cpid(50) }])
  expect((await api.get(`cpids/${cpid(50)}`)).status).toBe(200)
})

test('HEAD says what GET would, without the body', async () => {
  const { status, headers, body } = await api.get(`cpids/${cpid(2)}/spans`, { method: 'HEAD' })
  expect([status, headers.get('content-type'), body]).toEqual([200, 'application/json', undefined])
  expect((await api.get(`cpids/${cpid(99)}`, { method: 'HEAD' })).status).toBe(404)
})
