import type { Cpid } from './merge-graph.ts'
import type { Signal } from './otlp-requests.ts'

/** Bits of a decision. */
export const SENT_COPY = 1
export const SENT_INHERITED_CPID = 2
export const SENT_SYNTHETIC = 4
/** `extra` holds what to change about links or roots, as JSON (see ExtraPatch). */
export const SENT_PATCHED = 8

/** Its own CPID has nothing to do with the trace: a child's brought it there. */
export const SENT_FOR_CHILD = 16

/** The span is no activity of the trace's root: something else drives it (docs/linking.md, rule 6). */
export const SENT_UNDRIVEN = 32

/** What it hangs under by `cause` is what it joined, not what it observed. */
export const SENT_JOINED = 64

/** Sends one stored span into a trace; trace 0 is the span's original one. */
export interface SpanDecision {
  trace: number
  span: number
  parentId: bigint
  flags: number
  extra: Buffer | undefined
  /** The span it hangs under by cause, from another original trace; with `causeTrace`, by cause or as a local child. */
  cause?: number
  /** The trace of the same cascade in which that one is, when it is not this one: it is linked to, not the parent. */
  causeTrace?: number
  /** As `depthIn` tells it. */
  depth?: number | undefined
}

/** Where a span stands in a trace. */
export interface PlacementInTrace {
  readonly parentId: bigint
  readonly cause: number | undefined
  /** As in `SpanDecision`. */
  readonly causeTrace: number | undefined
}

/** Sends one span of Causeway's own making, whose OTLP bytes are given. */
export interface SyntheticDecision {
  trace: number
  spanId: bigint
  parentId: bigint
  scope: number
  bytes: Buffer
  /** The change span it stands under in its cascade, when that is in another trace. */
  above?: { trace: number; spanId: bigint }
}

/** What an exporter changes in a span besides its ids: trace ids of links by position, added roots and links. */
export interface ExtraPatch {
  links?: Record<number, string>
  roots?: Cpid[]
  addLinks?: { traceId: string; spanId: string }[]
  /** A span in another trace of the cascade: linked to, and named in attributes. */
  cause?: { traceId: string; spanId: string }
}

/** The outbox as the linker uses it. */
export interface Decisions {
  send(decision: SpanDecision): void
  sendSynthetic(decision: SyntheticDecision): void
  /** True when the span was sent into the trace (0: into its original one). */
  wasSent(trace: number, row: number): boolean
  /** True when one of Causeway's own spans with this id was sent into the trace. Reads all of its own spans. */
  wasOwnSent(trace: number, spanId: bigint): boolean
  /** True when it is known that the span was sent nowhere yet; false of one that was linked by an earlier process. */
  isUnsent(row: number): boolean
  /** How many spans there are from this one up to its change span, itself counted; undefined where that is not known without walking. */
  depthIn(trace: number, row: number): number | undefined
  /** The traces a span was sent into, without its original one. */
  tracesOfSpan(row: number): number[]
  /** Those of them of whose roots it is activity. */
  tracesDriven(row: number): number[]
  /** Whether the span was sent into the trace as what another change drives, so that it does not count there. */
  isUndriven(trace: number, row: number): boolean
  /** Where the span stands in the trace, if it was sent there. */
  placed(trace: number, row: number): PlacementInTrace | undefined
}

/** One decision with what is needed to build its bytes. */
export interface OutboxItem {
  readonly decision: number
  /** The stored span, or the synthetic one; undefined when its span has been pruned. */
  readonly raw: Buffer | undefined
  readonly synthetic: boolean
  readonly scope: number
  /** The outgoing trace id; undefined for the original trace. Lost when the trace is not in the database any more. */
  readonly traceId: Buffer | 'lost' | undefined
  readonly parentId: bigint
  readonly copy: boolean
  /** The CPID it inherited from an ancestor span. */
  readonly inherited: Cpid | undefined
  /** ExtraPatch as JSON. */
  readonly extra: Buffer | undefined
}

/** Everything of a ResourceSpans but its scopes, and of a ScopeSpans but its spans. */
export interface ScopeEnvelopes {
  readonly resourceId: number
  readonly resource: Buffer
  readonly scope: Buffer
}

/** Reads the outbox; it never writes. */
export interface OutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): OutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
}

/**
 * What became of one batch sent to a backend.
 * - delivered: the backend took it; `refused` spans of it were turned away for good (OTLP partial success).
 * - retry: try the same bytes again, not before `afterMs` when the backend named a delay.
 * - refused: never send these bytes again; `splittable` when a smaller batch might fare better.
 */
export type SendOutcome =
  | { kind: 'delivered'; refused: number; message: string }
  | { kind: 'retry'; afterMs?: number; reason: string }
  | { kind: 'refused'; splittable: boolean; reason: string }

/** Sends OTLP export requests (uncompressed protobuf bytes) to one backend. `send` never rejects. */
export interface Transport extends AsyncDisposable {
  send(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome>
}

/** Where each exporter of a signal stands, by id. */
export type Positions = Record<Signal, Map<string, number>>
