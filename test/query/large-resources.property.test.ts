import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { CausewayQueries } from '../../src/model/queries.ts'
import { envelopeBytes } from '../../src/model/otlp/outgoing-records.ts'
import { BadQuestion } from '../../src/query/question.ts'
import { answer } from '../../src/query/answer.ts'
import type { Question, TraceShape } from '../../src/query/question.ts'
import { hexTrace } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const KIB = 1024
/** What two pages may hold of envelopes, the next of which is divided before the first is shown, and one envelope more. */
const MOST_BYTES = 5 * KIB * KIB
const TURNS = 3

const shapes = [
  'jaeger',
  'jaegerV3',
  'jaegerStorage',
  'tempoProtobuf',
  'tempoProtobufV2',
  'tempoJson',
] as const
const traceId = hexTrace(1)
const questions = fc.oneof(
  fc.constantFrom<TraceShape>(...shapes).map((shape): Question => ({ kind: 'sentTrace', traceId, shape })),
  fc.constantFrom<Question>(
    { kind: 'spans', part: {} },
    { kind: 'spans', part: { limit: 20 } },
    { kind: 'traceDiff', base: traceId, compare: traceId, format: 'trace-summary-v0-native' },
  ),
)

/** Traces that are too large to compare are refused once that is known. */
function* orRefused(pieces: Iterable<string | Uint8Array>): Generator<string | Uint8Array> {
  try {
    yield* pieces
  } catch (error) {
    if (!(error instanceof BadQuestion)) throw error
  }
}

/** The most bytes of different envelopes that were asked for between two pieces of an answer, and the bytes of the answer. */
function costOf(queries: CausewayQueries, question: Question): { held: number; shown: number } {
  const held = new Map<number, number>()
  const watched = Object.create(queries, {
    envelopes: {
      value: (scope: number) => {
        const envelopes = queries.envelopes(scope)
        held.set(scope, envelopes === undefined ? 0 : envelopeBytes(envelopes))
        return envelopes
      },
    },
  }) as CausewayQueries
  const found = answer(watched, question)
  if (found.kind !== 'found') throw new Error(found.kind)
  let [most, shown] = [0, 0]
  for (const piece of orRefused(found.pieces)) {
    expect(piece.length).toBeLessThan(MOST_BYTES)
    shown += piece.length
    most = Math.max(
      most,
      [...held.values()].reduce((sum, bytes) => sum + bytes, 0),
    )
    held.clear()
  }
  return { held: most, shown }
}

test('however many large resources the spans of a trace have, few of them are held at a time', async () => {
  const sizes = fc.array(fc.constantFrom(100, 300 * KIB, 900 * KIB), { minLength: 1, maxLength: 16 })
  const drawn = fc.asyncProperty(
    sizes,
    fc.array(questions, { minLength: 1, maxLength: 3 }),
    async (all, asked) => {
      using writer = await TestWriter.open()
      // Their spans come in turns, as those of several senders do.
      for (let turn = 0; turn < TURNS; turn++)
        for (const [at, size] of all.entries()) {
          const id = turn * all.length + at + 1
          writer.spans(`${at} `.padEnd(size, 'x'), [{ trace: 1, id, ...(id > 1 && { parent: 1 }) }])
        }
      const once = all.reduce((sum, size) => sum + size + TURNS * KIB, KIB)
      writer.pass(1_000_000)
      for (const question of asked) {
        const { held, shown } = costOf(writer.queries(), question)
        expect(held).toBeLessThan(MOST_BYTES)
        // Tempo's JSON shows a resource again where another comes between.
        if (!('shape' in question && question.shape === 'tempoJson')) expect(shown).toBeLessThan(2 * once)
      }
    },
  )
  await fc.assert(drawn, { numRuns: 20, endOnFailure: true })
})
