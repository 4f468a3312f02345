import { CPID_ID, CPID_SYNTHETIC } from '../../model/attributes.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { Cpid } from '../../model/cpid.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import { sentSize } from '../../otlp/write/sent-size.ts'
import { encodeSpan, type AttributeValue, type SpanLink } from '../../otlp/write/encode-span.ts'
import type { LinkContext } from '../link-context.ts'
import { plausibilityOf, plausibleRange } from '../causes/plausible-time.ts'

export interface SyntheticSpan {
  spanId: bigint
  /** 0n for the root span of the trace. */
  parentId: bigint
  name: string
  /** The CPID it speaks of. */
  cpid: Cpid
  startNs: UnixNanos
  /** One nanosecond after its start if it is not later: Jaeger warns of spans that last no time. */
  endNs?: UnixNanos
  attributes?: Record<string, AttributeValue>
  links?: readonly SpanLink[]
  /** The change span it stands under in its cascade, when that is in another trace. */
  above?: { trace: number; spanId: bigint }
  /** The scope of the mergelog it stands for; its resource is the sender's. */
  senderScope: number | undefined
}

/** Decides that a span of Causeway's own making goes into a trace. */
export function sendSynthetic(ctx: LinkContext, trace: Trace, span: SyntheticSpan): void {
  const { counts, settings } = ctx
  const bytes = encodeSpan({
    traceId: trace.traceId,
    spanId: span.spanId,
    parentId: span.parentId,
    name: span.name,
    startNs: span.startNs,
    endNs: span.endNs !== undefined && span.endNs > span.startNs ? span.endNs : span.startNs + 1n,
    attributes: { [CPID_ID]: span.cpid, [CPID_SYNTHETIC]: true, ...span.attributes },
    links: span.links ?? [],
  })
  let scope = ctx.scopes.ownUnder(span.senderScope)
  let size = sentSize(bytes.length, ctx.scopes.envelopeBytes(scope))
  if (trace.sentBytes + size > settings.maxTraceBytes) {
    // What ends a full trace has room, but perhaps not for a resource that was unknown when the trace was opened.
    scope = ctx.scopes.ownUnder(undefined)
    size = sentSize(bytes.length, ctx.scopes.envelopeBytes(scope))
  }
  ctx.outbox.sendSynthetic({
    trace: trace.id,
    spanId: span.spanId,
    parentId: span.parentId,
    scope,
    bytes,
    ...(span.above && { above: span.above }),
  })
  trace.sentSpans++
  trace.sentBytes += size
  counts.sent++
  ctx.traces.touch(trace)
}

/** When a synthetic span is stamped: inside its trace, and in an ended one at its last activity. */
export function stampIn(ctx: LinkContext, trace: Trace, ns: UnixNanos): UnixNanos {
  if (!trace.open || plausibilityOf(ns, plausibleRange(ctx)) === 'impossible') return trace.lastNs
  return ns < trace.firstNs ? trace.firstNs : ns
}
