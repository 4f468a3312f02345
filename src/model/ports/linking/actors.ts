import type { ArrivedSpan } from './spans.ts'
import type { Trace } from './traces.ts'

/** Who wrote in which trace, as far as a cluster was looked at from outside. */
export interface TraceActors {
  /** Notes who made the write that a span tells of, which was sent into the trace. */
  add(trace: Trace, span: ArrivedSpan): void
}
