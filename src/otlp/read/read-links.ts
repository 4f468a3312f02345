import { MalformedOtlp } from './malformed.ts'
import { WireCursor } from './wire-cursor.ts'

const LINKS = 13
const TRACE_ID = 1
const SPAN_ID = 2

export interface SpanLinkIds {
  traceId: Buffer
  spanId: bigint
}

/** The first links of an OTLP Span, in order. One with ids of the wrong length, or that is no message, has an empty trace id. */
export function readLinks(span: Buffer, most: number): SpanLinkIds[] {
  const links: SpanLinkIds[] = []
  const cursor = new WireCursor(span)
  while (links.length < most && cursor.next()) {
    if (cursor.field === LINKS && cursor.wire === 2) links.push(readLink(span, cursor.start, cursor.end))
  }
  return links
}

function readLink(span: Buffer, start: number, end: number): SpanLinkIds {
  const link: SpanLinkIds = { traceId: NO_ID, spanId: 0n }
  const cursor = new WireCursor(span, start, end)
  try {
    while (cursor.next()) {
      const length = cursor.wire === 2 ? cursor.end - cursor.start : 0
      if (cursor.field === TRACE_ID)
        link.traceId = length === 16 ? span.subarray(cursor.start, cursor.end) : NO_ID
      else if (cursor.field === SPAN_ID) link.spanId = length === 8 ? span.readBigInt64BE(cursor.start) : 0n
    }
    return link
  } catch (error) {
    if (error instanceof MalformedOtlp) return { traceId: NO_ID, spanId: 0n }
    throw error
  }
}

const NO_ID = Buffer.alloc(0)
