import {
  CPID_CAUSE_SPAN_ID,
  CPID_CAUSE_TRACE_ID,
  CPID_COPY,
  CPID_ID,
  CPID_ORIGINAL_TRACE_ID,
  CPID_ROOTS,
} from '../../model/attributes.ts'
import type { ExtraPatch } from '../../model/ports/linking/decisions.ts'
import type { OutboxItem } from '../../model/ports/outbox-port.ts'
import { isOutOfMemory } from '../../model/set-aside.ts'
import { encodeAttribute } from './encode-span.ts'
import { MalformedOtlp } from '../read/malformed.ts'
import { patchSpan, type SpanPatch } from './patch-span.ts'
import { readReceived } from '../read/read-received.ts'

const COPY = encodeAttribute(CPID_COPY, true)
const ORIGINAL_TRACE_ID = encodeAttribute(CPID_ORIGINAL_TRACE_ID, '0'.repeat(32))

/**
 * The bytes of the span a decision sends; the same whenever they are built. Undefined when the span was pruned. One that
 * was damaged in the database goes as it is, for the backend to refuse: it must not hold up what comes after it. Throws when
 * the decision itself is damaged.
 */
export function outgoingSpan(item: OutboxItem): Buffer | undefined {
  try {
    return patched(item)
  } catch (error) {
    if (error instanceof MalformedOtlp) return item.raw
    throw error
  }
}

/** The bytes of the span that a decision sent; undefined as well when it is damaged, so that it sent nothing. */
export function sentSpan(item: OutboxItem): Buffer | undefined {
  try {
    return outgoingSpan(item)
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return undefined
  }
}

function patched(item: OutboxItem): Buffer | undefined {
  const { raw } = item
  if (raw === undefined || item.synthetic) return raw
  const { traceId } = item
  if (traceId === 'lost') throw new Error('the trace that the span was decided to go into is lost')
  const extra = item.extra === undefined ? undefined : (JSON.parse(item.extra.toString()) as ExtraPatch)
  if (traceId === undefined && extra === undefined && item.inherited === undefined) return raw
  const { traceId: original, own } = readReceived(raw)
  const attributes: Uint8Array[] = []
  // A span that another Causeway sent says already where it came from: a key may stand in it once.
  if (traceId !== undefined && !own.has(CPID_ORIGINAL_TRACE_ID)) attributes.push(originalTraceId(original))
  if (item.inherited !== undefined && !own.has(CPID_ID))
    attributes.push(encodeAttribute(CPID_ID, item.inherited))
  if (item.copy && !own.has(CPID_COPY)) attributes.push(COPY)
  if (extra?.roots !== undefined && !own.has(CPID_ROOTS))
    attributes.push(encodeAttribute(CPID_ROOTS, extra.roots))
  if (extra?.cause !== undefined && !own.has(CPID_CAUSE_SPAN_ID)) {
    attributes.push(encodeAttribute(CPID_CAUSE_TRACE_ID, extra.cause.traceId))
    attributes.push(encodeAttribute(CPID_CAUSE_SPAN_ID, extra.cause.spanId))
  }
  return patchSpan(raw, {
    traceId: traceId ?? original,
    parentId: item.parentId,
    attributes,
    ...links(extra),
  })
}

function links(extra: ExtraPatch | undefined): Pick<SpanPatch, 'linkTraceIds' | 'addLinks'> {
  const added = [...(extra?.addLinks ?? []), ...(extra?.cause === undefined ? [] : [extra.cause])]
  return {
    ...(extra?.links !== undefined && {
      linkTraceIds: new Map(
        Object.entries(extra.links).map(([position, traceId]) => [
          Number(position),
          Buffer.from(traceId, 'hex'),
        ]),
      ),
    }),
    ...(added.length > 0 && {
      addLinks: added.map(({ traceId, spanId }) => ({
        traceId: Buffer.from(traceId, 'hex'),
        spanId: Buffer.from(spanId, 'hex').readBigInt64BE(0),
      })),
    }),
  }
}

/** The encoded attribute, with the digits written over those of a template. */
function originalTraceId(traceId: Buffer): Buffer {
  const attribute = Buffer.from(ORIGINAL_TRACE_ID)
  attribute.write(traceId.toString('hex'), attribute.length - 32, 'latin1')
  return attribute
}
