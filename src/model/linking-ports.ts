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
  readonly parents: AwaitedParents
  readonly outbox: Decisions
}

/** What the linker hears of, in ingest order. */
export type LinkEvent =
  | { kind: 'span'; arrival: number; span: ArrivedSpan }
  | { kind: 'mergelog' | 'explained'; arrival: number; cpid: number }
  | { kind: 'log'; arrival: number; log: ArrivedLog }

/** What has arrived and how far the linker has come. */
export interface LinkEvents {
  /** The next events after the linker's position, at most `limit`. */
  next(limit: number): LinkEvent[]
  /** Moves the linker's position. */
  passed(arrival: number): void
  /** Moves the linker's position over everything that has arrived. */
  passedAll(): void
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
  /** What its resource and its scope weigh. */
  readonly envelopeBytes: number
  readonly hasLinks: boolean
  /** It names objects that it read, or wrote. */
  readonly observes: boolean
  readonly writes: boolean
  /** Its status is an error. */
  readonly failed: boolean
  /** It tells of a write that was seen from outside. */
  readonly seen: boolean
  /** How it may say what it belongs to: bits `SPAN_HAS_LINKS`, `SPAN_NAMES_REQUEST`, `SPAN_NAMES_POD`. */
  readonly names: number
  /** It took its CPID from what it says it belongs to, or from a parent that did: it is no activity. */
  joined: boolean
  /** It carries a `cpid.id` that is no CPID. */
  readonly malformed: boolean
  /** It takes no CPID that is known to be of another cluster from its parent. */
  readonly joinsOwn: boolean
  /** Its CPID came from an ancestor span. */
  inherited: boolean
  /** The same span arrived before: the same ids, content, resource and scope. */
  readonly repeated: boolean
  /** Something linked in an earlier round may have been awaiting it. */
  readonly awaited: boolean
}

/** Which spans are there. */
export interface Spans {
  span(row: number): ArrivedSpan | undefined
  ofCpid(cpid: number): ArrivedSpan[]
  /** Linked spans of an original trace that have this parent and no CPID. */
  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[]
  /** Where a span with these original ids is, if it arrived. */
  find(originTraceId: Buffer, spanId: bigint): number | undefined
  /** The first links of a stored span, as sent: as many as a span may have in OTLP by default. */
  linksOf(row: number): { traceId: Buffer; spanId: bigint }[]
  /** The earliest start, from one time to another, of spans that carry the CPID. */
  firstStart(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined
  /** The span takes a CPID from its parent, or from what it has `joined`, as its parent may have. */
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
  /** Of a change: the span that told of it. */
  readonly parentId: bigint | undefined
  /** Of a span that misses nothing any more but waits for spans that wait themselves: until when, in up time. */
  readonly behindUntilMs: number | undefined
}

/** What waits for a mergelog, for a writer, for a parent or for the span that told of it, and until when. */
export interface WaitingItems {
  add(waiting: Waiting, dueMs: number): void
  /** True for a span that is linked but not sent yet. */
  hasSpan(row: number): boolean
  /** Until when an arrival waits, in milliseconds of up time, if it does. */
  untilOf(arrival: number): number | undefined
  /** True for a span that waits only for spans that wait themselves. */
  isBehind(row: number): boolean
  /** It is looked at before all else that is due, if it waits. */
  wake(arrival: number): void
  /** It waits no longer; false when it did not any more. */
  remove(arrival: number): boolean
  forCpid(cpid: number): Waiting[]
  /** The change that waits for its CPID, found without looking at the spans that wait for it. */
  changeOf(cpid: number): Waiting | undefined
  forParent(origin: number, parentId: bigint): Waiting[]
  /** Changes that wait for a span with this id, in whichever trace, that told of them. */
  changesToldBy(spanId: bigint): Waiting[]
  /** What has waited long enough to be looked at again. */
  due(limit: number): Waiting[]
}

/** A span that was not there when its child was linked. trace -1 and 0: see awaited_parents in the schema. */
export interface AwaitedParent {
  readonly trace: number
  readonly cpid: number | undefined
  readonly sinceMs: number
  /** A child of it is activity of the trace's root. */
  readonly driven: boolean
}

/** The child waits for the parent, which gives it a CPID or says what drives it. */
export const AWAITED_FOR_CPID = 0
/** The child was forwarded without a CPID. */
export const AWAITED_AFTER_FORWARD = -1

/** Parents that had not arrived when a child of theirs was linked. */
export interface AwaitedParents {
  add(origin: number, spanId: bigint, trace: number, cpid: number | undefined, driven: boolean): void
  /** When a parent was first missed, if it is awaited. */
  since(origin: number, spanId: bigint): number | undefined
  /** The children that this span was awaited for; it is awaited no longer. */
  take(span: ArrivedSpan): AwaitedParent[]
}

/** What a span says it belongs to, beside its links. */
export interface JoinTargets {
  /** The API server's number of the request. */
  readonly auditId: string | undefined
  /** The request only reads: no write has its number. */
  readonly reads: boolean
  /** The uid of a Pod, and the Pod as spans name objects. */
  readonly pod: { readonly uid: string; readonly object: string } | undefined
}

/** What spans without a CPID join: writes that were seen from outside, and spans that they link to. */
export interface Joins {
  namedBy(row: number): JoinTargets
  /** Linked spans that tell of the write with this number, those that arrived first at first: a few. */
  writesOf(auditId: string): number[]
  /** Linked spans that tell of writes for which admission was called in an original trace: a few. */
  writesAdmittedIn(origin: number): number[]
  /** The linked span that tells of the newest write of a Pod up to a time; of whichever cluster where that is empty. */
  newestWriteOf(pod: { uid: string; object: string }, cluster: string, upToNs: UnixNanos): number | undefined
  /** The span has joined another, and hangs under it. */
  add(span: ArrivedSpan, target: number): void
  /** What the span joined by itself. */
  targetOf(row: number): number | undefined
  /** The span waits for what has one of these keys. */
  await(row: number, keys: readonly string[]): void
  stopAwaiting(row: number): void
  /** Spans that wait to join this one, which is being sent: for the write that it tells of, or by a link to it. */
  waitingFor(span: ArrivedSpan): readonly number[]
}

/** By what something is awaited. */
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
  /** A sender gave a time that cannot be, or one that lies far before the others: it is left out of first and last. */
  clockSkew: boolean
  /** All times so far lie so long before their arrival that a better one replaces them. */
  doubtfulTimes: boolean
  sentSpans: number
  /** The most that a backend makes of what was sent, however it is batched. */
  sentBytes: number
  /** What of that is of other clusters than its root's, where senders are told apart. */
  guestSpans: number
  guestBytes: number
  controllerSpans: number
  /** Of those, the ones whose status is an error. */
  failedSpans: number
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

/** Which outgoing traces there are, and how they stand. */
export interface Traces {
  trace(id: number): Trace | undefined
  /** The root's newest trace. */
  currentOf(root: number): Trace | undefined
  ofRoot(root: number): Trace[]
  /** The traces of a cascade, by the number of its first, as far as they are there. */
  partsOf(cascade: number): Trace[]
  /** How many services have spans in a cascade. */
  servicesIn(cascade: number): number
  /** CPIDs in the traces of a cascade whose own mergelog has not arrived. */
  countMissing(trace: Trace): number
  /** Open traces whose time to look at has come. */
  due(limit: number): Trace[]
  /** Begins a cascade, or goes on with that of another trace. */
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
}

/** Which change span a CPID has in which trace. */
export interface ChangeSpans {
  find(cpid: number, trace: number): ChangeSpan | undefined
  /** The newest traces in which the CPID has a change span. */
  newest(cpid: number, most: number): ChangeSpan[]
  /** CPIDs with a change span in the trace, nearest the root first. */
  cpidsIn(trace: number): number[]
  add(cpid: number, change: ChangeSpan): void
  /** The root of that trace drives the CPID from now on; before, it was only passed on with it. */
  noteDriven(cpid: number, change: ChangeSpan): void
}

/** The span that told of a change, by the ids it was sent with. */
export interface ChangeReporter {
  readonly traceId: Buffer
  readonly spanId: bigint
  /** Up time in milliseconds when it told of it. */
  readonly sinceMs: number
}

/** What was said of a change. */
export interface Mergelogs {
  find(cpid: number): StoredMergelog | undefined
  /** The span that sent the mergelog, as far as it said so. */
  toldBy(cpid: number): ChangeReporter | undefined
}

/** Under which resource and scope spans are sent, and how many bytes these add. */
export interface LinkScopes {
  /** The scope `causeway` under the resource of another scope, or under Causeway's own. */
  ownUnder(senderScope: number | undefined): number
  /** What a scope and its resource weigh. */
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

/** What linking asks of the objects that spans read and wrote, and notes of them. */
export interface LinkedObjects {
  /** What a span read, or wrote. */
  versions(row: number, role: 'observed' | 'wrote'): readonly ObjectVersion[]
  /** A linked span that wrote exactly this version. */
  writerOf(version: ObjectVersion): number | undefined
  /** Linked spans that wrote the object at a lower version, of the same uid where both give one: highest first, at most so many. */
  writersBelow(version: ObjectVersion, most: number): { row: number; version: bigint }[]
  /** Notes that a span sent into a trace of the cascade wrote these. */
  addWrites(cascade: number, span: Writer, versions: readonly ObjectVersion[]): void
  /** Notes that the cascade is about something in the namespace of this object, which a reference names. */
  addNamespace(cascade: number, reference: string): void
  /**
   * Spans sent into the cascade's traces that wrote the object at that version or lower, of the same uid where both give one:
   * highest version first, ties by what ends last. At most `most` writes are looked at.
   */
  writersIn(cascade: number, version: ObjectVersion, most: number): number[]
  /** Notes that the span waits for the version's writer; returns since when that is missed, in up time. */
  awaitWriter(version: ObjectVersion, row: number): number
  /** Who waits for the writer of a version; they wait for it no more. */
  takeObservers(version: ObjectVersion): number[]
  /** True when the span wrote exactly this version. */
  wrote(row: number, version: ObjectVersion): boolean
  /** True the first time it is asked, as far as is remembered. */
  isFirstToObserve(service: string, version: ObjectVersion): boolean
  /** `<apiVersion>/<resource>` of an object. */
  kindOf(object: number): string
}

/** Who wrote in which trace, as far as a cluster was looked at from outside. */
export interface TraceActors {
  /** Notes who made the write that a span tells of, which was sent into the trace. */
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
  /** It carries a `cpid.id` that is no CPID, and so takes none from its span. */
  readonly malformed: boolean
  /** The same content from the same resource and scope arrived before. */
  readonly repeated: boolean
}

/** Where one log record goes. */
export interface LogDecision {
  log: number
  /** 16 bytes; undefined to keep what it came with. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** The CPID it takes from its span. */
  inherited: number | undefined
}

/** A log record waits for its CPID to be explained, or for its span to leave. */
export type LogWaitingKind = 'cpid' | 'span'

/** Log records that are linked, what waits of them, and what was decided. */
export interface LogLinkStore {
  log(row: number): ArrivedLog | undefined
  /** Removes a log record that repeats one stored before it, and of which nothing was decided. */
  removeRepeated(row: number): void
  wait(log: ArrivedLog, kind: LogWaitingKind, dueMs: number): void
  /** It waits no longer; false when it did not any more. */
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
