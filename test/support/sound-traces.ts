import { expect } from '@jest/globals'
import type { SentSpan } from './sent-spans.ts'

/**
 * What Jaeger and Tempo need of a trace: every span id once, one parentless span, no loop, no link to another span of
 * the same id unless it is `forged`, and no orphan but where the parent never arrived.
 */
export function expectSoundTraces(
  sent: readonly SentSpan[],
  neverArrived: ReadonlySet<string> = new Set(),
  forged: ReadonlySet<string> = new Set(),
): void {
  for (const traceId of new Set(sent.map((span) => span.traceId))) {
    const inTrace = sent.filter((span) => span.traceId === traceId)
    const mine = new Map(inTrace.map((span) => [span.spanId, span]))
    expect(mine.size).toBe(inTrace.length)
    expect(inTrace.filter((span) => span.parentSpanId === '').length).toBe(1)
    for (const span of inTrace) {
      expectTopped(span, mine, neverArrived)
      for (const link of span.links) {
        const here = mine.get(link.spanId)
        if (here !== undefined && !forged.has(here.spanId)) expect(originOf(here)).toBe(meantBy(link, sent))
      }
    }
  }
}

function expectTopped(
  span: SentSpan,
  mine: ReadonlyMap<string, SentSpan>,
  neverArrived: ReadonlySet<string>,
): void {
  const seen = new Set<string>()
  for (let at = span; at.parentSpanId !== '';) {
    const above = mine.get(at.parentSpanId)
    if (above === undefined) {
      if (neverArrived.has(at.parentSpanId)) return
      throw new Error(`${at.name} hangs under ${at.parentSpanId}, which is not in ${at.traceId}`)
    }
    if (seen.has(above.spanId)) throw new Error(`${span.name} is in a loop in ${span.traceId}`)
    seen.add(above.spanId)
    at = above
  }
}

const originOf = (span: SentSpan): unknown => span.attributes['cpid.original_trace_id'] ?? span.traceId

/** The original trace of the span a link means: the one it names, or that of the span sent into the trace it names. */
function meantBy(link: { traceId: string; spanId: string }, sent: readonly SentSpan[]): unknown {
  const target = sent.find((span) => span.traceId === link.traceId && span.spanId === link.spanId)
  return target === undefined ? link.traceId : originOf(target)
}
