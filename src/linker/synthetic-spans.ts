import { hash } from 'node:crypto'
import {
  CLUSTER_NAME,
  CPID_ID,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  CPID_SYNTHETIC,
  CPID_TIME,
} from '../model/attributes.ts'
import { kindOfObject } from '../model/kubernetes-objects.ts'
import type { StoredMergelog, Trace } from '../model/linking-ports.ts'
import { type Cpid, cpidBytes } from '../model/merge-graph.ts'
import { type AttributeValue, encodeSpan, type SpanLink } from '../model/otlp/encode-telemetry.ts'
import { sentSize } from '../model/otlp/outgoing-records.ts'
import { nanosOfMs, rfc3339, type UnixNanos } from '../model/time-and-size.ts'
import type { LinkContext, PlausibleRange } from './link-context.ts'

interface SyntheticSpan {
  spanId: bigint
  /** 0n for the root span of the trace. */
  parentId: bigint
  name: string
  /** The CPID that it describes. */
  cpid: Cpid
  startNs: UnixNanos
  /** One nanosecond after its start unless later: Jaeger warns of spans without a duration. */
  endNs?: UnixNanos
  attributes?: Record<string, AttributeValue>
  links?: readonly SpanLink[]
  /** The change span above it in its cascade, if that is in another trace. */
  above?: { trace: number; spanId: bigint }
  /** The scope of the mergelog that it describes; its resource is the sender's. */
  senderScope: number | undefined
}

/** Sends a span of Causeway's own into a trace. */
export function sendSynthetic(ctx: LinkContext, trace: Trace, span: SyntheticSpan): void {
  const { counts, settings } = ctx
  const endNs = span.endNs !== undefined && span.endNs > span.startNs ? span.endNs : span.startNs + 1n
  const bytes = encodeSpan({
    traceId: trace.traceId,
    spanId: span.spanId,
    parentId: span.parentId,
    name: span.name,
    startNs: span.startNs,
    endNs,
    attributes: { [CPID_ID]: span.cpid, [CPID_SYNTHETIC]: true, ...span.attributes },
    links: span.links ?? [],
  })
  let scope = ctx.scopes.ownUnder(span.senderScope)
  let size = sentSize(bytes.length, ctx.scopes.envelopeBytes(scope))
  if (trace.sentBytes + size > settings.maxTraceBytes) {
    // A full trace has room for its closing spans, but perhaps not for a resource that was unknown when the trace was opened.
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
  countSent(trace, { bytes: size, startNs: span.startNs, endNs })
  counts.sent++
  ctx.traces.touch(trace)
}

/** A span on its way into a trace. */
interface Sent {
  readonly bytes: number
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
}

/** Counts what is sent into a trace, and extends the times of all that was. */
export function countSent(trace: Trace, { bytes, startNs, endNs }: Sent): void {
  trace.sentSpans++
  trace.sentBytes += bytes
  const [fromNs, toNs] = startNs <= endNs ? [startNs, endNs] : [endNs, startNs]
  if (fromNs < trace.sentFromNs) trace.sentFromNs = fromNs
  if (toNs > trace.sentToNs) trace.sentToNs = toNs
}

/** The time of a synthetic span: inside its trace, or at the last activity of an ended one. */
export function stampIn(ctx: LinkContext, trace: Trace, ns: UnixNanos): UnixNanos {
  if (!trace.open || plausibilityOf(ctx, ns) === 'impossible') return trace.lastNs
  return ns < trace.firstNs ? trace.firstNs : ns
}

export const SHOWN_SOURCES = 50

/** The time of a change span. An impossible mergelog time, such as one in the future, is replaced by the arrival time. */
export function changeTime({ timeNs, arrivedMs }: StoredMergelog): UnixNanos {
  const arrivedNs = nanosOfMs(arrivedMs)
  return timeNs > arrivedNs || timeNs < NO_CLUSTER_BEFORE ? arrivedNs : timeNs
}

/** The attributes of a change span. */
export function changeAttributes(
  mergelog: StoredMergelog | undefined,
  activityNs: UnixNanos,
): Record<string, AttributeValue> {
  if (mergelog === undefined) return { [CPID_TIME]: rfc3339(activityNs) }
  const { sources, object, reason, cluster, timeNs } = mergelog
  return {
    [CPID_TIME]: rfc3339(timeNs),
    ...(sources.length > 0 && { [CPID_SOURCES]: sources.slice(0, SHOWN_SOURCES) }),
    ...(object !== undefined && { [CPID_OBJECT]: object }),
    ...(reason !== undefined && { [CPID_REASON]: reason }),
    ...(cluster !== undefined && { [CLUSTER_NAME]: cluster }),
  }
}

/** `change`, or `change apps/v1/deployments` when the mergelog names its object; so for an episode of its root. */
export function changeName(what: 'change' | 'episode', mergelog: StoredMergelog | undefined): string {
  const resource = mergelog?.object === undefined ? undefined : kindOfObject(mergelog.object)
  return resource === undefined ? what : `${what} ${resource}`
}

/**
 * Ids of Causeway's own spans and traces: the first 8 or 16 bytes of SHA-256(kind ‖ parts), so that repeating a decision gives the same
 * ids. The derivation must never change once released.
 */
type SpanKind = 'change' | 'merged into' | 'merged from' | 'continued in' | 'cascade'

export function derivedSpanId(kind: SpanKind, traceId: Buffer, part: Buffer): bigint {
  const id = digest(kind, [traceId, part]).readBigInt64BE(0)
  return id === 0n ? 1n : id
}

/** The trace id of a root's episode; episode 0 is the CPID's own bytes. */
export function traceIdOf(root: Cpid, episode: number): Buffer {
  const bytes = cpidBytes(root)
  return episode === 0 ? bytes : digest('episode', [bytes, numberBytes(episode)]).subarray(0, 16)
}

/** The span id of a CPID's change span in a trace. */
export function changeSpanId(traceId: Buffer, cpid: Cpid): bigint {
  return derivedSpanId('change', traceId, cpidBytes(cpid))
}

export function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

function digest(kind: string, parts: Buffer[]): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(kind), ...parts]), 'buffer')
}

/** When Kubernetes was first released: clocks that start at 1970 or 2000 are before it. */
const NO_CLUSTER_BEFORE: UnixNanos = nanosOfMs(Date.UTC(2014, 5, 6))
/** How far a sender's clock may be ahead. */
const AHEAD_MS = 600_000
/** How long before its arrival activity may lie, besides what a trace stays open. */
const BEHIND_MS = 86_400_000

/**
 * How far a sender's time is trusted:
 * - plausible: from `max_open` and a day before its arrival to ten minutes after it;
 * - old: before that. It is used as long as a trace has nothing better, since late deliveries and recordings are consistent in
 *   themselves;
 * - impossible: in the future, or before Kubernetes existed. It is never used.
 */
type Plausibility = 'plausible' | 'old' | 'impossible'

function plausibleRange(ctx: LinkContext): PlausibleRange {
  const { settings, clock } = ctx
  return (ctx.plausible ??= {
    fromNs: nanosOfMs(clock.wallMs - settings.maxOpenMs - BEHIND_MS),
    toNs: nanosOfMs(clock.wallMs + AHEAD_MS),
  })
}

function plausibilityOf(ctx: LinkContext, ns: UnixNanos): Plausibility {
  const { fromNs, toNs } = plausibleRange(ctx)
  if (ns < NO_CLUSTER_BEFORE || ns > toNs) return 'impossible'
  return ns < fromNs ? 'old' : 'plausible'
}

/** When activity that arrives now took place: the sender's time if it is possible, else now. */
export function possibleTime(ctx: LinkContext, ns: UnixNanos): UnixNanos {
  return plausibilityOf(ctx, ns) === 'impossible' ? nanosOfMs(ctx.clock.wallMs) : ns
}

/**
 * When the trace of a root begins: at the earliest of `startTimes` and of the root's known spans, so that none of those begins before it.
 */
export function openingTime(ctx: LinkContext, root: number, startTimes: readonly UnixNanos[]): UnixNanos {
  const range = plausibleRange(ctx)
  const within = (from: UnixNanos, to: UnixNanos): UnixNanos | undefined => {
    const inside = startTimes.filter((ns) => ns >= from && ns <= to)
    const first = ctx.spans.firstStart(root, from, to)
    if (first !== undefined) inside.push(first)
    return inside.reduce<UnixNanos | undefined>(
      (least, ns) => (least === undefined || ns < least ? ns : least),
      undefined,
    )
  }
  return (
    within(range.fromNs, range.toNs) ?? within(NO_CLUSTER_BEFORE, range.toNs) ?? nanosOfMs(ctx.clock.wallMs)
  )
}

/** True if a trace that begins at this time has no plausible time yet. */
export function lacksPlausibleTime(ctx: LinkContext, openedNs: UnixNanos): boolean {
  return plausibilityOf(ctx, openedNs) === 'old'
}

/** An impossible time in a change's mergelog shows that its sender's clock is wrong. */
export function noteChange(ctx: LinkContext, trace: Trace, { timeNs }: StoredMergelog): void {
  if (plausibilityOf(ctx, timeNs) === 'impossible') trace.clockSkew = true
}

/** Activity of a trace took place between these times. Times that are implausible for their arrival are not added to its bounds. */
export function extendBounds(ctx: LinkContext, trace: Trace, startNs: UnixNanos, endNs: UnixNanos): void {
  const range = plausibleRange(ctx)
  if (!trace.doubtfulTimes && startNs >= range.fromNs && startNs <= endNs && endNs <= range.toNs) {
    if (startNs < trace.firstNs) trace.firstNs = startNs
    if (endNs > trace.lastNs) trace.lastNs = endNs
    return
  }
  if (endNs < startNs) trace.clockSkew = true
  for (const ns of endNs < startNs ? [startNs] : [startNs, endNs]) {
    const plausibility = plausibilityOf(ctx, ns)
    const isBetter = trace.doubtfulTimes && plausibility === 'plausible'
    if (isBetter) {
      trace.doubtfulTimes = false
      trace.firstNs = ns
      trace.lastNs = ns
    }
    if (plausibility === 'plausible' || (plausibility === 'old' && trace.doubtfulTimes)) {
      if (ns < trace.firstNs) trace.firstNs = ns
      if (ns > trace.lastNs) trace.lastNs = ns
      if (isBetter) trace.clockSkew = true
    } else trace.clockSkew = true
  }
}
