import type { Cpid } from '../../cpid.ts'

/** Bits of a decision. */
export const SENT_COPY = 1
export const SENT_INHERITED_CPID = 2
export const SENT_SYNTHETIC = 4
/** `extra` holds what to change about links or roots, as JSON (see ExtraPatch). */
export const SENT_PATCHED = 8

/** Its own CPID has nothing to do with the trace: a child's brought it there. */
export const SENT_FOR_CHILD = 16

/** It is no activity of the trace's root: something else drives it (docs/linking.md, rule 6). */
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
}

/** Where a span stands in a trace. */
export interface Placed {
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

/** What was decided, and where it sent spans. */
export interface Decisions {
  send(decision: SpanDecision): void
  sendSynthetic(decision: SyntheticDecision): void
  /** True when the span was sent into the trace (0: into its original one). */
  wasSent(trace: number, row: number): boolean
  /** The traces a span was sent into, without its original one. */
  tracesOfSpan(row: number): number[]
  /** Those of them of whose roots it is activity. */
  tracesDriven(row: number): number[]
  /** Where the span stands in the trace, if it was sent there. */
  placed(trace: number, row: number): Placed | undefined
}
