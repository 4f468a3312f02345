import {
  context,
  trace,
  type Context,
  type HrTime,
  type Span,
  type SpanOptions,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'

/** A provider whose spans are those of whichever provider the context leads to, with times from the clock given. */
export function routedTracers(leadTo: (from: Context) => TracerProvider, now: () => HrTime): TracerProvider {
  return { getTracer: (...scope) => tracerFor((from) => leadTo(from).getTracer(...scope), now) }
}

function tracerFor(leadTo: (from: Context) => Tracer, now: () => HrTime): Tracer {
  function startSpan(name: string, options: SpanOptions = {}, from = context.active()): Span {
    const span = leadTo(from).startSpan(name, { startTime: now(), ...options }, from)
    const end = span.end.bind(span)
    span.end = (endTime) => end(endTime ?? now())
    return span
  }

  function startActiveSpan(name: string, ...rest: unknown[]): unknown {
    const play = rest.pop() as (span: Span) => unknown
    const [options = {}, from = context.active()] = rest as [SpanOptions?, Context?]
    const span = startSpan(name, options, from)
    return context.with(trace.setSpan(from, span), () => play(span))
  }

  return { startSpan, startActiveSpan: startActiveSpan }
}
