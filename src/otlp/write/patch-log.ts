import { fieldHeader } from './patch-span.ts'
import { mayBeCpidAttribute, readAttribute } from '../read/read-attribute.ts'
import { WireCursor } from '../read/wire-cursor.ts'

const ATTRIBUTES = 6
const TRACE_ID = 9
const SPAN_ID = 10

/** How a stored log record differs from the one sent. Everything else stays byte for byte. */
export interface LogPatch {
  /** Undefined to keep its own. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** KeyValue messages to append. */
  attributes: readonly Uint8Array[]
}

/** The bytes of an OTLP LogRecord with other ids. Fields keep their order and unknown ones are kept; ids go to the end. */
export function patchLog(log: Buffer, { traceId, withoutSpanId, attributes }: LogPatch): Buffer {
  const parts: Uint8Array[] = []
  const cursor = new WireCursor(log)
  let keptFrom = 0
  while (cursor.next()) {
    const goes =
      (cursor.field === TRACE_ID && traceId !== undefined) || (cursor.field === SPAN_ID && withoutSpanId)
    if (!goes) continue
    if (cursor.tagAt > keptFrom) parts.push(log.subarray(keptFrom, cursor.tagAt))
    keptFrom = cursor.pos
  }
  parts.push(log.subarray(keptFrom))
  for (const attribute of attributes) parts.push(fieldHeader(ATTRIBUTES, attribute.length), attribute)
  if (traceId !== undefined) parts.push(fieldHeader(TRACE_ID, traceId.length), traceId)
  return Buffer.concat(parts)
}

/** The trace id of a LogRecord; undefined where it has none, or an invalid one. The last one counts (protobuf). */
export function traceIdOfLog(log: Buffer): Buffer | undefined {
  const cursor = new WireCursor(log)
  let traceId: Buffer | undefined
  while (cursor.next()) {
    if (cursor.field === TRACE_ID) traceId = log.subarray(cursor.start, cursor.end)
  }
  return traceId?.length !== 16 || traceId.every((byte) => byte === 0) ? undefined : traceId
}

/** True when a LogRecord has an attribute of that name, one of Causeway's own, whatever its value. */
export function hasOwnAttribute(log: Buffer, key: string): boolean {
  const cursor = new WireCursor(log)
  while (cursor.next()) {
    if (cursor.field !== ATTRIBUTES || !mayBeCpidAttribute(log, cursor.start, cursor.end)) continue
    if (readAttribute(log, cursor.start, cursor.end).key === key) return true
  }
  return false
}
