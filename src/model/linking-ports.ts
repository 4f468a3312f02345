import type { Cpid } from './merge-graph.ts'
import type { Decisions, ScopeEnvelopes } from './outbox.ts'
import type { UnixNanos } from './time-and-size.ts'

/** Up time and wall-clock time in milliseconds at the start of the transaction. */
interface LinkClock {
  readonly activeMs: number
  readonly wallMs: number
}

/** What the linker reads and writes, inside one transaction. Synchronous. */
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

/** What the linker processes, in ingest order. */
export type LinkEvent =
  | { kind: 'span'; arrival: number; span: ArrivedSpan }
  | { kind: 'mergelog' | 'explained'; arrival: number; cpid: number }
  | { kind: 'log'; arrival: number; log: ArrivedLog }

/** Arrivals, and the linker's position in them. */
export interface LinkEvents {
  /** The next events after the linker's position, at most `limit`. */
  next(limit: number): LinkEvent[]
  moveTo(arrival: number): void
  /** Moves the linker's position over everything that has arrived. */
  moveToEnd(): void
  /** True once the linker has passed this arrival. */
  isLinked(arrival: number): boolean
}

/** A stored span as the linker sees it. */
export interface ArrivedSpan {
  /** Its number in ingest order. */
  readonly row: number
  cpid: number | undefined
  readonly origin: number
  readonly spanId: bigint
  /** 0n for none. */
  readonly parentId: bigint
  /** The first stored span with that id in the same original trace, of its own resource if there are several; arrived or yet to be linked. */
  readonly parentRow: number | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly scope: number
  readonly service: string
  readonly bytes: number
  /** The size of its resource and its scope. */
  readonly envelopeBytes: number
  readonly hasLinks: boolean
  /** It names objects that it read, or wrote. */
  readonly observes: boolean
  readonly writes: boolean
  /** Its status is an error. */
  readonly failed: boolean
  /** It describes a write that a receiver observed. */
  readonly seen: boolean
  /** It is the writer's own report of that write. */
  readonly told?: boolean
  /** How it names what it belongs to: bits `SPAN_HAS_LINKS`, `SPAN_NAMES_REQUEST`, `SPAN_NAMES_POD`. */
  readonly names: number
  /** A Causeway added it: it is no activity. */
  readonly isOfCauseway: boolean
  /** It took its CPID from what it names, or from a parent that did: it is not activity of the cascade. */
  joined: boolean
  /** It carries a `cpid.id` that is no CPID. */
  readonly malformed: boolean
  /** It does not inherit a CPID that is known to be of another cluster. */
  readonly joinsOwn: boolean
  /** Its CPID came from an ancestor span. */
  inherited: boolean
  /** The same span arrived before: the same ids, content, resource and scope. */
  readonly repeated: boolean
  /** Something linked in an earlier round may have been awaiting it. */
  readonly awaited: boolean
}

export interface Spans {
  span(row: number): ArrivedSpan | undefined
  /** Those that carry the CPID, in the order in which they began. */
  rowsOfCpid(cpid: number): number[]
  /** Linked spans of an original trace that have this parent and no CPID. */
  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[]
  /** Where a span with these original ids is, if it arrived. */
  find(originTraceId: Buffer, spanId: bigint): number | undefined
  /** The root of the outgoing trace that has the id of an original trace. */
  rootOfOutgoing(origin: number): number | undefined
  /** The first links of a stored span, as sent; at most OTLP's default limit. */
  linksOf(row: number): { traceId: Buffer; spanId: bigint }[]
  /** The earliest start, from one time to another, of spans that carry the CPID. */
  firstStart(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined
  /** Gives the span the CPID of its parent, or of what it joins (`joined`). */
  inheritCpid(span: ArrivedSpan, cpid: number, joined: boolean): void
  /** Removes a span that repeats one stored before it, and of which nothing was decided. */
  removeRepeated(span: ArrivedSpan): void
}

export type WaitingKind = 'span' | 'change' | 'orphan' | 'cause' | 'parent' | 'join'

export interface Waiting {
  readonly arrival: number
  readonly kind: WaitingKind
  readonly cpid: number | undefined
  readonly origin: number | undefined
  /** Of a change: the span that reported it. */
  readonly parentId: bigint | undefined
  /** Of a span that waits only for spans that wait themselves: until when, in up time. */
  readonly behindUntilMs: number | undefined
}

/** What waits for a mergelog, a writer, a parent or the span that reports it, and until when. */
export interface WaitingItems {
  add(waiting: Waiting, dueMs: number): void
  /** True for a span that is linked but not sent yet. */
  hasSpan(row: number): boolean
  /** Until when an arrival waits, in milliseconds of up time; undefined if it does not. */
  untilOf(arrival: number): number | undefined
  /** True for a span that waits only for spans that wait themselves. */
  isBehind(row: number): boolean
  /** Ends its wait; false when it did not wait. */
  remove(arrival: number): boolean
  forCpid(cpid: number): Waiting[]
  /** The change that waits for its CPID. */
  changeOf(cpid: number): Waiting | undefined
  forParent(origin: number, parentId: bigint): Waiting[]
  /** Changes that wait for the span with this id, in any trace, that reports them. */
  changesReportedBy(spanId: bigint): Waiting[]
  /** What is due to be checked again. */
  due(limit: number): Waiting[]
}

/** What the linker does about something that waits, once what it waited for has come or its time is up. */
export type ReleasedStep =
  /** It may have waited long enough, or what it waited for has arrived. */
  | { readonly kind: 'waited'; readonly waiting: Waiting }
  /** It waited for the writer of a version, which has been sent. It may wait for more. */
  | { readonly kind: 'observer'; readonly row: number }
  /** It waited for its parent, which has been sent with this CPID, or without one. */
  | {
      readonly kind: 'child'
      readonly row: number
      readonly cpid: number | undefined
      readonly joined: boolean
    }
  /** The spans below it have waited as long as they may. */
  | { readonly kind: 'given up'; readonly row: number }
  /** A log record that may have waited long enough. */
  | { readonly kind: 'waited log'; readonly row: number }
  /** A CPID below a late mergelog, whose arrival `row` is: its spans are sent again. */
  | { readonly kind: 'moved'; readonly row: number; readonly cpid: number }

/** Steps for which a call of the linker had no time, in their order. They are taken before the next event. */
export interface UnfinishedSteps {
  readonly areAny: boolean
  add(steps: readonly ReleasedStep[]): void
  /** Adds steps that are taken before those that are there. */
  addFirst(steps: readonly ReleasedStep[]): void
  /** Removes the first, and returns it; undefined if what it is about waits no more. */
  take(): ReleasedStep | undefined
}

/** A parent that had not arrived when its child was linked. For `trace` -1 and 0 see awaited_parents in the schema. */
export interface AwaitedParent {
  readonly trace: number
  readonly cpid: number | undefined
  readonly sinceMs: number
  /** A child of it is activity of the trace's root. */
  readonly driven: boolean
}

/** The child waits for the parent, which gives it a CPID or decides which roots drive it. */
export const AWAITED_FOR_CPID = 0
/** The child was forwarded without a CPID. */
export const AWAITED_AFTER_FORWARD = -1

/** Parents that had not arrived when a child of theirs was linked. */
export interface AwaitedParents {
  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void
  /** When a parent was first missed, if it is awaited. */
  since(origin: number, spanId: bigint): number | undefined
  /** Removes and returns the children that awaited this span. */
  take(span: ArrivedSpan): AwaitedParent[]
}

/** What a span names as what it belongs to, besides its links. */
export interface JoinTargets {
  /** The API server's number of the request. */
  readonly auditId: string | undefined
  /** The request only reads, so no write has this audit id. */
  readonly reads: boolean
  /** The uid of a Pod, and the Pod as spans name objects. */
  readonly pod: { readonly uid: string; readonly object: string } | undefined
}

/** What spans without a CPID join: observed writes, and spans that they link to. */
export interface Joins {
  namedBy(row: number): JoinTargets
  /** Linked spans of the write with this audit id, in order of arrival; a few at most. */
  writesOf(auditId: string): number[]
  /** Linked spans of writes for which admission was called in this original trace; a few at most. */
  writesAdmittedIn(origin: number): number[]
  /** The linked span of the newest write of a Pod up to a time; of any cluster if `cluster` is empty. */
  newestWriteOf(pod: { uid: string; object: string }, cluster: string, upToNs: UnixNanos): number | undefined
  /** Records that the span joined another and becomes its child. */
  add(span: ArrivedSpan, target: number): void
  /** What the span itself joined, rather than its parent. */
  targetOf(row: number): number | undefined
  /** The span waits for a span with one of these keys. */
  await(row: number, keys: readonly string[]): void
  stopAwaiting(row: number): void
  /** Spans that wait to join this one, which is being sent: for its write, or by a link to it. */
  waitingFor(span: ArrivedSpan): readonly number[]
}

/** The keys by which spans wait for one another. */
export const keyOfRequest = (auditId: string): string => `request ${auditId}`
export const keyOfTrace = (origin: number): string => `trace ${origin}`
export const keyOfPod = (uid: string): string => `pod ${uid}`
export const keyOfLink = (spanId: bigint): string => `${LINK}${spanId}`
export const LINK = 'link '

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
  /** All times of its spans are within these, also of copies and impossible ones; `firstNs` and `lastNs` bound its activity alone. */
  sentFromNs: UnixNanos
  sentToNs: UnixNanos
  /** Some times are impossible, or lie far before the others: `firstNs` and `lastNs` leave them out. */
  clockSkew: boolean
  /** All times so far lie so long before their arrival that a better one will replace them. */
  doubtfulTimes: boolean
  sentSpans: number
  /** The largest size that a backend counts for the trace, however its spans are batched. */
  sentBytes: number
  /** Spans of other clusters than its root's among these, where senders have permissions of their own. */
  guestSpans: number
  guestBytes: number
  controllerSpans: number
  /** Those of them whose status is an error. */
  failedSpans: number
  services: number
  merges: number
  missing: number
  truncated: boolean
  /** Whether its root span was sent. In some modes spans do not wait for it. */
  rootSent: boolean
  /** Opened for a CPID whose own mergelog had not arrived. */
  readonly provisional: boolean
  /** It is an episode because the trace before was full: its root is still open. */
  readonly continuesRoot: boolean
}

export interface Traces {
  trace(id: number): Trace | undefined
  /** The root's newest trace. */
  currentOf(root: number): Trace | undefined
  ofRoot(root: number): Trace[]
  /** The stored traces of a cascade, by the number of its first. */
  partsOf(cascade: number): Trace[]
  /** How many services have spans in a cascade. */
  servicesIn(cascade: number): number
  /** CPIDs in the traces of a cascade whose own mergelog has not arrived. */
  countMissing(trace: Trace): number
  /** Open traces that are due to be checked. */
  due(limit: number): Trace[]
  /** Begins a cascade, or continues that of another trace. */
  add(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace
  touch(trace: Trace): void
  /** True when the trace had no span of this service yet. */
  addService(trace: Trace, service: string): boolean
}

export interface ChangeSpan {
  readonly trace: number
  readonly spanId: bigint
  readonly depth: number
  /** It, or a span of its CPID, is activity of the trace's root. */
  readonly driven: boolean
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
  /** The CPID had a mergelog before, worked out or of a sender with a worse claim; it may have been linked already. */
  readonly replaces: boolean
  /** Causeway worked it out, since the sender's own did not come. */
  readonly isWorkedOut: boolean
}

/** Which change span a CPID has in which trace. */
export interface ChangeSpans {
  find(cpid: number, trace: number): ChangeSpan | undefined
  /** The newest traces in which the CPID has a change span. */
  newest(cpid: number, most: number): ChangeSpan[]
  /** CPIDs with a change span in the trace, nearest the root first. */
  cpidsIn(trace: number): number[]
  add(cpid: number, change: ChangeSpan): void
  /** From now on the root of that trace drives the CPID. */
  noteDriven(cpid: number, change: ChangeSpan): void
}

/** The span that reported a change, by the ids it was sent with. */
export interface ChangeReporter {
  readonly traceId: Buffer
  readonly spanId: bigint
  /** Up time in milliseconds when it reported it. */
  readonly sinceMs: number
}

export interface Mergelogs {
  find(cpid: number): StoredMergelog | undefined
  /** The span that sent the mergelog, if it is known. */
  reporterOf(cpid: number): ChangeReporter | undefined
}

/** The resources and scopes of sent spans, and their sizes. */
export interface LinkScopes {
  /** The scope `causeway` under the resource of another scope, or under Causeway's own. */
  ownUnder(senderScope: number | undefined): number
  /** The size of a scope and its resource. */
  envelopeBytes(scope: number): number
  /** The cluster that its resource names; empty where it names none. */
  clusterOf(scope: number): string
}

/** A version of an object that a span read or wrote. */
export interface ObjectVersion {
  readonly object: number
  readonly version: bigint
  readonly uid: string | undefined
}

/** A span that wrote something. */
export interface Writer {
  readonly row: number
  readonly endNs: UnixNanos
}

/** The objects that spans read and wrote. */
export interface LinkedObjects {
  /** What a span read, or wrote. */
  versions(row: number, role: 'observed' | 'wrote'): readonly ObjectVersion[]
  /** A linked span that wrote exactly this version. */
  writerOf(version: ObjectVersion): number | undefined
  /** Linked spans that wrote the object at a lower version, of the same uid where both give one; highest first, at most `most`. */
  writersBelow(version: ObjectVersion, most: number): { row: number; version: bigint }[]
  /** Records that a span sent into a trace of the cascade wrote these. */
  addWrites(cascade: number, span: Writer, versions: readonly ObjectVersion[]): void
  /** Records that the cascade itself wrote what a span of it wrote, of whatever version: its namespaces, and its Pods. */
  addWritten(cascade: number, span: Writer): void
  /** Records that the cascade is about the namespace of this object. */
  addNamespace(cascade: number, reference: string): void
  /**
   * Spans sent into the cascade's traces that wrote the object at that version or lower, of the same uid where both give one:
   * highest version first, ties by what ends last. At most `most` writes are looked at.
   */
  writersIn(cascade: number, version: ObjectVersion, most: number): number[]
  /** Records that the span waits for the version's writer; returns since when that is missed, in up time. */
  awaitWriter(version: ObjectVersion, row: number): number
  /** Removes and returns the spans that wait for the writer of a version. */
  takeObservers(version: ObjectVersion): number[]
  /** True when the span wrote exactly this version. */
  wrote(row: number, version: ObjectVersion): boolean
  /** True the first time this is asked; old answers are forgotten. */
  isFirstToObserve(service: string, version: ObjectVersion): boolean
  /** `<apiVersion>/<resource>` of an object. */
  kindOf(object: number): string
}

/** Who made the observed writes of each trace. */
export interface TraceActors {
  /** Records who made the write of a span that was sent into the trace. */
  add(trace: Trace, span: ArrivedSpan): void
}

/** A stored log record as the linker sees it. */
export interface ArrivedLog {
  /** Its number in ingest order. */
  readonly row: number
  readonly cpid: number | undefined
  /** 16 bytes; undefined when it names no trace. */
  readonly traceId: Buffer | undefined
  /** 0n for none, and when it names no trace. */
  readonly spanId: bigint
  /** It carries a `cpid.id` that is no CPID, so it does not inherit one from its span. */
  readonly malformed: boolean
  /** The same content from the same resource and scope arrived before. */
  readonly repeated: boolean
}

/** Where one log record goes. */
export interface LogDecision {
  log: number
  /** 16 bytes; undefined to keep its own. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** The CPID it takes from its span. */
  inherited: number | undefined
}

/** A log record waits for its CPID to be explained, or for its span to be sent. */
export type LogWaitingKind = 'cpid' | 'span'

/** Log records that are linked, what waits of them, and what was decided. */
export interface LogLinkStore {
  log(row: number): ArrivedLog | undefined
  /** Removes a log record that repeats one stored before it, and of which nothing was decided. */
  removeRepeated(row: number): void
  wait(log: ArrivedLog, kind: LogWaitingKind, dueMs: number): void
  /** Ends its wait; false when it did not wait. */
  stopWaiting(row: number): boolean
  waitingForCpid(cpid: number): number[]
  waitingForSpan(span: ArrivedSpan): number[]
  /** What has waited long enough to be looked at again. */
  due(limit: number): number[]
  /** Since when a span is missed, in milliseconds of up time; from now on when it was not missed before. */
  spanMissedSince(traceId: Buffer, spanId: bigint): number
  send(decision: LogDecision): void
}

/** One decision about a log record with what is needed to build its bytes. */
export interface LogOutboxItem {
  readonly decision: number
  /** Undefined when the record has been pruned. */
  readonly raw: Buffer | undefined
  readonly scope: number
  readonly traceId: Buffer | undefined
  readonly withoutSpanId: boolean
  readonly inherited: Cpid | undefined
}

/** Reads what was decided about log records; it never writes. */
export interface LogOutboxReader {
  /** Decisions after `position` in order, at most `limit`. */
  after(position: number, limit: number): LogOutboxItem[]
  envelopes(scope: number): ScopeEnvelopes | undefined
}
