import type { Cpid } from './merge-graph.ts'
import type { Decisions, ScopeEnvelopes } from './outbox.ts'
import type { UnixNanos } from './time-and-size.ts'

/** The up time and the wall-clock time at the start of the transaction, in milliseconds. */
interface LinkClock {
  readonly activeMs: number
  readonly wallMs: number
}

/** What the linker reads and writes. Synchronous; used inside one transaction. */
export interface LinkPorts {
  readonly clock: LinkClock
  readonly events: LinkEvents
  readonly spans: Spans
  readonly objects: LinkedObjects
  readonly logs: LogLinkStore
  readonly traces: Traces
  readonly actors: TraceActors
  readonly changes: ChangeSpans
  readonly mergelogs: Mergelogs
  readonly scopes: LinkScopes
  readonly joins: Joins
  readonly waiting: WaitingItems
  readonly unfinished: UnfinishedSteps
  readonly parents: AwaitedParents
  readonly outbox: Decisions
}

/** What the linker processes, in order of arrival. */
export type LinkEvent =
  | { kind: 'span'; arrival: number; span: ArrivedSpan }
  | { kind: 'mergelog' | 'explained'; arrival: number; cpid: number }
  | { kind: 'log'; arrival: number; log: ArrivedLog }

/** Arrivals, and how far the linker has processed them. */
export interface LinkEvents {
  /** The next events after the linker's position, at most `limit`. */
  next(limit: number): LinkEvent[]
  moveTo(arrival: number): void
  /** Moves the linker's position past everything that has arrived. */
  moveToEnd(): void
  /** Whether the linker has passed this arrival. */
  isLinked(arrival: number): boolean
}

/** A stored span as the linker sees it. */
export interface ArrivedSpan {
  /** Its number in order of arrival. */
  readonly row: number
  cpid: number | undefined
  readonly origin: number
  readonly spanId: bigint
  /** 0n for none. */
  readonly parentId: bigint
  /** The first stored span with the parent's id in the same original trace, preferably from the same resource. It may not be linked yet. */
  readonly parentRow: number | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly scope: number
  readonly service: string
  readonly bytes: number
  /** The size of its resource and scope in bytes. */
  readonly envelopeBytes: number
  readonly hasLinks: boolean
  /** Whether it names objects that it read, or wrote. */
  readonly observes: boolean
  readonly writes: boolean
  /** Whether its status is an error. */
  readonly failed: boolean
  /** Whether it describes a write that a receiver observed. */
  readonly seen: boolean
  /** Whether it is the writer's own report of that write. */
  readonly isOwnReport?: boolean
  /** How it names what to join: the flags `SPAN_HAS_LINKS`, `SPAN_NAMES_REQUEST`, `SPAN_NAMES_POD`. */
  readonly names: number
  /** Whether a Causeway added it; such spans are no activity. */
  readonly isOfCauseway: boolean
  /** Whether it got its CPID from what it joined, or from a parent that did. Then it is not activity of the cascade. */
  joined: boolean
  /** Whether it has an invalid `cpid.id`. */
  readonly malformed: boolean
  /** Whether it may not inherit a CPID that is known to be of another cluster. */
  readonly joinsOwn: boolean
  /** Whether it got its CPID from an ancestor span. */
  inherited: boolean
  /** Whether the same span arrived before: with the same ids, content, resource and scope. */
  readonly repeated: boolean
  /** Whether something that was linked earlier may await it. */
  readonly awaited: boolean
}

export interface Spans {
  span(row: number): ArrivedSpan | undefined
  /** The spans with this CPID, ordered by start. */
  rowsOfCpid(cpid: number): number[]
  /** Linked spans of an original trace with this parent and no CPID. */
  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[]
  /** The span with these original ids, if it has arrived. */
  find(originTraceId: Buffer, spanId: bigint): number | undefined
  /** The root of the outgoing trace whose id is that of an original trace. */
  rootOfOutgoing(origin: number): number | undefined
  /** The first links of a stored span as sent, up to OTLP's default limit. */
  linksOf(row: number): { traceId: Buffer; spanId: bigint }[]
  /** The earliest start in a time range of a span with this CPID. */
  firstStart(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined
  /** Gives the span the CPID of its parent, or of what it joins (`joined`). */
  inheritCpid(span: ArrivedSpan, cpid: number, joined: boolean): void
  /** Removes a span that repeats an earlier one, before anything is decided about it. */
  removeRepeated(span: ArrivedSpan): void
}

export type WaitingKind = 'span' | 'change' | 'orphan' | 'cause' | 'parent' | 'join'

export interface Waiting {
  readonly arrival: number
  readonly kind: WaitingKind
  readonly cpid: number | undefined
  readonly origin: number | undefined
  /** For a change: the span that reported it. */
  readonly parentId: bigint | undefined
  /** For a span that waits only for other waiting spans: until when, in up time. */
  readonly behindUntilMs: number | undefined
}

/** Items that wait for a mergelog, a writer, a parent or a reporting span, and until when. */
export interface WaitingItems {
  add(waiting: Waiting, dueMs: number): void
  /** Whether a span is linked but not sent yet. */
  hasSpan(row: number): boolean
  /** Until when an arrival waits, in milliseconds of up time; undefined if it does not wait. */
  untilOf(arrival: number): number | undefined
  /** Whether a span waits only for other waiting spans. */
  isBehind(row: number): boolean
  /** Ends the wait; false if the arrival did not wait. */
  remove(arrival: number): boolean
  forCpid(cpid: number): Waiting[]
  /** The waiting change of this CPID. */
  changeOf(cpid: number): Waiting | undefined
  forParent(origin: number, parentId: bigint): Waiting[]
  /** Changes that wait for the span that reports them, which has this id, in any trace. */
  changesReportedBy(spanId: bigint): Waiting[]
  /** Items whose wait has to be checked again. */
  due(limit: number): Waiting[]
}

/** A step of the linker for an item that waited, once what it waited for has arrived or its time is over. */
export type ReleasedStep =
  /** A span or change whose time is over, or for which something arrived. */
  | { readonly kind: 'waited'; readonly waiting: Waiting }
  /** A span that waited for the writer of a version, which has been sent. It may wait for more. */
  | { readonly kind: 'observer'; readonly row: number }
  /** A span that waited for its parent, which has been sent, with this CPID or none. */
  | {
      readonly kind: 'child'
      readonly row: number
      readonly cpid: number | undefined
      readonly joined: boolean
    }
  /** A span whose children have waited as long as they may. */
  | { readonly kind: 'given up'; readonly row: number }
  /** A log record whose time is over. */
  | { readonly kind: 'waited log'; readonly row: number }
  /** A CPID below a late mergelog (`row` is its arrival), whose spans have to be sent again. */
  | { readonly kind: 'moved'; readonly row: number; readonly cpid: number }

/** Steps that the linker had no time for, in order. They are taken before the next event. */
export interface UnfinishedSteps {
  readonly areAny: boolean
  add(steps: readonly ReleasedStep[]): void
  /** Adds steps before all others. */
  addFirst(steps: readonly ReleasedStep[]): void
  /** Removes and returns the first step; undefined if its item no longer waits. */
  take(): ReleasedStep | undefined
}

/** A parent that had not arrived when a child was linked. For `trace` -1 and 0 see awaited_parents in the schema. */
export interface AwaitedParent {
  readonly trace: number
  readonly cpid: number | undefined
  readonly sinceMs: number
  /** Whether a child is activity of the trace's root. */
  readonly driven: boolean
}

/** In place of a trace: the child waits for its parent, which gives it a CPID or decides which roots drive it. */
export const AWAITED_FOR_CPID = 0
/** In place of a trace: the child was forwarded without a CPID. */
export const AWAITED_AFTER_FORWARD = -1

/** Parents that had not arrived when a child was linked. */
export interface AwaitedParents {
  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void
  /** When a parent was first missed; undefined if it is not awaited. */
  since(origin: number, spanId: bigint): number | undefined
  /** Removes and returns the entries of children that awaited this span. */
  take(span: ArrivedSpan): AwaitedParent[]
}

/** What a span names to join, besides its links. */
export interface JoinTargets {
  /** The audit id of its request. */
  readonly auditId: string | undefined
  /** Whether the request only reads, so that no write has its audit id. */
  readonly reads: boolean
  /** A Pod's uid, and its object reference. */
  readonly pod: { readonly uid: string; readonly object: string } | undefined
}

/** Finds what spans without a CPID join: observed writes, and spans to which they link. */
export interface Joins {
  namedBy(row: number): JoinTargets
  /** The first few linked spans of the write with this audit id, in order of arrival. */
  writesOf(auditId: string): number[]
  /** The first few linked spans of writes for which admission was called in this original trace. */
  writesAdmittedIn(origin: number): number[]
  /** The linked span of the newest write of a Pod up to a time; of any cluster if `cluster` is ''. */
  newestWriteOf(pod: { uid: string; object: string }, cluster: string, upToNs: UnixNanos): number | undefined
  /** Records that the span joined another one, and becomes its child. */
  add(span: ArrivedSpan, target: number): void
  /** What the span itself joined, not its parent. */
  targetOf(row: number): number | undefined
  /** Records that the span waits for a span with one of these keys. */
  await(row: number, keys: readonly string[]): void
  stopAwaiting(row: number): void
  /** Spans that wait to join this one, for its write or by a link, now that it is being sent. */
  waitingFor(span: ArrivedSpan): readonly number[]
}

/** The keys by which spans wait for the span to join. */
export const keyOfRequest = (auditId: string): string => `request ${auditId}`
export const keyOfTrace = (origin: number): string => `trace ${origin}`
export const keyOfPod = (uid: string): string => `pod ${uid}`
export const keyOfLink = (spanId: bigint): string => `${LINK}${spanId}`
export const LINK = 'link '

/** An outgoing trace: the main trace of a root (episode 0), or an episode. A changed one is saved with the transaction. */
export interface Trace {
  readonly id: number
  readonly traceId: Buffer
  readonly root: number
  readonly episode: number
  /** If it continues full traces of its cascade: the id of the first of these; otherwise its own. */
  readonly cascade: number
  readonly rootSpan: bigint
  open: boolean
  /** Up time in milliseconds. */
  readonly openedMs: number
  lastArrivalMs: number
  /** The wall-clock time of the last arrival, in milliseconds. */
  lastWallMs: number
  dueMs: number
  firstNs: UnixNanos
  lastNs: UnixNanos
  /** The bounds of all times of its spans, including copies and impossible times. `firstNs` and `lastNs` bound only its activity. */
  sentFromNs: UnixNanos
  sentToNs: UnixNanos
  /** Whether some times are impossible, or far before all others; `firstNs` and `lastNs` leave them out. */
  clockSkew: boolean
  /** Whether all times so far are so long before their arrival that the next plausible one replaces them. */
  doubtfulTimes: boolean
  sentSpans: number
  /** An upper bound on the trace's size in a backend, whatever the batches. */
  sentBytes: number
  /** How many of the sent spans are of other clusters than the root's, if senders have permissions of their own. */
  guestSpans: number
  guestBytes: number
  controllerSpans: number
  /** The spans with an error status among them. */
  failedSpans: number
  services: number
  merges: number
  missing: number
  truncated: boolean
  /** Whether its root span was sent. In some modes spans do not wait for it. */
  rootSent: boolean
  /** Whether it was opened for a CPID whose mergelog had not arrived. */
  readonly provisional: boolean
  /** Whether it is an episode because the trace before was full, and its root is still open. */
  readonly continuesRoot: boolean
}

export interface Traces {
  trace(id: number): Trace | undefined
  /** The newest trace of a root. */
  currentOf(root: number): Trace | undefined
  ofRoot(root: number): Trace[]
  /** The stored traces of a cascade, by the id of the first one. */
  partsOf(cascade: number): Trace[]
  /** The number of services with spans in a cascade. */
  servicesIn(cascade: number): number
  /** The number of CPIDs in a cascade whose mergelog has not arrived. */
  countMissing(trace: Trace): number
  /** Open traces that have to be checked. */
  due(limit: number): Trace[]
  /** Adds a trace: of a new cascade, or of the cascade of `continues`. */
  add(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace
  touch(trace: Trace): void
  /** Adds a service to a trace; true if the trace had no span of it before. */
  addService(trace: Trace, service: string): boolean
}

export interface ChangeSpan {
  readonly trace: number
  readonly spanId: bigint
  readonly depth: number
  /** Whether it, or a span of its CPID, is activity of the trace's root. */
  readonly driven: boolean
}

export interface StoredMergelog {
  /** The arrival number of its event for the linker. */
  readonly arrival: number
  readonly timeNs: UnixNanos
  readonly arrivedMs: number
  readonly sources: Cpid[]
  readonly scope: number
  readonly object: string | undefined
  readonly reason: string | undefined
  readonly cluster: string | undefined
  /** Whether it replaces a mergelog, which was worked out or of a sender with a weaker claim. The CPID may have been linked already. */
  readonly replaces: boolean
  /** Whether Causeway worked it out, since the sender's own did not arrive. */
  readonly isWorkedOut: boolean
}

/** The change spans of CPIDs in traces. */
export interface ChangeSpans {
  find(cpid: number, trace: number): ChangeSpan | undefined
  /** The newest traces with a change span of the CPID. */
  newest(cpid: number, most: number): ChangeSpan[]
  /** The CPIDs with a change span in the trace, those nearest to the root first. */
  cpidsIn(trace: number): number[]
  add(cpid: number, change: ChangeSpan): void
  /** Records that the root of the change span's trace drives the CPID. */
  noteDriven(cpid: number, change: ChangeSpan): void
}

/** The span that reported a change, by its ids as sent. */
export interface ChangeReporter {
  readonly traceId: Buffer
  readonly spanId: bigint
  /** When it reported the change, in milliseconds of up time. */
  readonly sinceMs: number
}

export interface Mergelogs {
  find(cpid: number): StoredMergelog | undefined
  /** The span that sent the mergelog, if known. */
  reporterOf(cpid: number): ChangeReporter | undefined
}

/** The resources and scopes of sent spans, and their sizes. */
export interface LinkScopes {
  /** The id of the scope `causeway` in the resource of this scope, or in Causeway's own resource. */
  ownUnder(senderScope: number | undefined): number
  /** The size of a scope and its resource in bytes. */
  envelopeBytes(scope: number): number
  /** The cluster of its resource; '' for none. */
  clusterOf(scope: number): string
}

/** A version of an object that a span read or wrote. */
export interface ObjectVersion {
  readonly object: number
  readonly version: bigint
  readonly uid: string | undefined
}

/** A span that wrote an object. */
export interface Writer {
  readonly row: number
  readonly endNs: UnixNanos
}

/** The objects that spans read and wrote. */
export interface LinkedObjects {
  /** The versions that a span read, or wrote. */
  versions(row: number, role: 'observed' | 'wrote'): readonly ObjectVersion[]
  /** A linked span that wrote exactly this version. */
  writerOf(version: ObjectVersion): number | undefined
  /** Linked spans that wrote the object at a lower version, of the same uid if both have one; the highest first, at most `most`. */
  writersBelow(version: ObjectVersion, most: number): { row: number; version: bigint }[]
  /** Records the versions that a span in a trace of the cascade wrote. */
  addWrites(cascade: number, span: Writer, versions: readonly ObjectVersion[]): void
  /** Records the namespaces and Pods of the objects that a span of the cascade itself wrote. */
  addWritten(cascade: number, span: Writer): void
  /** Records that the cascade touched the namespace of this object. */
  addNamespace(cascade: number, reference: string): void
  /**
   * Spans in the cascade's traces that wrote the object at this version or a lower one, of the same uid if both have one: the highest
   * version first, then the latest end. Examines at most `most` writes.
   */
  writersIn(cascade: number, version: ObjectVersion, most: number): number[]
  /** Records that the span waits for the version's writer. Returns since when that writer is missed, in up time. */
  awaitWriter(version: ObjectVersion, row: number): number
  /** Removes and returns the spans that wait for the writer of a version. */
  takeObservers(version: ObjectVersion): number[]
  /** Whether the span wrote exactly this version. */
  wrote(row: number, version: ObjectVersion): boolean
  /** True the first time it is called for a service and version; old answers are forgotten. */
  isFirstToObserve(service: string, version: ObjectVersion): boolean
  /** `<apiVersion>/<resource>` of an object. */
  kindOf(object: number): string
}

/** The actors of the observed writes of each trace. */
export interface TraceActors {
  /** Records the actor of a span that was sent into the trace. */
  add(trace: Trace, span: ArrivedSpan): void
}

/** A stored log record as the linker sees it. */
export interface ArrivedLog {
  /** Its number in order of arrival. */
  readonly row: number
  readonly cpid: number | undefined
  /** 16 bytes; undefined for none. */
  readonly traceId: Buffer | undefined
  /** 0n for none, and without a trace id. */
  readonly spanId: bigint
  /** Whether it has an invalid `cpid.id`; then it inherits none from its span. */
  readonly malformed: boolean
  /** Whether the same content from the same resource and scope arrived before. */
  readonly repeated: boolean
}

/** How to send one log record. */
export interface LogDecision {
  log: number
  /** 16 bytes; undefined to keep its own trace id. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** The CPID that it inherits from its span. */
  inherited: number | undefined
}

/** What a log record waits for: that its CPID is explained, or that its span is sent. */
export type LogWaitingKind = 'cpid' | 'span'

/** Linked log records, those that wait, and decisions about them. */
export interface LogLinkStore {
  log(row: number): ArrivedLog | undefined
  /** Removes a log record that repeats an earlier one, before anything is decided about it. */
  removeRepeated(row: number): void
  wait(log: ArrivedLog, kind: LogWaitingKind, dueMs: number): void
  /** Ends the wait; false if it did not wait. */
  stopWaiting(row: number): boolean
  waitingForCpid(cpid: number): number[]
  waitingForSpan(span: ArrivedSpan): number[]
  /** Log records whose wait has to be checked again. */
  due(limit: number): number[]
  /** Since when a span is missed, in milliseconds of up time; from now on if it was not missed before. */
  spanMissedSince(traceId: Buffer, spanId: bigint): number
  send(decision: LogDecision): void
}

/** A decision about a log record, with what is needed to build its bytes. */
export interface LogOutboxItem {
  readonly decision: number
  /** Undefined if the record has been pruned. */
  readonly raw: Buffer | undefined
  readonly scope: number
  readonly traceId: Buffer | undefined
  readonly withoutSpanId: boolean
  readonly inherited: Cpid | undefined
}

/** Reads decisions about log records; never writes. */
export interface LogOutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): LogOutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
}
