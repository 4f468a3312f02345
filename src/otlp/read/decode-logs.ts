import { CPID_ID, MERGELOG_EVENT } from '../../model/attributes.ts'
import type { Decoded, LogRecord } from '../../model/arrivals.ts'
import { decodeRequest, type RecordReader } from './decode-envelopes.ts'
import type { ItemCount } from './item-count.ts'
import { EVENT_NAME_ATTRIBUTE, FirstAttributes, mergelogOf } from './read-mergelog.ts'
import { WireCursor } from './wire-cursor.ts'

const TIME = 1
const SEVERITY = 2
const ATTRIBUTES = 6
const TRACE_ID = 9
const SPAN_ID = 10
const OBSERVED_TIME = 11
const EVENT_NAME = 12

const LOGS: RecordReader<LogRecord> = { kind: 'log records', read: readLog }

/** Decodes an ExportLogsServiceRequest, keeping each record's bytes. Throws MalformedOtlp. */
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
      // A record with an invalid id is one that belongs to no span (OTLP logs.proto).
      case TRACE_ID:
        cursor.expectLength('trace_id')
        log.traceKey =
          cursor.end - cursor.start === 16 ? bytes.toString('latin1', cursor.start, cursor.end) : ''
        break
      case SPAN_ID:
        cursor.expectLength('span_id')
        log.spanId = cursor.end - cursor.start === 8 ? bytes.readBigInt64BE(cursor.start) : 0n
        break
      case ATTRIBUTES:
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
