import { mayBeCpidAttribute, readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const TRACE_ID = 1
const ATTRIBUTES = 9
const NO_ID: Buffer = Buffer.alloc(16)
const NONE: ReadonlySet<string> = new Set()

/** The trace id of a span as it was received, and the names of Causeway's own attributes that it came with. */
export interface Received {
  /** The last one where there are several, as everywhere in protobuf. */
  traceId: Buffer
  own: ReadonlySet<string>
}

/** Throws MalformedOtlp when the bytes are no message. */
export function readReceived(span: Buffer): Received {
  const cursor = new WireCursor(span)
  let traceId = NO_ID
  let own: Set<string> | undefined
  while (cursor.next()) {
    if (cursor.field === TRACE_ID) traceId = span.subarray(cursor.start, cursor.end)
    else if (cursor.field === ATTRIBUTES && mayBeCpidAttribute(span, cursor.start, cursor.end)) {
      const { key } = readAttribute(span, cursor.start, cursor.end)
      if (key.startsWith('cpid.')) (own ??= new Set()).add(key)
    }
  }
  return { traceId, own: own ?? NONE }
}
