import { NANOS_PER_MS } from '../../model/clock.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { Cause } from './causes.ts'
import type { LinkContext } from '../link-context.ts'

const MS_PER_SECOND = 1000

/**
 * How long a write took to be seen: only where the span observed exactly what the writer wrote, and only the first time
 * its service did, since controllers look at the same version again at every resync. Clocks that differ between
 * machines may make it negative; it counts as nothing then.
 */
export function observeHop(
  { objects, observations }: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
  { writer, version }: Cause,
): void {
  if (!objects.wrote(writer.row, version) || !objects.isFirstToObserve(span.service, version)) return
  const waitedNs = span.startNs - writer.endNs
  observations.push({
    kind: 'hop',
    service: span.service,
    objectKind: objects.kindOf(version.object),
    seconds: waitedNs > 0n ? secondsOf(waitedNs) : 0,
    traceId: trace.traceId,
    spanId: span.spanId,
  })
}

/** How long a cascade took, once it has settled; the ids are those of its `cascade` span. */
export function observeCascade(
  { observations }: LinkContext,
  { ns, traceId, spanId }: { ns: bigint; traceId: Buffer; spanId: bigint },
): void {
  observations.push({ kind: 'cascade', seconds: secondsOf(ns), traceId, spanId })
}

const secondsOf = (ns: bigint): number => Number(ns) / Number(NANOS_PER_MS) / MS_PER_SECOND
