import {
  CPID_CASCADE_CLOCK_SKEW,
  CPID_CASCADE_DURATION_MS,
  CPID_CASCADE_MERGES,
  CPID_CASCADE_MISSING,
  CPID_CASCADE_SERVICES,
  CPID_CASCADE_SPANS,
  CPID_CASCADE_TRUNCATED,
} from '../model/attributes.ts'
import type { Trace } from '../model/link-port.ts'
import { derivedSpanId, numberBytes } from './derived-ids.ts'
import type { LinkContext } from './link-context.ts'
import { observeCascade } from './observe.ts'
import { sendSynthetic } from './synthetic-span.ts'

const NANOS_PER_MS = 1_000_000n

/** Something of an open trace arrived: it stays open. */
export function noteActivity({ store }: LinkContext, trace: Trace): void {
  if (!trace.open) return
  trace.lastArrivalMs = store.activeMs
  trace.lastWallMs = store.wallMs
  store.touch(trace)
}

/** Settles open traces whose silence or age has reached its limit; true when more may be due. */
export function settleDue(ctx: LinkContext, limit: number): boolean {
  const { store, settings } = ctx
  const due = store.dueTraces(limit)
  for (const trace of due) {
    const dueMs = Math.min(trace.lastArrivalMs + settings.settleAfterMs, trace.openedMs + settings.maxOpenMs)
    if (dueMs <= store.activeMs) settle(ctx, trace)
    else {
      trace.dueMs = dueMs
      store.touch(trace)
    }
  }
  return due.length === limit
}

/** Ends a trace: it takes no more spans. In cascade mode a `cascade` span from first to last activity says so. */
export function settle(ctx: LinkContext, trace: Trace): void {
  if (!trace.open) return
  const { store, graph, counts, settings } = ctx
  trace.missing = store.countMissing(trace)
  const root = graph.maybeNode(trace.root)
  if (settings.mode === 'cascade' && root !== undefined) {
    const spanId = derivedSpanId('cascade', trace.traceId, numberBytes(trace.episode))
    sendSynthetic(ctx, trace, {
      spanId,
      parentId: trace.rootSpan,
      name: 'cascade',
      cpid: root.cpid,
      startNs: trace.firstNs,
      endNs: trace.lastNs,
      attributes: {
        [CPID_CASCADE_DURATION_MS]: (trace.lastNs - trace.firstNs) / NANOS_PER_MS,
        [CPID_CASCADE_SPANS]: BigInt(trace.controllerSpans),
        [CPID_CASCADE_SERVICES]: BigInt(trace.services),
        [CPID_CASCADE_MERGES]: BigInt(trace.merges),
        [CPID_CASCADE_MISSING]: BigInt(trace.missing),
        ...(trace.clockSkew && { [CPID_CASCADE_CLOCK_SKEW]: true }),
        ...(trace.truncated && { [CPID_CASCADE_TRUNCATED]: true }),
      },
      senderScope: store.mergelog(trace.root)?.scope,
    })
    observeCascade(ctx, trace, spanId)
  }
  trace.open = false
  counts.settled++
  store.touch(trace)
}
