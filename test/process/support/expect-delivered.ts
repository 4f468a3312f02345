import { expect } from '@jest/globals'
import { sentSpans } from '../../support/sent-spans.ts'
import { expectSoundTraces } from '../../support/sound-traces.ts'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import type { ExpectedSpan } from './cascade-load.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import type { ReceivedSpan } from '../../../lab/harness/sinks/received-spans.ts'
import { askStored, storedSpans } from '../../../lab/harness/causeway/stored-data.ts'
import type { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'

/** The database holds these spans, each once, and no others. */
export function expectStoredOnce(settings: CausewaySettings, spans: readonly ExpectedSpan[]): void {
  expect(storedSpans(settings)).toEqual(spans.map(({ origin, spanId }) => `${origin}/${spanId}`).sort())
}

/** Waits until the backend has all that was decided on, and these spans in exactly their traces; repeats are identical. */
export async function expectDelivered(
  settings: CausewaySettings,
  backend: Pick<TraceBackend, 'spans'>,
  spans: readonly ExpectedSpan[],
  longestMs?: number,
): Promise<void> {
  await eventually(() => {
    // Cheaper to ask again and again than what follows.
    expect(new Set(backend.spans.map(keyOf)).size).toBe(countDecided(settings))
    expect(decidedKeys(settings)).toEqual([...new Set(backend.spans.map(keyOf))].sort())
    expectInTheirTraces(spans, backend.spans)
  }, longestMs)
  const received = oneOfEach(backend.spans)
  const original = new Set(spans.map(({ origin }) => origin))
  const linked = received.filter((span) => !original.has(span.traceId))
  expectSoundTraces(linked.map((span) => ({ ...span, ...UNASKED })))
}

/** The spans, one of each; fails when one came again with other content. */
export function oneOfEach(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const seen = new Map<string, ReceivedSpan>()
  for (const span of spans) {
    const before = seen.get(keyOf(span))
    if (before === undefined) seen.set(keyOf(span), span)
    else
      expect({ name: span.name, content: span.content }).toEqual({
        name: before.name,
        content: before.content,
      })
  }
  return [...seen.values()]
}

/** Every span is in the traces where it belongs, and in no other. */
function expectInTheirTraces(spans: readonly ExpectedSpan[], received: readonly ReceivedSpan[]): void {
  const traces = new Map(spans.map(({ spanId }) => [spanId, new Set<string>()]))
  for (const { spanId, traceId } of received) traces.get(spanId)?.add(traceId)
  expect([...traces].map(([spanId, ids]) => ({ spanId, traces: [...ids].sort() }))).toEqual(
    spans.map(({ spanId, traces: expected }) => ({ spanId, traces: expected })),
  )
}

const keyOf = ({ traceId, spanId }: Pick<ReceivedSpan, 'traceId' | 'spanId'>): string =>
  `${traceId}/${spanId}`

function countDecided(settings: CausewaySettings): number {
  const count = askStored(settings, (db) =>
    db.prepare<[], number>('SELECT count(*) FROM outbox').pluck().get(),
  )
  return count ?? 0
}

/** Every span that the outbox holds, each once: deciding on one twice would be a fault. */
function decidedKeys(settings: CausewaySettings): string[] {
  return askStored(settings, (db) => sentSpans(db).map(keyOf).sort())
}

/** What the soundness of a trace does not depend on. */
const UNASKED = { service: '', startNs: 0n, endNs: 0n, attributes: {}, droppedLinks: 0 }
