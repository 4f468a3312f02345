import { expect } from '@jest/globals'
import fc from 'fast-check'
import { pruneAll } from '../graph/pruning/stored.ts'
import { cpid } from './otlp-requests.ts'
import { TestWriter } from './test-writer.ts'

const CPIDS = 5
const SETTLED_MS = 300_001
const number = fc.integer({ min: 1, max: CPIDS })

type Mode = 'cascade' | 'links' | 'passthrough'

type Step =
  | { readonly does: 'merge'; readonly at: number; readonly sources: readonly number[] }
  | { readonly does: 'span'; readonly at: number }
  | { readonly does: 'pass'; readonly ms: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constant('merge' as const),
    at: number,
    sources: fc.uniqueArray(number, { maxLength: 2 }),
  }),
  { weight: 2, arbitrary: fc.record({ does: fc.constant('span' as const), at: number }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('pass' as const), ms: fc.constantFrom(1_000, SETTLED_MS) }),
  },
)

/** The fifth's tombstone is forgotten, and it is pruned once more without having had a trace of its own in between. */
const PRUNED_TWICE: Step[] = [
  { does: 'span', at: 5 },
  { does: 'pass', ms: SETTLED_MS },
  { does: 'span', at: 2 },
  { does: 'pass', ms: SETTLED_MS },
  { does: 'span', at: 5 },
  { does: 'span', at: 1 },
  { does: 'pass', ms: SETTLED_MS },
  { does: 'merge', at: 5, sources: [1] },
  { does: 'pass', ms: SETTLED_MS },
  { does: 'span', at: 5 },
]

/** What backends hold: by trace and span id. */
class Held {
  readonly #spans = new Map<string, string>()
  #after = 0

  take(writer: TestWriter): void {
    for (const span of writer.sent(this.#after)) {
      const id = `${span.traceId} ${span.spanId}`
      const content = JSON.stringify(span, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      expect(`${id} ${this.#spans.get(id) ?? content}`).toBe(`${id} ${content}`)
      this.#spans.set(id, content)
    }
    this.#after = writer.writer.progress.lastDecision
  }
}

/** Draws changes and spans of few CPIDs, with hardly any tombstone kept: no span goes into a trace again with other content. */
export async function checkForgotten(mode: Mode, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      using writer = await TestWriter.open({ retention: { maxCpids: 1 }, linking: { mode } })
      const held = new Held()
      const merged = new Map<number, { new: string; sources: string[]; time: number }>()
      // A change is made before anything carries it.
      const made = new Map<number, number>()
      let nowMs = 1_000
      const madeMs = (change: number): number => {
        const ms = made.get(change) ?? nowMs - 1
        made.set(change, ms)
        return ms
      }
      writer.clock.advance(nowMs)
      for (const [at, one] of steps.entries()) {
        if (one.does === 'merge') {
          // A mergelog that comes again is the same.
          const sources = one.sources.filter((source) => source < one.at)
          for (const source of sources) madeMs(source)
          const drawn = { new: cpid(one.at), sources: sources.map(cpid), time: madeMs(one.at) }
          const mergelog = merged.get(one.at) ?? drawn
          merged.set(one.at, mergelog)
          writer.mergelogs('kubectl', [mergelog])
        } else if (one.does === 'span') {
          madeMs(one.at)
          writer.spans('controller', [{ trace: at + 1, id: at + 1, cpid: cpid(one.at), start: nowMs }])
        } else {
          writer.pass(one.ms)
          nowMs += one.ms
        }
        writer.link()
        held.take(writer)
        if (one.does === 'pass') pruneAll(writer)
      }
      writer.pass(2 * SETTLED_MS)
      held.take(writer)
    }),
    { numRuns, examples: [[PRUNED_TWICE]] },
  )
}
