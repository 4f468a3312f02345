import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { play, SPAN_IDS, steps } from '../support/drawn-history.ts'
import { hexSpan, hexTrace } from '../support/otlp-requests.ts'
import { countedByTempo } from '../support/sent-requests.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

test.each(['cascade', 'links'] as const)(
  '%s: whatever arrives whenever, traces are sound (one root each, no loop, no span id twice) and no span is lost',
  async (mode) => {
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        using writer = await TestWriter.open({ linking: { mode, maxFanout: 2, maxTraceSpans: 12 } })
        const arrived = play(() => writer, drawn)
        writer.pass(11_000)
        // What waits for each other waits twice as long.
        writer.pass(10_000)
        writer.pass(301_000)
        writer.pass(11_000)

        const sent = writer.sent()
        const original = new Set([hexTrace(1), hexTrace(2)])
        const missing = new Set<string>()
        for (let trace = 1; trace <= 2; trace++) {
          for (let id = 1; id <= SPAN_IDS; id++) {
            const span = arrived.get(`${trace} ${trace * 100 + id}`)
            if (span === undefined || span.spanId !== undefined) missing.add(hexSpan(trace * 100 + id))
          }
        }
        const forged = new Set([...arrived.values()].flatMap(({ spanId }) => spanId ?? []))
        expectSoundTraces(
          sent.filter((span) => !original.has(span.traceId)),
          missing,
          forged,
        )
        const delivered = new Set(sent.map((span) => span.spanId))
        for (const span of arrived.values()) expect(delivered).toContain(span.spanId ?? hexSpan(span.id))
        const weighed = writer.db
          .prepare<[], { id: string; bytes: number }>(
            'SELECT lower(hex(trace_id)) AS id, sent_bytes AS bytes FROM traces',
          )
          .all()
        const counted = countedByTempo(writer.db, 1)
        for (const { id, bytes } of weighed) expect(counted.get(id) ?? 0).toBeLessThanOrEqual(bytes)
        expect(writer.writer.gauges()).toMatchObject({ waiting: 0, openTraces: 0 })
      }),
      { numRuns: 250 },
    )
  },
)
