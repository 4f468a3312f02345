import { hash } from 'node:crypto'
import {
  type Decoded,
  type LogRecord,
  type MergelogRecord,
  SPAN_NAMES_POD,
  SPAN_NAMES_REQUEST,
  type SpanRecord,
} from '../arrivals.ts'
import {
  AUDIT_ID,
  CPID_ACTOR,
  CPID_AUDIT_ID,
  CPID_CAUSE,
  CPID_GAP,
  CPID_GAP_MISSED,
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_OBSERVED,
  CPID_REASON,
  CPID_SOURCES,
  CPID_WRITER,
  CPID_SYNTHETIC,
  CPID_TRACEPARENT,
  CPID_WROTE,
  MERGELOG_EVENT,
  POD_UID,
  USER_NAME,
} from '../attributes.ts'
import type { MetricResource } from '../pod-stats.ts'
import { readTraceparent } from '../kubernetes-observations.ts'
import type { Signal } from '../otlp-requests.ts'
import { type InferredWrite, WRITE_CAUSES } from '../seen-write.ts'
import { decodeMetrics } from './decode-metrics.ts'
import {
  type ItemCount,
  mayBeCpidAttribute,
  mayNameRequestOrPod,
  readAttribute,
  readSpanId,
  type TextValue,
  WireCursor,
} from './protobuf-wire.ts'
import { decodeRequest, type RecordReader } from './request-envelopes.ts'

/** A decoded request, and the hash that identifies a repetition of it. Without a hash it counts as a new request. */
export interface ReadRequest {
  hash: Buffer | undefined
  traces?: Decoded<SpanRecord>
  logs?: Decoded<LogRecord>
  metrics?: readonly MetricResource[]
}

const SIGNAL_MASK: Readonly<Record<Signal, number>> = { traces: 0, logs: 0xff, metrics: 0x55 }

/** The hash that identifies repetitions of a request. */
export function hashOfRequest(signal: Signal, bytes: Uint8Array): Buffer {
  const digest = hash('sha256', bytes, 'buffer').subarray(0, 16)
  // The same bytes can be a valid request of each signal.
  digest[0] = (digest[0] ?? 0) ^ SIGNAL_MASK[signal]
  return digest
}

/** Decodes a whole export request, before any of it is stored. Throws MalformedOtlp. */
export function readRequest(
  signal: Signal,
  bytes: Buffer,
  hash: Buffer = hashOfRequest(signal, bytes),
): ReadRequest {
  if (signal === 'metrics') return { hash, metrics: decodeMetrics(bytes) }
  return signal === 'traces' ? { hash, traces: decodeTraces(bytes) } : { hash, logs: decodeLogs(bytes) }
}

const SPAN_TRACE_ID = 1
const SPAN_ID = 2
const PARENT_SPAN_ID = 4
const NAME = 5
const KIND = 6
const START = 7
const END = 8
const SPAN_ATTRIBUTES = 9
const EVENTS = 11
const LINKS = 13
const STATUS = 15
/** The names of a kubelet's spans about a Pod. Other programs name Pods for other reasons. */
const OF_KUBELETS: ReadonlySet<string> = new Set(['syncPod', 'syncTerminatingPod', 'syncTerminatedPod'])
const NO_TRACE = '\0'.repeat(16)

const SPANS: RecordReader<SpanRecord> = { kind: 'spans', read: readSpan }

/** Decodes an ExportTraceServiceRequest, and keeps the bytes of each span. Throws MalformedOtlp. */
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
    isOfCauseway: false,
  }
  // If a field is repeated, the last one counts (protobuf), so a valid id replaces an invalid one before it.
  let badTraceId = false
  let badSpanId = false
  let badParentId = false
  while (cursor.next()) {
    const length = cursor.end - cursor.start
    switch (cursor.field) {
      case SPAN_TRACE_ID:
        cursor.expectLength('trace_id')
        badTraceId = length !== 16
        if (!badTraceId) span.traceKey = bytes.toString('latin1', cursor.start, cursor.end)
        break
      case SPAN_ID:
        cursor.expectLength('span_id')
        badSpanId = length !== 8
        if (!badSpanId) span.spanId = readSpanId(bytes, cursor.start)
        break
      case PARENT_SPAN_ID:
        cursor.expectLength('parent_span_id')
        badParentId = length !== 8 && length !== 0
        span.parentId = length === 8 ? readSpanId(bytes, cursor.start) : 0n
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
      case SPAN_ATTRIBUTES:
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
        // The link is validated now: when linking reads it, the sender can no longer get an error.
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

/** Reads an attribute of Causeway's own. If it is repeated, the first one counts, as in Jaeger and Tempo. */
function readOwn(bytes: Buffer, start: number, end: number, span: SpanRecord, count: ItemCount): void {
  const { key, value } = readAttribute(bytes, start, end, count)
  if (key === CPID_ID) {
    if (span.cpid === undefined) span.cpid = typeof value === 'string' ? value : null
    else span.repeatsCpid = true
  } else if (key === CPID_OBSERVED) span.observed ??= texts(value) ?? []
  else if (key === CPID_WROTE) span.wrote ??= texts(value) ?? []
  else if (key === CPID_CAUSE) span.seen ??= readInferredWrite(span.raw, value)
  else if (key === CPID_SYNTHETIC) span.isOfCauseway = true
  else if (key === AUDIT_ID) span.names |= SPAN_NAMES_REQUEST
  else if (key === POD_UID) span.names |= SPAN_NAMES_POD
}

function texts(value: TextValue): string[] | undefined {
  return typeof value === 'string' ? [value] : value
}

/** Merges with an earlier part of the message, if it is divided into several (protobuf). */
function readStatus(cursor: WireCursor, earlier: number): number {
  let code = earlier
  while (cursor.next()) if (cursor.field === 3) code = cursor.int32('status code')
  return code
}

interface EventIn {
  readonly span: SpanRecord
  /** Reused, since most events are skipped. */
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

const TIME = 1
const SEVERITY = 2
const LOG_ATTRIBUTES = 6
const LOG_TRACE_ID = 9
const LOG_SPAN_ID = 10
const OBSERVED_TIME = 11
const EVENT_NAME = 12

const LOGS: RecordReader<LogRecord> = { kind: 'log records', read: readLog }

/** Decodes an ExportLogsServiceRequest, and keeps the bytes of each record. Throws MalformedOtlp. */
export function decodeLogs(request: Buffer): Decoded<LogRecord> {
  return decodeRequest(request, LOGS)
}

function readLog(bytes: Buffer, start: number, end: number, count: ItemCount): LogRecord {
  const cursor = new WireCursor(bytes, start, end)
  const attributes = new FirstAttributes()
  let time = 0n
  let observed = 0n
  const log: LogRecord = {
    raw: bytes.subarray(start, end),
    timeNs: 0n,
    severity: 0,
    eventName: '',
    traceKey: '',
    spanId: 0n,
    cpid: undefined,
    repeatsCpid: false,
    mergelog: undefined,
  }
  while (cursor.next()) {
    switch (cursor.field) {
      case TIME:
        time = cursor.nanos('time_unix_nano')
        break
      case OBSERVED_TIME:
        observed = cursor.nanos('observed_time_unix_nano')
        break
      case SEVERITY:
        log.severity = cursor.int32('severity_number')
        break
      case EVENT_NAME:
        cursor.expectLength('event_name')
        log.eventName = cursor.text()
        break
      // A log record with an invalid id belongs to no span (OTLP logs.proto).
      case LOG_TRACE_ID:
        cursor.expectLength('trace_id')
        log.traceKey =
          cursor.end - cursor.start === 16 ? bytes.toString('latin1', cursor.start, cursor.end) : ''
        break
      case LOG_SPAN_ID:
        cursor.expectLength('span_id')
        log.spanId = cursor.end - cursor.start === 8 ? readSpanId(bytes, cursor.start) : 0n
        break
      case LOG_ATTRIBUTES:
        cursor.expectLength('attribute')
        attributes.read(bytes, cursor.start, cursor.end, count)
        break
    }
  }
  log.timeNs = time === 0n ? observed : time
  if (log.eventName === '') {
    const older = attributes.get(EVENT_NAME_ATTRIBUTE)
    if (typeof older === 'string') log.eventName = older
  }
  if (log.eventName === MERGELOG_EVENT) log.mergelog = mergelogOf(attributes, log.timeNs)
  const cpid = attributes.get(CPID_ID)
  if (attributes.has(CPID_ID)) log.cpid = typeof cpid === 'string' ? cpid : null
  log.repeatsCpid = attributes.repeats(CPID_ID)
  return log
}

/** The attribute in which SDKs older than the event_name field give the name of an event. */
const EVENT_NAME_ATTRIBUTE = 'event.name'
const READ: ReadonlySet<string> = new Set([
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  CPID_WRITER,
  EVENT_NAME_ATTRIBUTE,
])

/** The attributes of a log record or span event that Causeway needs. If a key is repeated, the first counts, as in the backends. */
class FirstAttributes {
  readonly #first = new Map<string, TextValue>()
  #repeated: Set<string> | undefined

  /** Reads the KeyValue at [start, end) if it may be one of these. */
  read(bytes: Buffer, start: number, end: number, count: ItemCount): void {
    if (!mayBeCpidAttribute(bytes, start, end) && bytes[start + 1] !== EVENT_NAME_ATTRIBUTE.length) return
    const { key, value } = readAttribute(bytes, start, end, count)
    if (READ.has(key)) this.#add(key, value)
  }

  #add(key: string, value: TextValue): void {
    if (this.#first.has(key)) (this.#repeated ??= new Set()).add(key)
    else this.#first.set(key, value)
  }

  has(key: string): boolean {
    return this.#first.has(key)
  }

  get(key: string): TextValue {
    return this.#first.get(key)
  }

  repeats(key: string): boolean {
    return this.#repeated?.has(key) === true
  }
}

/** Builds a mergelog from the attributes of a log record or span event. A value of the wrong type becomes ''. */
function mergelogOf(attributes: FirstAttributes, timeNs: bigint): MergelogRecord {
  const sources = attributes.get(CPID_SOURCES)
  const repeated = [CPID_NEW, CPID_SOURCES].find((key) => attributes.repeats(key))
  return {
    newCpid: text(attributes.get(CPID_NEW)) ?? '',
    sources:
      typeof sources === 'string' ? [sources] : (sources ?? (attributes.has(CPID_SOURCES) ? [''] : [])),
    timeNs,
    object: text(attributes.get(CPID_OBJECT)),
    reason: text(attributes.get(CPID_REASON)),
    ...(attributes.has(CPID_WRITER) && { writer: text(attributes.get(CPID_WRITER)) }),
    ...(repeated !== undefined && { repeated }),
  }
}

function text(value: TextValue): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const KEY = 1
const VALUE = 2
const BOOL = 2
const INT = 3
/** The largest number of missing versions that is stored for a write. */
const MAX_MISSED = 10_000
/** The longest name of an actor that is stored. */
const MAX_NAME = 256
const MAX_AUDIT_ID = 64

/** What a span says about the write that it reports; undefined if its cause is not a known one. */
function readInferredWrite(span: Buffer, cause: TextValue): InferredWrite | undefined {
  const known = WRITE_CAUSES.find((one) => one === cause)
  if (known === undefined) return undefined
  let actor: string | undefined
  let user: string | undefined
  let gap: boolean | undefined
  let missed: number | undefined
  let auditId: string | undefined
  let traceparent: string | undefined
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field !== SPAN_ATTRIBUTES || cursor.wire !== 2) continue
    const { key, value } = readAttribute(span, cursor.start, cursor.end)
    if (key === CPID_ACTOR && typeof value === 'string') actor ??= value
    else if (key === USER_NAME && typeof value === 'string') user ??= value
    else if (key === CPID_AUDIT_ID && typeof value === 'string') auditId ??= value
    else if (key === CPID_TRACEPARENT && typeof value === 'string') traceparent ??= value
    else if (key === CPID_GAP) gap ??= readScalar(span, cursor, BOOL) !== 0
    else if (key === CPID_GAP_MISSED) missed ??= readScalar(span, cursor, INT)
  }
  const admittedTrace = readTraceparent(traceparent ?? '')?.traceId
  return {
    user: (actor || user || undefined)?.slice(0, MAX_NAME),
    cause: known,
    gap: gap === true,
    ...(gap === true && missed !== undefined && missed > 0 && { missed: Math.min(missed, MAX_MISSED) }),
    ...(isAuditId(auditId) && { auditId }),
    ...(admittedTrace !== undefined && { admittedTrace }),
  }
}

/** API servers accept no longer audit ids from clients. */
const isAuditId = (text: string | undefined): text is string =>
  text !== undefined && text !== '' && text.length <= MAX_AUDIT_ID

/** The value of a KeyValue, if it is a boolean or an integer of at most 32 bits; otherwise 0. */
function readScalar(bytes: Buffer, { start, end }: WireCursor, kind: typeof BOOL | typeof INT): number {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  let value = 0
  while (cursor.next()) {
    if (cursor.field === KEY || cursor.field !== VALUE || cursor.wire !== 2) continue
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) value = inner.field === kind && inner.wire === 0 ? inner.int32('value') : 0
  }
  return value
}
