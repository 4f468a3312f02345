import { context, createContextKey, type Context } from '@opentelemetry/api'
import { soundContext } from '../sound-input.ts'
import type { TraceContext } from './trace-context.ts'

const KEY = createContextKey('causeway.trace_context')

/** A context of OpenTelemetry that carries a trace context too; the one given, where that has a CPID that is no UUID. */
export function setTraceContext(parent: Context, traceContext: TraceContext): Context {
  const sound = soundContext(traceContext)
  return sound === undefined ? parent : parent.setValue(KEY, sound)
}

/** The trace context that a context of OpenTelemetry carries. */
export function getTraceContext(from: Context): TraceContext | undefined {
  return from.getValue(KEY) as TraceContext | undefined
}

/** The trace context of the work that is being done just now. */
export function activeTraceContext(): TraceContext | undefined {
  return getTraceContext(context.active())
}

/**
 * Does work that a trace context is the cause of: spans begun and lines logged inside are of its CPID, also after an
 * `await`, as far as OpenTelemetry has a context manager. Returns what `work` returns; without a trace context there is
 * nothing but the call.
 */
export function withTraceContext<T>(traceContext: TraceContext | undefined, work: () => T): T {
  if (traceContext === undefined) return work()
  return context.with(setTraceContext(context.active(), traceContext), work)
}
