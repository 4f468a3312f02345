import type { UnixNanos } from '../clock.ts'
import type { Cpid } from '../cpid.ts'
import type { ArrivedLog } from './log-port.ts'
import type { LinkedObjects } from '../object-port.ts'

/** A stored span as the linker sees it. */
export interface ArrivedSpan {
  /** Its number in ingest order. */
  readonly row: number
  cpid: number | undefined
  readonly origin: number
  readonly spanId: bigint
  /** 0n for none. */
  readonly parentId: bigint
  /** The first stored span with that id in the same original trace, arrived or yet to be linked. */
  readonly parentRow: number | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly scope: number
  readonly service: string
  readonly bytes: number
  /** What its resource and its scope weigh. */
  readonly envelopeBytes: number
  readonly hasLinks: boolean
  /** It names objects that it read, or wrote. */
  readonly observes: boolean
  readonly writes: boolean
  /** It carries a `cpid.id` that is no CPID. */
  readonly malformed: boolean
  /** Its CPID came from an ancestor span. */
  inherited: boolean
  /** A span with the same ids in the same original trace arrived before. */
  readonly repeated: boolean
  /** Something linked in an earlier round may have been awaiting it. */
  readonly awaited: boolean
}

/** What the linker hears of, in ingest order. */
export type LinkEvent =
  | { kind: 'span'; arrival: number; span: ArrivedSpan }
  | { kind: 'mergelog' | 'explained'; arrival: number; cpid: number }
  | { kind: 'log'; arrival: number; log: ArrivedLog }

/** An outgoing trace: the main one of a root (episode 0) or an episode. Saved with the transaction once touched. */
export interface Trace {
  readonly id: number
  readonly traceId: Buffer
  readonly root: number
  readonly episode: number
  /** The first trace of the cascade that this one goes on with, because those before it were full; else its own number. */
  readonly cascade: number
  readonly rootSpan: bigint
  open: boolean
  /** Up time in milliseconds. */
  readonly openedMs: number
  lastArrivalMs: number
  /** Wall-clock time of the last arrival, in milliseconds. */
  lastWallMs: number
  dueMs: number
  firstNs: UnixNanos
  lastNs: UnixNanos
  /** A sender gave a time that cannot be, or one that lies far before the others: it is left out of first and last. */
  clockSkew: boolean
  /** All times so far lie so long before their arrival that a better one replaces them. */
  doubtfulTimes: boolean
  sentSpans: number
  /** The most that a backend makes of what was sent, however it is batched. */
  sentBytes: number
  controllerSpans: number
  services: number
  merges: number
  missing: number
  truncated: boolean
  /** False until its root span is decided (modes in which spans do not wait for it). */
  rootSent: boolean
  /** Opened for a CPID whose own mergelog had not arrived. */
  readonly provisional: boolean
  /** An episode because the trace before was full: its root is still open, as it is while its main trace is. */
  readonly continuesRoot: boolean
}

export interface ChangeSpan {
  readonly trace: number
  readonly spanId: bigint
  readonly depth: number
}

export interface StoredMergelog {
  /** The arrival number under which the linker hears of it. */
  readonly arrival: number
  readonly timeNs: UnixNanos
  readonly arrivedMs: number
  readonly sources: Cpid[]
  readonly scope: number
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
}

/** Bits of a decision. */
export const SENT_COPY = 1
export const SENT_INHERITED_CPID = 2
export const SENT_SYNTHETIC = 4
/** `extra` holds what to change about links or roots, as JSON (see ExtraPatch). */
export const SENT_PATCHED = 8

/** Its own CPID has nothing to do with the trace: a child's brought it there. */
export const SENT_FOR_CHILD = 16

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

/** A span that was not there when its child was linked. trace -1 and 0: see awaited_parents in the schema. */
export interface AwaitedParent {
  readonly trace: number
  readonly cpid: number | undefined
  readonly sinceMs: number
}

/** The child waits for the parent to give it a CPID. */
export const AWAITED_FOR_CPID = 0
/** The child was forwarded without a CPID. */
export const AWAITED_AFTER_FORWARD = -1

export type WaitingKind = 'span' | 'change' | 'orphan' | 'cause'

export interface Waiting {
  readonly arrival: number
  readonly kind: WaitingKind
  readonly cpid: number | undefined
  readonly origin: number | undefined
  readonly parentId: bigint | undefined
}

/** What the linker reads and writes, inside one transaction. Synchronous. */
export interface LinkStore {
  readonly objects: LinkedObjects
  /** Up time and wall-clock time in milliseconds at the start of the transaction. */
  readonly activeMs: number
  readonly wallMs: number

  /** The next events after the linker's position, at most `limit`. */
  nextEvents(limit: number): LinkEvent[]
  /** Moves the linker's position. */
  linkedUpTo(arrival: number): void
  /** Moves the linker's position over everything that has arrived. */
  linkedAll(): void
  /** True once the linker has passed this arrival. */
  isLinked(arrival: number): boolean

  span(row: number): ArrivedSpan | undefined
  spansOfCpid(cpid: number): ArrivedSpan[]
  /** Linked spans of an original trace that have this parent and no CPID. */
  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[]
  /** The links of a stored span, as sent. */
  linksOf(row: number): { traceId: Buffer; spanId: bigint }[]
  /** Where a span with these original ids is, if it arrived. */
  findSpan(originTraceId: Buffer, spanId: bigint): number | undefined
  inheritCpid(span: ArrivedSpan, cpid: number): void
  /** Removes a span that repeats one stored before it, and of which nothing was decided. */
  removeRepeated(span: ArrivedSpan): void

  trace(id: number): Trace | undefined
  /** The root's newest trace. */
  currentTrace(root: number): Trace | undefined
  tracesOfRoot(root: number): Trace[]
  /** The traces of a cascade, by the number of its first, as far as they are there. */
  partsOf(cascade: number): Trace[]
  /** How many services have spans in a cascade. */
  servicesIn(cascade: number): number
  /** Begins a cascade, or goes on with that of another trace. */
  addTrace(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace
  touch(trace: Trace): void
  /** True when the trace had no span of this service yet. */
  addService(trace: Trace, service: string): boolean
  /** Open traces whose time to look at has come. */
  dueTraces(limit: number): Trace[]
  /** CPIDs in the traces of a cascade whose own mergelog has not arrived. */
  countMissing(trace: Trace): number

  changeSpan(cpid: number, trace: number): ChangeSpan | undefined
  addChangeSpan(cpid: number, change: ChangeSpan): void
  /** The newest traces in which the CPID has a change span. */
  newestChangeSpans(cpid: number, most: number): ChangeSpan[]
  /** CPIDs with a change span in the trace, nearest the root first. */
  cpidsIn(trace: number): number[]
  mergelog(cpid: number): StoredMergelog | undefined
  /** The earliest start, from one time to another, of spans that carry the CPID. */
  firstSpanNs(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined

  /** True when the span was sent into the trace (0: into its original one). */
  wasSent(trace: number, row: number): boolean
  send(decision: SpanDecision): void
  sendSynthetic(decision: SyntheticDecision): void
  /** The traces a span was sent into, without its original one. */
  tracesOfSpan(row: number): number[]

  /** Where the span stands in the trace, if it was sent there. */
  placed(trace: number, row: number): Placed | undefined

  awaitParent(origin: number, spanId: bigint, trace: number, cpid: number | undefined): void
  /** When a parent was first missed, if it is awaited. */
  awaitedSince(origin: number, spanId: bigint): number | undefined
  /** Takes the awaiting of this span away. */
  takeAwaited(span: ArrivedSpan): AwaitedParent[]

  wait(waiting: Waiting, dueMs: number): void
  /** True for a span that is linked but not sent yet. */
  isWaiting(row: number): boolean
  /** It waits no longer; false when it did not any more. */
  stopWaiting(arrival: number): boolean
  waitingForCpid(cpid: number): Waiting[]
  waitingForParent(origin: number, parentId: bigint): Waiting[]
  /** What has waited long enough to be looked at again. */
  dueWaiting(limit: number): Waiting[]

  /** The scope `causeway` under the resource of another scope, or under Causeway's own. */
  syntheticScope(senderScope: number | undefined): number
  /** What a scope and its resource weigh. */
  envelopeBytes(scope: number): number
}
