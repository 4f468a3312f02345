import {
  SENT_COPY,
  SENT_INHERITED_CPID,
  SENT_PATCHED,
  type ArrivedSpan,
  type AwaitedParent,
  type ChangeSpan,
  type Trace,
} from '../model/link-port.ts'
import { causeIn, type Cause } from './causes.ts'
import { ensureChangeSpan } from './change-spans.ts'
import type { LinkContext } from './link-context.ts'
import { repointedLinks } from './repoint-links.ts'
import { observeHop } from './observe.ts'
import { noteActivity } from './settling.ts'

/** About what the ids, attributes and framing added to a span weigh. */
const ADDED_BYTES = 120

export interface Placing {
  trace: Trace
  /** The CPID under whose change span it hangs when it has no parent in the trace. */
  cpid: number
  /** It also stands in another trace. */
  copy: boolean
  /** What had been awaiting this span. */
  awaited: readonly AwaitedParent[]
}

/** Sends a span into a trace, once. Change spans and counts of the trace follow. */
export function placeSpan(ctx: LinkContext, span: ArrivedSpan, placing: Placing): void {
  const { store, counts } = ctx
  const { trace, cpid } = placing
  if (store.wasSent(trace.id, span.row)) return
  const change = ensureChangeSpan(ctx, trace, cpid, span.startNs)
  const { parentId, cause } = parentIn(ctx, span, placing, change)
  const extra = span.hasLinks ? repointedLinks(store, trace, span.row, parentId) : undefined
  store.send({
    trace: trace.id,
    span: span.row,
    parentId,
    flags:
      (placing.copy ? SENT_COPY : 0) |
      (span.inherited ? SENT_INHERITED_CPID : 0) |
      (extra === undefined ? 0 : SENT_PATCHED),
    extra,
    ...(cause !== undefined && { cause: cause.writer.row }),
  })
  if (cause !== undefined && !placing.copy) observeHop(ctx, trace, span, cause)
  if (span.writes) store.addWrites(trace.id, span, store.wroteBy(span.row))
  countIn(ctx, trace, span)
  counts.sent++
}

interface Parent {
  parentId: bigint
  cause?: Cause
}

/**
 * Its local parent where that is in the trace or still to come (then it is brought along when it does), else its
 * cause, else the change span. A parent that lies below the span counts as none.
 */
function parentIn(ctx: LinkContext, span: ArrivedSpan, placing: Placing, change: ChangeSpan): Parent {
  const local = localParentIn(ctx, span, placing)
  if (local !== undefined) return { parentId: local }
  const cause =
    span.observes && ctx.settings.mode === 'cascade' ? causeIn(ctx, placing.trace, span) : undefined
  return cause === undefined ? { parentId: change.spanId } : { parentId: cause.writer.spanId, cause }
}

function localParentIn(ctx: LinkContext, span: ArrivedSpan, placing: Placing): bigint | undefined {
  const { store } = ctx
  const { trace, cpid, awaited } = placing
  const { parentId, parentRow, origin } = span
  if (parentId === 0n) return undefined
  if (parentRow === undefined || !store.isLinked(parentRow)) {
    store.awaitParent(origin, parentId, trace.id, cpid)
    return parentId
  }
  if (store.wasSent(trace.id, parentRow)) {
    const hasChildren = awaited.some((child) => child.trace === trace.id)
    return hasChildren && liesBelow(ctx, trace, parentRow, span) ? undefined : parentId
  }
  if (store.isWaiting(parentRow)) {
    store.awaitParent(origin, parentId, trace.id, cpid)
    return parentId
  }
  return undefined
}

/** True when going up from `row` by the local parents sent into the trace leads to `top`. */
function liesBelow({ store }: LinkContext, trace: Trace, row: number, top: ArrivedSpan): boolean {
  const seen = new Set<number>()
  let at: number | undefined = row
  while (at !== undefined && !seen.has(at)) {
    seen.add(at)
    const span = store.span(at)
    if (span === undefined) return false
    if (span.parentId === top.spanId) return true
    at = span.parentRow !== undefined && store.wasSent(trace.id, span.parentRow) ? span.parentRow : undefined
  }
  return false
}

function countIn(ctx: LinkContext, trace: Trace, span: ArrivedSpan): void {
  trace.sentSpans++
  trace.sentBytes += span.bytes + ADDED_BYTES
  trace.controllerSpans++
  if (span.startNs > 0n && span.startNs < trace.firstNs) trace.firstNs = span.startNs
  if (span.endNs > trace.lastNs) trace.lastNs = span.endNs
  if (ctx.store.addService(trace, span.service)) trace.services++
  noteActivity(ctx, trace)
  ctx.store.touch(trace)
}
