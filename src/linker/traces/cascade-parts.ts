import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ChangeSpan } from '../../model/ports/linking/changes.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'

/** As many traces in which a CPID has a change span as are looked at, newest first, for one of the same cascade. */
const MAX_LOOKED_AT = 32

/** True when spans of the trace's cascade may be in other traces: a full trace goes on in an episode. */
export function hasOtherParts(trace: Trace): boolean {
  return trace.cascade !== trace.id || !trace.open
}

/** The trace in which a span stands in a cascade: this one if it was sent there, else another part of the same cascade. */
export function partWith(
  { outbox, traces }: Pick<LinkPorts, 'outbox' | 'traces'>,
  trace: Trace,
  row: number,
): Trace | undefined {
  if (outbox.wasSent(trace.id, row)) return trace
  if (!hasOtherParts(trace)) return undefined
  for (const id of outbox.tracesOfSpan(row)) {
    const part = traces.trace(id)
    if (part !== undefined && part.id !== trace.id && part.cascade === trace.cascade) return part
  }
  return undefined
}

/** The change span of a CPID in a cascade: in this trace if it is there, else in another part. */
export function changeInCascade(
  { changes, traces }: Pick<LinkPorts, 'changes' | 'traces'>,
  trace: Trace,
  cpid: number,
): ChangeSpan | undefined {
  const here = changes.find(cpid, trace.id)
  if (here !== undefined || !hasOtherParts(trace)) return here
  return changes
    .newest(cpid, MAX_LOOKED_AT)
    .find((change) => traces.trace(change.trace)?.cascade === trace.cascade)
}
