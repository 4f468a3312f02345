import { WireCursor } from './wire-cursor.ts'

const LINKS = 13

export interface SpanLinkIds {
  traceId: Buffer
  spanId: bigint
}

/** The links of an OTLP Span, in order. One with ids of the wrong length has an empty trace id. */
export function readLinks(span: Buffer): SpanLinkIds[] {
  const links: SpanLinkIds[] = []
  const cursor = new WireCursor(span)
  const inner = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field !== LINKS || cursor.wire !== 2) continue
    const link: SpanLinkIds = { traceId: Buffer.alloc(0), spanId: 0n }
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) {
      const length = inner.end - inner.start
      if (inner.field === 1 && length === 16) link.traceId = span.subarray(inner.start, inner.end)
      else if (inner.field === 2 && length === 8) link.spanId = span.readBigInt64BE(inner.start)
    }
    links.push(link)
  }
  return links
}
