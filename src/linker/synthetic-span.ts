import { CPID_ID, CPID_SYNTHETIC } from '../model/attributes.ts'
import type { UnixNanos } from '../model/clock.ts'
import type { Cpid } from '../model/cpid.ts'
import type { Trace } from '../model/link-port.ts'
import { encodeSpan, type AttributeValue, type SpanLink } from '../otlp/encode-span.ts'
import type { LinkContext } from './link-context.ts'

export interface SyntheticSpan {
  spanId: bigint
  /** 0n for the root span of the trace. */
  parentId: bigint
  name: string
  /** The CPID it speaks of. */
  cpid: Cpid
  startNs: UnixNanos
  endNs: UnixNanos
  attributes?: Record<string, AttributeValue>
  links?: readonly SpanLink[]
  /** The scope of the mergelog it stands for; its resource is the sender's. */
  senderScope: number | undefined
}

/** Decides that a span of Causeway's own making goes into a trace. */
export function sendSynthetic({ store, counts }: LinkContext, trace: Trace, span: SyntheticSpan): void {
  const bytes = encodeSpan({
    traceId: trace.traceId,
    spanId: span.spanId,
    parentId: span.parentId,
    name: span.name,
    startNs: span.startNs,
    endNs: span.endNs,
    attributes: { [CPID_ID]: span.cpid, [CPID_SYNTHETIC]: true, ...span.attributes },
    links: span.links ?? [],
  })
  store.sendSynthetic({
    trace: trace.id,
    spanId: span.spanId,
    parentId: span.parentId,
    scope: store.syntheticScope(span.senderScope),
    bytes,
  })
  trace.sentSpans++
  trace.sentBytes += bytes.length
  counts.sent++
  store.touch(trace)
}

/** When a synthetic span is stamped: inside its trace, and in an ended one at its last activity. */
export function stampIn(trace: Trace, ns: UnixNanos): UnixNanos {
  if (!trace.open) return trace.lastNs
  return ns < trace.firstNs ? trace.firstNs : ns
}

/** RFC 3339 with nanoseconds. */
export function rfc3339(ns: UnixNanos): string {
  const seconds = new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19)
  return `${seconds}.${(ns % 1_000_000_000n).toString().padStart(9, '0')}Z`
}
