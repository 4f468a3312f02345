import { expect, test } from '@jest/globals'
import { answer } from '../../src/query/answer.ts'
import type { Question } from '../../src/query/question.ts'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import { message, nanos, nested, wireTypes, WRONG } from '../support/protobuf-by-hand.ts'
import { TestWriter } from '../support/test-writer.ts'

const START_NS = 1_767_225_600_000_000_000n

function attribute(key: string, ...value: Buffer[]): Buffer {
  return Buffer.concat([message(1, Buffer.from(key)), message(2, ...value)])
}

const text = (key: string, value: string): Buffer => attribute(key, message(1, Buffer.from(value)))

function request(fields: readonly Buffer[], resource = Buffer.alloc(0)): Buffer {
  const span = Buffer.concat([
    message(1, Buffer.alloc(16, 1)),
    message(2, Buffer.alloc(8, 2)),
    message(5, Buffer.from('work')),
    nanos(7, START_NS),
    nanos(8, START_NS + 1_000_000n),
    ...fields,
  ])
  return message(
    1,
    message(1, message(1, text('service.name', 'web')), resource),
    message(2, message(2, span)),
  )
}

const search = (query: string) => ({ pipeline: readTraceQl(query).pipeline, limit: 20, spansPerTrace: 3 })

function asked(writer: TestWriter, question: Question): string {
  const found = answer(writer.queries(), question)
  if (found.kind !== 'found') throw new Error(found.kind)
  return [...found.pieces].join('')
}

async function kept(bytes: Buffer): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.ingest('traces', bytes)
  writer.pass(1_000_000)
  return writer
}

/** The span is found, by what it is and not by the attribute; lists and metrics do not fail on it. */
function expectAnswers(writer: TestWriter): void {
  expect(
    asked(writer, { kind: 'searchTraces', shape: 'tempo', search: search('{ name = "work" }') }),
  ).toContain('"traceID"')
  for (const query of ['{ span.odd != nil }', '{ span.odd = 7 || span.odd =~ "s.*" || status = error }'])
    expect(
      JSON.parse(asked(writer, { kind: 'searchTraces', shape: 'tempo', search: search(query) })),
    ).toMatchObject({
      traces: [],
    })
  const names = { version: 2, limit: 100, search: search('{}') } as const
  expect(asked(writer, { kind: 'tags', ...names })).toContain('"service.name"')
  expect(asked(writer, { kind: 'tagValues', tag: 'span.odd', ...names })).toContain('"tagValues":[]')
  const range = {
    fromNs: START_NS - 1n,
    toNs: START_NS + 1_000_000_000n,
    stepNs: 1_000_000_001n,
    isInstant: true,
  }
  const query = readTraceQl('{} | rate() by(span.odd)')
  expect(asked(writer, { kind: 'metrics', query, range, series: 10, exemplars: 10 })).toContain('"series":[{')
}

test.each(WRONG)('a %s value sent as %s is no value', async (_, __, bytes) => {
  // Nothing comes after it in the span.
  using writer = await kept(request([message(9, attribute('odd', bytes))]))
  expectAnswers(writer)
})

test.each(WRONG)('a %s value sent as %s in a list is none of its values', async (_, __, bytes) => {
  using writer = await kept(request([message(9, attribute('odd', message(5, message(1, bytes))))]))
  expectAnswers(writer)
})

test.each([1, 9, 11, 13, 15].flatMap((field) => wireTypes(field).map((one) => [field, ...one] as const)))(
  'a span with field %d as %s is rejected, or answered',
  async (_, __, bytes) => {
    using writer = await TestWriter.open()
    const outcome = writer.ingest('traces', request([bytes]))
    writer.pass(1_000_000)
    if (outcome.kind === 'accepted' && outcome.rejected === 0) expectAnswers(writer)
    else
      expect(asked(writer, { kind: 'searchTraces', shape: 'tempo', search: search('{}') })).toContain(
        '"traces":[]',
      )
  },
)

test('a list of very many lists, one in the other, is no value', async () => {
  const value = nested(20_000, [1, 5], message(1, Buffer.from('x')))
  using writer = await kept(request([message(9, attribute('odd', value))]))
  expectAnswers(writer)
})

test('a resource with very many attributes is read', async () => {
  const many = Array.from({ length: 150_000 }, (_, at) => message(1, text(`a${at}`, 'x')))
  using writer = await kept(request([message(9, text('one', 'x'))], Buffer.concat(many)))
  expect(
    asked(writer, { kind: 'searchTraces', shape: 'tempo', search: search('{ resource.a149999 = "x" }') }),
  ).toContain('"traceID"')
})
