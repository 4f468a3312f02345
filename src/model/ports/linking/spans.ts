import type { UnixNanos } from '../../clock.ts'

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
