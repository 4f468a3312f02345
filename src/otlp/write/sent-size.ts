import {
  CPID_CAUSE_SPAN_ID,
  CPID_CAUSE_TRACE_ID,
  CPID_COPY,
  CPID_ID,
  CPID_ORIGINAL_TRACE_ID,
} from '../../model/attributes.ts'
import { encodeAttribute, encodeLink, type AttributeValue } from './encode-span.ts'

/** Tag and length of ResourceSpans, ScopeSpans and Span, each up to 256 MiB. */
const FRAMING_BYTES = 15
const FIELD_BYTES = 2

const sizeOf = (key: string, value: AttributeValue): number =>
  FIELD_BYTES + encodeAttribute(key, value).length

/** The most that a decision adds to the bytes of a received span: a parent and three attributes. */
export const ADDED_BYTES =
  FIELD_BYTES +
  8 +
  sizeOf(CPID_ORIGINAL_TRACE_ID, '0'.repeat(32)) +
  sizeOf(CPID_ID, '0'.repeat(36)) +
  sizeOf(CPID_COPY, true)

/** The same of a cause in another trace: two attributes, a link, and how many links there is no room for. */
export const CAUSE_BYTES =
  sizeOf(CPID_CAUSE_TRACE_ID, '0'.repeat(32)) +
  sizeOf(CPID_CAUSE_SPAN_ID, '0'.repeat(16)) +
  FIELD_BYTES +
  encodeLink({ traceId: Buffer.alloc(16), spanId: 0n }).length +
  6

/**
 * The most that a span counts for in a backend that adds up all it is sent for a trace: it may come in a request of its
 * own, and then its resource and its scope come with it.
 */
export function sentSize(spanBytes: number, envelopeBytes: number): number {
  return spanBytes + envelopeBytes + FRAMING_BYTES
}
