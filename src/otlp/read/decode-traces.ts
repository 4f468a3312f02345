import {
  AUDIT_ID,
  CPID_CAUSE,
  CPID_ID,
  CPID_OBSERVED,
  CPID_WROTE,
  MERGELOG_EVENT,
  POD_UID,
} from '../../model/attributes.ts'
import {
  SPAN_NAMES_POD,
  SPAN_NAMES_REQUEST,
  type Decoded,
  type MergelogRecord,
  type SpanRecord,
} from '../../model/arrivals.ts'
import { decodeRequest, type RecordReader } from './decode-envelopes.ts'
import type { ItemCount } from './item-count.ts'
import { mayBeCpidAttribute, mayNameRequestOrPod, readAttribute, type TextValue } from './read-attribute.ts'
import { FirstAttributes, mergelogOf } from './read-mergelog.ts'
import { readSeenWrite } from './read-seen-write.ts'
import { WireCursor } from './wire-cursor.ts'

const TRACE_ID = 1
const SPAN_ID = 2
const PARENT_SPAN_ID = 4
const NAME = 5
const KIND = 6
const START = 7
const END = 8
const ATTRIBUTES = 9
const EVENTS = 11
const LINKS = 13
const STATUS = 15
/** What a kubelet calls its work on a Pod. Others name Pods for other reasons. */
const OF_KUBELETS: ReadonlySet<string> = new Set(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod'])
const NO_TRACE = '\0'.repeat(16)

const SPANS: RecordReader<SpanRecord> = { kind: 'spans', read: readSpan }

/** Decodes an ExportTraceServiceRequest, keeping each span's bytes. Throws MalformedOtlp. */
export function decodeTraces(request: Buffer): Decoded<SpanRecord> {
  return decodeRequest(request, SPANS)
}

function readSpan(bytes: Buffer, start: number, end: number, count: ItemCount): SpanRecord | string {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  const span: SpanRecord = {
    raw: bytes.subarray(start, end),
    traceKey: '',
    spanId: 0n,
    parentId: 0n,
    startNs: 0n,
    endNs: 0n,
    name: '',
    kind: 0,
    status: 0,
    hasLinks: false,
    cpid: undefined,
    repeatsCpid: false,
    mergelogs: undefined,
    observed: undefined,
    wrote: undefined,
    seen: undefined,
    names: 0,
  }
  // Where a field stands twice the last one counts (protobuf): a good one makes up for a bad one before it.
  let badTraceId = false
  let badSpanId = false
  let badParentId = false
  while (cursor.next()) {
    const length = cursor.end - cursor.start
    switch (cursor.field) {
      case TRACE_ID:
        cursor.expectLength('trace_id')
        badTraceId = length !== 16
        if (!badTraceId) span.traceKey = bytes.toString('latin1', cursor.start, cursor.end)
        break
      case SPAN_ID:
        cursor.expectLength('span_id')
        badSpanId = length !== 8
        if (!badSpanId) span.spanId = bytes.readBigInt64BE(cursor.start)
        break
      case PARENT_SPAN_ID:
        cursor.expectLength('parent_span_id')
        badParentId = length !== 8 && length !== 0
        span.parentId = length === 8 ? bytes.readBigInt64BE(cursor.start) : 0n
        break
      case NAME:
        cursor.expectLength('name')
        span.name = cursor.text()
        break
      case KIND:
        span.kind = cursor.int32('kind')
        break
      case START:
        span.startNs = cursor.nanos('start_time_unix_nano')
        break
      case END:
        span.endNs = cursor.nanos('end_time_unix_nano')
        break
      case ATTRIBUTES:
        cursor.expectLength('attribute')
        if (mayBeCpidAttribute(bytes, cursor.start, cursor.end) || mayNameRequestOrPod(bytes, cursor.start))
          readOwn(bytes, cursor.start, cursor.end, span, count)
        break
      case EVENTS:
        cursor.expectLength('event')
        readEvent(bytes, cursor.start, cursor.end, { span, inner, count })
        break
      case LINKS:
        cursor.expectLength('link')
        span.hasLinks = true
        // Linking looks into it, where nobody can be told any more.
        inner.reset(cursor.start, cursor.end)
        while (inner.next());
        break
      case STATUS:
        cursor.expectLength('status')
        inner.reset(cursor.start, cursor.end)
        span.status = readStatus(inner, span.status)
        break
    }
  }
  if (badTraceId) return 'a span whose trace_id is not 16 bytes'
  if (badSpanId) return 'a span whose span_id is not 8 bytes'
  if (badParentId) return 'a span whose parent_span_id is not 8 bytes'
  if (span.traceKey === '' || span.traceKey === NO_TRACE)
    return 'a span whose trace_id is missing or all zeros'
  if (span.spanId === 0n) return 'a span whose span_id is missing or all zeros'
  if ((span.names & SPAN_NAMES_POD) !== 0 && !OF_KUBELETS.has(span.name)) span.names &= ~SPAN_NAMES_POD
  return span
}

/** Reads an attribute of Causeway's own. Where one is there more than once the first counts, as in Jaeger and Tempo. */
function readOwn(bytes: Buffer, start: number, end: number, span: SpanRecord, count: ItemCount): void {
  const { key, value } = readAttribute(bytes, start, end, count)
  if (key === CPID_ID) {
    if (span.cpid === undefined) span.cpid = typeof value === 'string' ? value : null
    else span.repeatsCpid = true
  } else if (key === CPID_OBSERVED) span.observed ??= texts(value) ?? []
  else if (key === CPID_WROTE) span.wrote ??= texts(value) ?? []
  else if (key === CPID_CAUSE) span.seen ??= readSeenWrite(span.raw, value)
  else if (key === AUDIT_ID) span.names |= SPAN_NAMES_REQUEST
  else if (key === POD_UID) span.names |= SPAN_NAMES_POD
}

function texts(value: TextValue): string[] | undefined {
  return typeof value === 'string' ? [value] : value
}

/** A message that comes in parts goes on from the earlier one (protobuf). */
function readStatus(cursor: WireCursor, earlier: number): number {
  let code = earlier
  while (cursor.next()) if (cursor.field === 3) code = cursor.int32('status code')
  return code
}

interface EventIn {
  readonly span: SpanRecord
  /** To be used again: most events are passed over. */
  readonly inner: WireCursor
  readonly count: ItemCount
}

function readEvent(bytes: Buffer, start: number, end: number, { span, inner: cursor, count }: EventIn): void {
  cursor.reset(start, end)
  let isMergelog = false
  while (cursor.next()) {
    if (cursor.field !== 2 || cursor.wire !== 2) continue
    // The last name counts (protobuf).
    isMergelog = cursor.end - cursor.start === MERGELOG_EVENT.length && cursor.text() === MERGELOG_EVENT
  }
  if (!isMergelog) return
  count.add('mergelogs')
  ;(span.mergelogs ??= []).push(readMergelogEvent(bytes, start, end, count))
}

function readMergelogEvent(bytes: Buffer, start: number, end: number, count: ItemCount): MergelogRecord {
  const cursor = new WireCursor(bytes, start, end)
  const attributes = new FirstAttributes()
  let timeNs = 0n
  while (cursor.next()) {
    if (cursor.field === 1) timeNs = cursor.nanos('event time_unix_nano')
    else if (cursor.field === 3) {
      cursor.expectLength('event attribute')
      attributes.read(bytes, cursor.start, cursor.end, count)
    }
  }
  return mergelogOf(attributes, timeNs)
}
