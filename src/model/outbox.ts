import type { Cpid } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'

/** Flags of a decision. */
export const SENT_COPY = 1
export const SENT_INHERITED_CPID = 2
export const SENT_SYNTHETIC = 4
/** `extra` holds changes of links or roots as JSON (see ExtraPatch). */
export const SENT_PATCHED = 8

/** The span's own CPID does not belong to the trace: the span was sent there for a child. */
export const SENT_FOR_CHILD = 16

/** The span is no activity of the trace's root: another change drives it (docs/linking.md, rule 6). */
export const SENT_UNDRIVEN = 32

/** `cause` is what the span joined, not what it observed. */
export const SENT_JOINED = 64

/** Sends a stored span into a trace; trace 0 is the span's original trace. */
export interface SpanDecision {
  trace: number
  span: number
  parentId: bigint
  flags: number
  extra: Buffer | undefined
  /** The span's parent by cause, from another original trace. With `causeTrace`, also a local parent. */
  cause?: number
  /** The trace of the cascade that has `cause`, if it is another one; then `cause` becomes a link and not the parent. */
  causeTrace?: number
  /** See `depthIn`. */
  depth?: number | undefined
}

/** The position of a span in a trace. */
export interface PlacementInTrace {
  readonly parentId: bigint
  readonly cause: number | undefined
  /** See `SpanDecision`. */
  readonly causeTrace: number | undefined
}

/** Sends a span that Causeway adds, given as OTLP bytes. */
export interface SyntheticDecision {
  trace: number
  spanId: bigint
  parentId: bigint
  scope: number
  bytes: Buffer
  /** The change span above it in its cascade, if that is in another trace. */
  above?: { trace: number; spanId: bigint }
}

/** What an exporter changes in a span besides its ids: trace ids of links by index; roots and links to add. */
export interface ExtraPatch {
  links?: Record<number, string>
  roots?: Cpid[]
  addLinks?: { traceId: string; spanId: string }[]
  /** The cause in another trace of the cascade, which becomes a link and attributes. */
  cause?: { traceId: string; spanId: string }
}

/** The outbox as the linker uses it. */
export interface Decisions {
  send(decision: SpanDecision): void
  sendSynthetic(decision: SyntheticDecision): void
  /** Whether the span was sent into the trace (0: into its original one). */
  wasSent(trace: number, row: number): boolean
  /** Whether a span that Causeway added with this id was sent into the trace. Reads all such spans of the trace. */
  wasOwnSent(trace: number, spanId: bigint): boolean
  /** Whether the span is known not to have been sent yet; false if an earlier process linked it. */
  isUnsent(row: number): boolean
  /** The number of spans from this one up to its change span, inclusive; undefined if that would need a walk. */
  depthIn(trace: number, row: number): number | undefined
  /** The traces into which a span was sent, except its original one. */
  tracesOfSpan(row: number): number[]
  /** Those among them for whose root the span is activity. */
  tracesDriven(row: number): number[]
  /** Whether the span does not count in the trace, since another change drives it. */
  isUndriven(trace: number, row: number): boolean
  /** The position of the span in the trace; undefined if it was not sent there. */
  placed(trace: number, row: number): PlacementInTrace | undefined
}

/** A decision with what is needed to build its bytes. */
export interface OutboxItem {
  readonly decision: number
  /** The stored span, or the one that Causeway added; undefined if it has been pruned. */
  readonly raw: Buffer | undefined
  readonly synthetic: boolean
  readonly scope: number
  /** The outgoing trace id; undefined for the original trace; 'lost' if the database no longer has the trace. */
  readonly traceId: Buffer | 'lost' | undefined
  readonly parentId: bigint
  readonly copy: boolean
  /** The CPID it inherited from an ancestor span. */
  readonly inherited: Cpid | undefined
  /** ExtraPatch as JSON. */
  readonly extra: Buffer | undefined
}

/** The fields of a ResourceSpans without its scopes, and of a ScopeSpans without its spans. */
export interface ScopeEnvelopes {
  readonly resourceId: number
  readonly resource: Buffer
  readonly scope: Buffer
}

/** Reads the outbox; never writes. */
export interface OutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): OutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
}

/**
 * The outcome of sending a batch to a backend.
 * - delivered: the backend accepted it, but permanently refused `refused` of its spans (OTLP partial success).
 * - retry: send the same bytes again, after `afterMs` if the backend gave a delay.
 * - refused: do not send these bytes again; `splittable`: a smaller batch may succeed.
 */
export type SendOutcome =
  | { kind: 'delivered'; refused: number; message: string }
  | { kind: 'retry'; afterMs?: number; reason: string }
  | { kind: 'refused'; splittable: boolean; reason: string }

/** Sends OTLP export requests (uncompressed protobuf) to a backend. `send` never rejects. */
export interface Transport extends AsyncDisposable {
  send(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome>
}

/** The outbox positions of the exporters of each signal, by id. */
export type Positions = Record<Signal, Map<string, number>>
