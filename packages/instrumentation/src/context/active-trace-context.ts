import { context, createContextKey, type Context } from '@opentelemetry/api'
import { soundContext } from '../sound-input.ts'
import type { TraceContext } from './trace-context.ts'

const KEY = createContextKey('causeway.trace_context')

/** An OpenTelemetry context that also carries a trace context; `parent` itself if the CPID is not a UUID. */
export function setTraceContext(parent: Context, traceContext: TraceContext): Context {
  const sound = soundContext(traceContext)
  return sound === undefined ? parent : parent.setValue(KEY, sound)
}

/** The trace context in an OpenTelemetry context. */
export function getTraceContext(from: Context): TraceContext | undefined {
  return from.getValue(KEY) as TraceContext | undefined
}

/** The trace context of the active OpenTelemetry context. */
export function activeTraceContext(): TraceContext | undefined {
  return getTraceContext(context.active())
}

/**
 * Runs work with a trace context: spans begun and lines logged in it get its CPID, also after an `await` if OpenTelemetry has a
 * context manager. Returns what `work` returns; without a trace context it only calls `work`.
 */
export function withTraceContext<T>(traceContext: TraceContext | undefined, work: () => T): T {
  if (traceContext === undefined) return work()
  return context.with(setTraceContext(context.active(), traceContext), work)
}
