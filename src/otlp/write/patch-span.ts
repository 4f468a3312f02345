import { encodeLink, MAX_LINKS, spanIdBytes } from './encode-span.ts'
import { WireCursor } from '../read/wire-cursor.ts'

const TRACE_ID = 1
const PARENT_SPAN_ID = 4
const ATTRIBUTES = 9
const LINKS = 13
const DROPPED_LINKS = 14
const MAX_UINT32 = 2 ** 32 - 1

/** How a stored span differs from the one sent. Everything else stays byte for byte. */
export interface SpanPatch {
  traceId: Buffer
  /** 0n for none. */
  parentId: bigint
  /** KeyValue messages to append. */
  attributes: readonly Uint8Array[]
  /** New trace ids of links, by position. */
  linkTraceIds?: ReadonlyMap<number, Buffer>
  addLinks?: readonly { traceId: Buffer; spanId: bigint }[]
}

/**
 * The bytes of an OTLP Span with other ids. Fields keep their order and unknown ones are kept; a parent that was not
 * there is appended. Links beyond OTLP's limit are cut and counted in dropped_links_count.
 */
export function patchSpan(span: Buffer, patch: SpanPatch): Buffer {
  return patchInPlace(span, patch) ?? rebuild(span, patch)
}

/** Most spans: one copy, the ids written over, the rest appended. Undefined where links or fields stand otherwise. */
function patchInPlace(span: Buffer, patch: SpanPatch): Buffer | undefined {
  if (patch.linkTraceIds !== undefined || patch.addLinks !== undefined) return undefined
  const cursor = new WireCursor(span)
  let traceAt = -1
  let parentAt = -1
  let links = 0
  while (cursor.next()) {
    if (cursor.field === TRACE_ID) {
      if (traceAt >= 0 || cursor.end - cursor.start !== 16) return undefined
      traceAt = cursor.start
    } else if (cursor.field === PARENT_SPAN_ID) {
      if (parentAt >= 0 || cursor.end - cursor.start !== 8 || patch.parentId === 0n) return undefined
      parentAt = cursor.start
    } else if (cursor.field === LINKS && ++links > MAX_LINKS) return undefined
  }
  if (traceAt < 0) return undefined
  const addsParent = parentAt < 0 && patch.parentId !== 0n
  const headers = patch.attributes.map((attribute) => fieldHeader(ATTRIBUTES, attribute.length))
  let length = span.length + (addsParent ? 10 : 0)
  patch.attributes.forEach((attribute, at) => (length += (headers[at]?.length ?? 0) + attribute.length))
  const bytes = Buffer.allocUnsafe(length)
  span.copy(bytes)
  patch.traceId.copy(bytes, traceAt)
  let at = span.length
  if (parentAt >= 0) bytes.writeBigInt64BE(patch.parentId, parentAt)
  else if (addsParent) {
    bytes[at] = PARENT_SPAN_ID * 8 + 2
    bytes[at + 1] = 8
    at = bytes.writeBigInt64BE(patch.parentId, at + 2)
  }
  patch.attributes.forEach((attribute, position) => {
    at += headers[position]?.copy(bytes, at) ?? 0
    bytes.set(attribute, at)
    at += attribute.length
  })
  return bytes
}

function rebuild(span: Buffer, patch: SpanPatch): Buffer {
  const parts: Uint8Array[] = []
  const cursor = new WireCursor(span)
  let keptFrom = 0
  let hasParent = false
  let links = 0
  let dropped = 0
  let droppedBefore = 0
  const replace = (bytes: Uint8Array): void => {
    if (cursor.tagAt > keptFrom) parts.push(span.subarray(keptFrom, cursor.tagAt))
    if (bytes.length > 0) parts.push(bytes)
    keptFrom = cursor.pos
  }
  while (cursor.next()) {
    switch (cursor.field) {
      case TRACE_ID:
        replace(field(TRACE_ID, patch.traceId))
        break
      case PARENT_SPAN_ID:
        replace(
          patch.parentId === 0n || hasParent ? NOTHING : field(PARENT_SPAN_ID, spanIdBytes(patch.parentId)),
        )
        hasParent = true
        break
      case LINKS: {
        const traceId = patch.linkTraceIds?.get(links)
        if (links++ >= MAX_LINKS) {
          replace(NOTHING)
          dropped++
        } else if (traceId !== undefined) {
          replace(field(LINKS, linkWithTraceId(span.subarray(cursor.start, cursor.end), traceId)))
        }
        break
      }
      case DROPPED_LINKS:
        droppedBefore = cursor.wire === 0 ? cursor.value : 0
        break
    }
  }
  parts.push(span.subarray(keptFrom))
  if (!hasParent && patch.parentId !== 0n) parts.push(field(PARENT_SPAN_ID, spanIdBytes(patch.parentId)))
  for (const attribute of patch.attributes) parts.push(field(ATTRIBUTES, attribute))
  for (const link of patch.addLinks ?? []) {
    if (links++ >= MAX_LINKS) dropped++
    else parts.push(field(LINKS, encodeLink(link)))
  }
  // Where a field stands twice the last one counts (protobuf, "last one wins").
  if (dropped > 0) parts.push(varintField(DROPPED_LINKS, Math.min(droppedBefore + dropped, MAX_UINT32)))
  return Buffer.concat(parts)
}

/** A length-delimited field: tag, length, contents. */
function field(number: number, contents: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(8 + contents.length)
  const at = writeVarint(bytes, writeVarint(bytes, 0, number * 8 + 2), contents.length)
  bytes.set(contents, at)
  return bytes.subarray(0, at + contents.length)
}

/** The tag and length that go before the contents of a length-delimited field. */
export function fieldHeader(number: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  return bytes.subarray(0, writeVarint(bytes, writeVarint(bytes, 0, number * 8 + 2), length))
}

const NOTHING = new Uint8Array()

function linkWithTraceId(link: Buffer, traceId: Buffer): Buffer {
  const parts: Uint8Array[] = [field(1, traceId)]
  const cursor = new WireCursor(link)
  while (cursor.next()) if (cursor.field !== 1) parts.push(link.subarray(cursor.tagAt, cursor.pos))
  return Buffer.concat(parts)
}

function varintField(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(16)
  return bytes.subarray(0, writeVarint(bytes, writeVarint(bytes, 0, number * 8), value))
}

function writeVarint(bytes: Buffer, from: number, value: number): number {
  let at = from
  let rest = value
  while (rest > 127) {
    bytes[at++] = (rest % 128) | 128
    rest = Math.floor(rest / 128)
  }
  bytes[at++] = rest
  return at
}
