import {
  context,
  INVALID_SPAN_CONTEXT,
  trace,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api'
import { attempt } from '../attempt.ts'

/** Longer error texts mostly contain the whole answer. */
const LONGEST_TEXT = 256

/** Runs work in a span, which it ends with `endSpan`; in a no-op span if none can be started. */
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

/** Ends a span; errors of span processors are only logged. */
export function endSpan(span: Span): void {
  attempt(() => span.end(), undefined)
}

/** The first line of an error: clients of API servers put whole answers after it, which may hold secrets. */
export function errorLine(error: unknown): string {
  const text = attempt(() => (error instanceof Error ? error.message : String(error)), 'an error')
  return shortened(text)
}

export function shortened(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, LONGEST_TEXT)
}
