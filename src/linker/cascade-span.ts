import {
  CPID_CASCADE_CLOCK_SKEW,
  CPID_CASCADE_DURATION_MS,
  CPID_CASCADE_MERGES,
  CPID_CASCADE_MISSING,
  CPID_CASCADE_SERVICES,
  CPID_CASCADE_SPANS,
  CPID_CASCADE_TRUNCATED,
} from '../model/attributes.ts'
import { NANOS_PER_MS, type UnixNanos } from '../model/clock.ts'
import type { Cpid } from '../model/cpid.ts'
import type { Trace } from '../model/ports/linking/traces.ts'
import { derivedSpanId, numberBytes } from './changes/derived-ids.ts'
import type { LinkContext } from './link-context.ts'
import { observeCascade } from './causes/observe.ts'
import { sendSynthetic } from './changes/synthetic-span.ts'

/**
 * Says how a cascade went, of which this is the last trace to end, where it began: from first to last activity in all of its
 * traces, under the root of the first.
 */
export function sendCascadeSpan(ctx: LinkContext, last: Trace, root: Cpid): void {
  const parts = last.cascade === last.id ? [last] : ctx.traces.partsOf(last.cascade)
  const first = parts[0] ?? last
  const { startNs, endNs } = boundsOf(parts)
  const sum = (of: 'controllerSpans' | 'merges'): bigint =>
    BigInt(parts.reduce((total, part) => total + part[of], 0))
  const spanId = derivedSpanId('cascade', first.traceId, numberBytes(last.episode))
  sendSynthetic(ctx, first, {
    spanId,
    parentId: first.rootSpan,
    name: 'cascade',
    cpid: root,
    startNs,
    endNs,
    attributes: {
      [CPID_CASCADE_DURATION_MS]: (endNs - startNs) / NANOS_PER_MS,
      [CPID_CASCADE_SPANS]: sum('controllerSpans'),
      [CPID_CASCADE_SERVICES]: BigInt(
        parts.length === 1 ? first.services : ctx.traces.servicesIn(last.cascade),
      ),
      [CPID_CASCADE_MERGES]: sum('merges'),
      [CPID_CASCADE_MISSING]: BigInt(last.missing),
      ...(parts.some(({ clockSkew }) => clockSkew) && { [CPID_CASCADE_CLOCK_SKEW]: true }),
      ...(parts.some(({ truncated }) => truncated) && { [CPID_CASCADE_TRUNCATED]: true }),
    },
    senderScope: ctx.mergelogs.find(last.root)?.scope,
  })
  observeCascade(ctx, { spanId, traceId: first.traceId, ns: endNs - startNs })
}

/** Of the traces whose times can be believed, or of all where none's can. */
function boundsOf(parts: readonly Trace[]): { startNs: UnixNanos; endNs: UnixNanos } {
  const sure = parts.filter(({ doubtfulTimes }) => !doubtfulTimes)
  const [one, ...others] = sure.length === 0 ? parts : sure
  let [startNs, endNs] = [one?.firstNs ?? 0n, one?.lastNs ?? 0n]
  for (const { firstNs, lastNs } of others) {
    if (firstNs < startNs) startNs = firstNs
    if (lastNs > endNs) endNs = lastNs
  }
  return { startNs, endNs }
}
