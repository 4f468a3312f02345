import {
  context,
  INVALID_SPAN_CONTEXT,
  trace,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api'
import { attempt } from '../attempt.ts'

/** Longer texts of errors hold the answer they came from. */
const LONGEST_TEXT = 256

/** Does work inside a span, for it to end with `endSpan`; without one where none can be begun. */
export function inSpan<Outcome>(
  tracer: () => Tracer,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<Outcome>,
): Promise<Outcome> {
  const none = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
  const span = attempt(() => tracer().startSpan(name, options), none)
  return context.with(trace.setSpan(context.active(), span), () => work(span))
}

/** Whatever those who are told of it make of that. */
export function endSpan(span: Span): void {
  attempt(() => span.end(), undefined)
}

/** What everybody may read of an error: its first line, as clients of API servers have whole answers behind that. */
export function errorLine(error: unknown): string {
  const text = attempt(() => (error instanceof Error ? error.message : String(error)), 'an error')
  return shortened(text)
}

export function shortened(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, LONGEST_TEXT)
}
