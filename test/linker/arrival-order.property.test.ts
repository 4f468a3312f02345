import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid, hexSpan, type SpanSketch } from '../support/otlp-requests.ts'
import { traceOf, type SentSpan } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

interface History {
  /** sources[i]: what CPID i was merged from, always among those before it. */
  sources: number[][]
  spans: SpanSketch[]
}

const history: fc.Arbitrary<History> = fc
  .array(fc.array(fc.nat(20), { maxLength: 3 }), { minLength: 1, maxLength: 8 })
  .chain((picks) => {
    const sources = picks.map((pick, at) => [...new Set(at === 0 ? [] : pick.map((number) => number % at))])
    const tree = fc.record({
      cpid: fc.nat(sources.length - 1),
      parents: fc.array(fc.nat(10), { maxLength: 5 }),
      inherits: fc.boolean(),
    })
    return fc.array(tree, { maxLength: 5 }).map((trees) => ({
      sources,
      spans: trees.flatMap(({ cpid: number, parents, inherits }, trace): SpanSketch[] => [
        { trace: trace + 1, id: (trace + 1) * 100, cpid: cpid(number + 1) },
        ...parents.map((parent, at) => ({
          trace: trace + 1,
          id: (trace + 1) * 100 + at + 1,
          parent: (trace + 1) * 100 + (parent % (at + 1)),
          ...(!inherits && { cpid: cpid(number + 1) }),
        })),
      ]),
    }))
  })

/** The roots of each CPID, the slow and obvious way. */
function rootsOf(sources: readonly number[][], at: number): number[] {
  const from = sources[at] ?? []
  return from.length === 0 ? [at] : [...new Set(from.flatMap((source) => rootsOf(sources, source)))]
}

const described = (span: SentSpan): string => `${span.traceId} ${span.spanId} under ${span.parentSpanId}`

test('in whatever order and however often spans and mergelogs arrive, each span stands once in the trace of each root of its CPID, under its own parent or the change of its CPID', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      async (drawn, chance) => {
        const { sources, spans } = drawn
        using writer = await TestWriter.open()
        const arrivals = [
          ...sources.map(
            (from, at) => () =>
              writer.mergelogs('merger', [
                { new: cpid(at + 1), sources: from.map((source) => cpid(source + 1)) },
              ]),
          ),
          ...spans.map((span) => () => writer.spans('controller', [span])),
        ]
        const shuffled = arrivals.map((arrive) => ({ arrive, at: Number(chance.next().value) }))
        for (const { arrive } of [...shuffled].sort((a, b) => a.at - b.at)) {
          arrive()
          if ((chance.next().value ?? 0) < 0.5) writer.link()
          if ((chance.next().value ?? 0) < 0.2) arrive()
        }
        writer.link()

        const sent = writer.sent()
        const places = new Set(sent.map(described))
        expect(places.size).toBe(sent.length)
        const cpidOf = new Map(
          spans.flatMap((span) => (span.cpid === undefined ? [] : [[span.trace, span.cpid]])),
        )
        for (const span of spans) {
          const number = Number.parseInt((cpidOf.get(span.trace) ?? '').slice(-12), 16) - 1
          const expected = rootsOf(sources, number).map((root) => traceOf(cpid(root + 1)))
          const mine = sent.filter((other) => other.spanId === hexSpan(span.id))
          expect(mine.map((other) => other.traceId).sort()).toEqual(expected.sort())
          for (const { traceId, parentSpanId } of mine) {
            if (span.parent !== undefined) expect(parentSpanId).toBe(hexSpan(span.parent))
            else {
              const above = sent.find((other) => other.traceId === traceId && other.spanId === parentSpanId)
              expect(above?.attributes).toMatchObject({
                'cpid.id': cpidOf.get(span.trace),
                'cpid.synthetic': true,
              })
            }
          }
        }
        expectSoundTraces(sent)
      },
    ),
    { numRuns: 150 },
  )
})
