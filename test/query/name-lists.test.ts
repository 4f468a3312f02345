import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { answer } from '../../src/query/answer.ts'
import type { Question } from '../../src/query/question.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

interface Names {
  scopes?: { name: string; tags: string[] }[]
  tagValues?: { value: string }[]
  operations?: object[]
  services?: string[]
  data?: object[]
  errors?: { code: number; msg: string }[] | null
  status?: string
  message?: string
}

function ask(writer: TestWriter, question: Question, nowMs?: () => number): Names {
  const found = answer(writer.queries(), question, nowMs)
  if (found.kind !== 'found') throw new Error(found.kind)
  return JSON.parse([...found.pieces].join('')) as Names
}

const named = (q: string, limit: number) => ({
  version: 2 as const,
  limit,
  search: { pipeline: readTraceQl(q).pipeline },
})

const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1 })
const scopes = fc.constantFrom('span' as const, 'resource' as const)
const queries = fc.constantFrom('{}', '{ name = "work" }')

test('lists have no more than was asked for, and say so when there is more', async () => {
  await fc.assert(
    fc.asyncProperty(keys, scopes, queries, fc.integer({ min: 1, max: 7 }), async (all, scope, q, limit) => {
      using writer = await TestWriter.open()
      for (const [at, key] of all.entries())
        writer.spans(
          `web-${key}`,
          [{ trace: at + 1, id: 1, name: 'work', attributes: { [key]: key, one: key } }],
          `cluster-${key}`,
        )
      writer.pass(1_000_000)
      const values = ask(writer, {
        kind: 'tagValues',
        tag: scope === 'span' ? 'span.one' : 'resource.service.name',
        ...named(q, limit),
      })
      const expected = scope === 'span' ? all : all.map((key) => `web-${key}`)
      const got = values.tagValues?.map(({ value }) => value) ?? []
      expect(got).toHaveLength(Math.min(limit, all.length))
      expect(expected).toEqual(expect.arrayContaining(got))
      expect(values.status).toBe(limit < all.length ? 'PARTIAL' : undefined)

      const tags = ask(writer, { kind: 'tags', scope: 'span', ...named(q, limit) })
      expect(tags.scopes?.[0]?.tags).toHaveLength(Math.min(limit, all.length + 1))
      expect(tags.status).toBe(limit < all.length + 1 ? 'PARTIAL' : undefined)
    }),
    { numRuns: 40 },
  )
})

test('more operations than are listed are told of', async () => {
  using writer = await TestWriter.open()
  const spans = Array.from({ length: 1_001 }, (_, at) => ({ trace: 1, id: at + 1, name: `work ${at}` }))
  writer.spans('web', spans.slice(0, 1_000))
  writer.pass(1_000_000)
  const asked = { kind: 'operations', service: 'web' } as const
  expect(ask(writer, { ...asked, shape: 'legacy' }).errors).toBeNull()
  writer.spans('web', spans.slice(1_000))
  writer.pass(1_000_000)
  const legacy = ask(writer, { ...asked, shape: 'legacy' })
  expect(legacy.data).toHaveLength(1_000)
  expect(legacy.errors).toEqual([{ code: 206, msg: expect.stringContaining('more than 1000 operations') }])
  const v3 = ask(writer, { ...asked, shape: 'v3' })
  expect(v3.operations).toHaveLength(1_000)
  expect(v3.status).toBe('PARTIAL')
})

test('more services than are listed are told of', async () => {
  using writer = await TestWriter.open()
  for (let at = 1; at <= 201; at++) writer.spans(`web-${at}`, [{ trace: at, id: 1 }])
  writer.pass(1_000_000)
  expect(ask(writer, { kind: 'services', version: 1 }).errors?.[0]?.msg).toContain('200 services')
  expect(ask(writer, { kind: 'services', version: 3 })).toMatchObject({ status: 'PARTIAL' })
})

const SLOW: readonly Question[] = [
  { kind: 'operations', service: 'web', shape: 'legacy' },
  { kind: 'operations', service: 'web', shape: 'v3' },
  { kind: 'dependencies' },
  { kind: 'tags', ...named('{}', 10) },
  { kind: 'tags', scope: 'resource', ...named('{}', 10) },
  { kind: 'tagValues', tag: 'resource.service.name', ...named('{}', 10) },
  { kind: 'tagValues', tag: 'span.a', ...named('{}', 10) },
  ...(['jaeger', 'jaegerV3', 'jaegerSummaries', 'tempo'] as const).map((shape) => ({
    kind: 'searchTraces' as const,
    shape,
    search: { ...named('{}', 10).search, limit: 10, spansPerTrace: 3 },
  })),
]

test.each(SLOW.map((question) => [JSON.stringify(question).slice(0, 60), question] as const))(
  'what takes too long is cut, and says what to do: %s',
  async (_, question) => {
    using writer = await TestWriter.open()
    writer.spans('web', [{ trace: 1, id: 1, attributes: { a: 'x' } }])
    writer.pass(1_000_000)
    const whole = ask(writer, question)
    expect(whole.status ?? whole.errors ?? undefined).toBeUndefined()
    let nowMs = 0
    const cut = ask(writer, question, () => (nowMs += 60_000))
    if (cut.errors === undefined) expect(cut.status).toBe('PARTIAL')
    expect(cut.message ?? cut.errors?.[0]?.msg).toContain('ask about a shorter time')
  },
)

test('a call of a span that is in two cascades counts once among the dependencies', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
  writer.mergelogs('controller', [{ new: cpid(3), sources: [cpid(1), cpid(2)], time: 10 }])
  writer.spans('controller', [{ trace: 3, id: 3, cpid: cpid(3), start: 100, end: 200 }])
  writer.spans('api', [{ trace: 3, id: 4, parent: 3, start: 120, end: 150 }])
  writer.pass(20_000)
  expect(writer.sent().filter(({ service }) => service === 'api')).toHaveLength(2)
  const { data } = ask(writer, { kind: 'dependencies' }) as unknown as { data: object[] }
  expect(data).toContainEqual({ parent: 'controller', child: 'api', callCount: 1 })
})
