import type { ChangeSpan, Trace } from '../../model/ports/link-port.ts'
import type { LinkContext } from '../link-context.ts'

/** As many traces in which a CPID has a change span as are looked at, newest first, for one of the same cascade. */
const MAX_LOOKED_AT = 32

/** True when spans of the trace's cascade may be in other traces: a full trace goes on in an episode. */
export function hasOtherParts(trace: Trace): boolean {
  return trace.cascade !== trace.id || !trace.open
}

/** The trace in which a span stands in a cascade: this one if it was sent there, else another part of the same cascade. */
export function partWith({ store }: LinkContext, trace: Trace, row: number): Trace | undefined {
  if (store.wasSent(trace.id, row)) return trace
  if (!hasOtherParts(trace)) return undefined
  for (const id of store.tracesOfSpan(row)) {
    const part = store.trace(id)
    if (part !== undefined && part.id !== trace.id && part.cascade === trace.cascade) return part
  }
  return undefined
}

/** The change span of a CPID in a cascade: in this trace if it is there, else in another part. */
export function changeInCascade({ store }: LinkContext, trace: Trace, cpid: number): ChangeSpan | undefined {
  const here = store.changeSpan(cpid, trace.id)
  if (here !== undefined || !hasOtherParts(trace)) return here
  return store
    .newestChangeSpans(cpid, MAX_LOOKED_AT)
    .find((change) => store.trace(change.trace)?.cascade === trace.cascade)
}
