import type { Link } from '@opentelemetry/api'

/**
 * The trace context that an object carries: the changes that its state came from (section 4.2 of the CPID paper). CPIDs are in canonical
 * text: lower case, dashed.
 */
export interface TraceContext {
  /** The change the state came from. */
  readonly cpid: string
  /** Some of the CPIDs that it descends from, nearest first; the list may be incomplete (section 3.5). */
  readonly ancestors: readonly string[]
  /** The span that wrote the object, if the object names it and `keepTraceparent` is set. */
  readonly link?: Link
}
