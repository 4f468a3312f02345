import {
  CPID_CAUSE_SPAN_ID,
  CPID_CAUSE_TRACE_ID,
  CPID_COPY,
  CPID_ID,
  CPID_ORIGINAL_TRACE_ID,
  CPID_ROOTS,
} from '../attributes.ts'
import { isOutOfMemory } from '../faults.ts'
import type { ExtraPatch, OutboxItem, ScopeEnvelopes } from '../outbox.ts'
import {
  type AttributeValue,
  encodeAttribute,
  encodeLink,
  MAX_LINKS,
  spanIdBytes,
} from './encode-telemetry.ts'
import { MalformedOtlp, mayBeCpidAttribute, readAttribute, WireCursor } from './protobuf-wire.ts'

/** The bytes of a span or log record to send, and its scope. */
export interface ReadyItem {
  scope: number
  bytes: Buffer
}

/** Parts of a message that are concatenated once, at the end. */
interface Parts {
  length: number
  parts: Uint8Array[]
}

interface Envelopes {
  envelopes(scope: number): ScopeEnvelopes | undefined
}

/**
 * Builds an ExportTraceServiceRequest of spans, or an ExportLogsServiceRequest of log records (which nest alike), grouped by resource and
 * scope.
 */
export function buildRequest(items: readonly ReadyItem[], outbox: Envelopes): Buffer {
  const resources = new Map<number, { envelope: Buffer; scopes: Map<number, Parts> }>()
  for (const { scope, bytes } of items) {
    const envelopes = outbox.envelopes(scope)
    const resourceId = envelopes?.resourceId ?? 0
    let resource = resources.get(resourceId)
    if (resource === undefined) {
      resource = { envelope: envelopes?.resource ?? NO_ENVELOPE, scopes: new Map() }
      resources.set(resourceId, resource)
    }
    let group = resource.scopes.get(scope)
    if (group === undefined) {
      group = partsOf(envelopes?.scope ?? NO_ENVELOPE)
      resource.scopes.set(scope, group)
    }
    addField(group, 2, partsOf(bytes))
  }
  const request = partsOf(NO_ENVELOPE)
  for (const { envelope, scopes } of resources.values()) {
    const resource = partsOf(envelope)
    for (const group of scopes.values()) addField(resource, 2, group)
    addField(request, 1, resource)
  }
  return Buffer.concat(request.parts, request.length)
}

const NO_ENVELOPE = Buffer.alloc(0)

function partsOf(bytes: Buffer): Parts {
  return { length: bytes.length, parts: [bytes] }
}

function addField(to: Parts, number: number, contents: Parts): void {
  const header = fieldHeader(number, contents.length)
  to.parts.push(header)
  for (const part of contents.parts) to.parts.push(part)
  to.length += header.length + contents.length
}

const COPY = encodeAttribute(CPID_COPY, true)
const ORIGINAL_TRACE_ID = encodeAttribute(CPID_ORIGINAL_TRACE_ID, '0'.repeat(32))

/**
 * The bytes that a decision sends; always the same. Undefined if the span was pruned. A span that is damaged in the database is sent
 * unchanged. Throws if the decision itself is damaged.
 */
export function outgoingSpan(item: OutboxItem): Buffer | undefined {
  return orAsStored(item, patched)
}

/** Sends a damaged record unchanged, for the backend to refuse: it must not block the records after it. */
export function orAsStored<Item extends { raw: Buffer | undefined }>(
  item: Item,
  patch: (item: Item) => Buffer | undefined,
): Buffer | undefined {
  try {
    return patch(item)
  } catch (error) {
    if (error instanceof MalformedOtlp) return item.raw
    throw error
  }
}

/** The bytes that a decision sent; also undefined if the decision is damaged, since it sent nothing. */
export function sentSpan(item: OutboxItem): Buffer | undefined {
  try {
    return outgoingSpan(item)
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return undefined
  }
}

/** The attributes that Causeway may add to a span when it sends it. */
export const ADDED_ATTRIBUTES: ReadonlySet<string> = new Set([
  CPID_ORIGINAL_TRACE_ID,
  CPID_ID,
  CPID_COPY,
  CPID_ROOTS,
  CPID_CAUSE_TRACE_ID,
  CPID_CAUSE_SPAN_ID,
])

function patched(item: OutboxItem): Buffer | undefined {
  const { raw } = item
  if (raw === undefined || item.synthetic) return raw
  const { traceId } = item
  if (traceId === 'lost') throw new Error('the trace that the span was decided to go into is lost')
  const extra = item.extra === undefined ? undefined : (JSON.parse(item.extra.toString()) as ExtraPatch)
  if (traceId === undefined && extra === undefined && item.inherited === undefined) return raw
  const { traceId: original, own } = readReceived(raw)
  const attributes: Uint8Array[] = []
  // A span from another Causeway already has these attributes; keys must be unique.
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
    ...links(extra, own),
  })
}

const ZERO_TRACE_ID: Buffer = Buffer.alloc(16)
const NONE: ReadonlySet<string> = new Set()

/** The trace id of a received span, and the keys of its `cpid.` attributes. */
interface Received {
  /** If it is repeated, the last one, as always in protobuf. */
  traceId: Buffer
  own: ReadonlySet<string>
}

/** Throws MalformedOtlp if the bytes are malformed. */
export function readReceived(span: Buffer): Received {
  const cursor = new WireCursor(span)
  let traceId = ZERO_TRACE_ID
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

/** If another Causeway added the corresponding attributes, it added the links as well. */
function links(
  extra: ExtraPatch | undefined,
  own: ReadonlySet<string>,
): Pick<SpanPatch, 'linkTraceIds' | 'addLinks'> {
  const added = [
    ...(extra?.addLinks === undefined || own.has(CPID_ROOTS) ? [] : extra.addLinks),
    ...(extra?.cause === undefined || own.has(CPID_CAUSE_SPAN_ID) ? [] : [extra.cause]),
  ]
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

/** The encoded attribute: a template whose hex digits are overwritten. */
function originalTraceId(traceId: Buffer): Buffer {
  const attribute = Buffer.from(ORIGINAL_TRACE_ID)
  attribute.write(traceId.toString('hex'), attribute.length - 32, 'latin1')
  return attribute
}

const TRACE_ID = 1
const PARENT_SPAN_ID = 4
const ATTRIBUTES = 9
const LINKS = 13
const DROPPED_LINKS = 14
const MAX_UINT32 = 2 ** 32 - 1

/** The differences between a stored span and the span sent. All other bytes are kept. */
interface SpanPatch {
  traceId: Buffer
  /** 0n for none. */
  parentId: bigint
  /** KeyValue messages to append. */
  attributes: readonly Uint8Array[]
  /** New trace ids of links, by index of the link. */
  linkTraceIds?: ReadonlyMap<number, Buffer>
  addLinks?: readonly { traceId: Buffer; spanId: bigint }[]
}

/**
 * An OTLP Span with other ids. Fields keep their order, and unknown fields are kept; a new parent id is appended. Links beyond OTLP's
 * default limit are dropped and counted in dropped_links_count.
 */
export function patchSpan(span: Buffer, patch: SpanPatch): Buffer {
  return patchInPlace(span, patch) ?? rebuild(span, patch)
}

/** The fast path for most spans: copies, overwrites the ids, and appends the rest. Undefined for links or unusual fields. */
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
          patch.parentId === 0n || hasParent ? REMOVED : field(PARENT_SPAN_ID, spanIdBytes(patch.parentId)),
        )
        hasParent = true
        break
      case LINKS: {
        const traceId = patch.linkTraceIds?.get(links)
        if (links++ >= MAX_LINKS) {
          replace(REMOVED)
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
  // If a field is repeated, the last one counts (protobuf).
  if (dropped > 0) parts.push(varintField(DROPPED_LINKS, Math.min(droppedBefore + dropped, MAX_UINT32)))
  return Buffer.concat(parts)
}

/** A length-delimited field: tag, length, content. */
function field(number: number, contents: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(8 + contents.length)
  const at = writeVarint(bytes, writeVarint(bytes, 0, number * 8 + 2), contents.length)
  bytes.set(contents, at)
  return bytes.subarray(0, at + contents.length)
}

/** The tag and length of a length-delimited field. */
export function fieldHeader(number: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  return bytes.subarray(0, writeVarint(bytes, writeVarint(bytes, 0, number * 8 + 2), length))
}

const REMOVED = new Uint8Array()

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

const LOG_ATTRIBUTES = 6
const LOG_TRACE_ID = 9
const LOG_SPAN_ID = 10

/** The differences between a stored log record and the record sent. All other bytes are kept. */
interface LogPatch {
  /** Undefined to keep its own trace id. */
  traceId: Buffer | undefined
  withoutSpanId: boolean
  /** KeyValue messages to append. */
  attributes: readonly Uint8Array[]
}

/** An OTLP LogRecord with other ids. Fields keep their order, and unknown fields are kept; ids are appended. */
export function patchLog(log: Buffer, { traceId, withoutSpanId, attributes }: LogPatch): Buffer {
  const parts: Uint8Array[] = []
  const cursor = new WireCursor(log)
  let keptFrom = 0
  while (cursor.next()) {
    const goes =
      (cursor.field === LOG_TRACE_ID && traceId !== undefined) ||
      (cursor.field === LOG_SPAN_ID && withoutSpanId)
    if (!goes) continue
    if (cursor.tagAt > keptFrom) parts.push(log.subarray(keptFrom, cursor.tagAt))
    keptFrom = cursor.pos
  }
  parts.push(log.subarray(keptFrom))
  for (const attribute of attributes) parts.push(fieldHeader(LOG_ATTRIBUTES, attribute.length), attribute)
  if (traceId !== undefined) parts.push(fieldHeader(LOG_TRACE_ID, traceId.length), traceId)
  return Buffer.concat(parts)
}

/** The trace id of a LogRecord; undefined if it is absent or invalid. If it is repeated, the last one counts (protobuf). */
export function traceIdOfLog(log: Buffer): Buffer | undefined {
  const cursor = new WireCursor(log)
  let traceId: Buffer | undefined
  while (cursor.next()) {
    if (cursor.field === LOG_TRACE_ID) traceId = log.subarray(cursor.start, cursor.end)
  }
  return traceId?.length !== 16 || traceId.every((byte) => byte === 0) ? undefined : traceId
}

/** Whether a LogRecord has this `cpid.` attribute, with any value. */
export function hasOwnAttribute(log: Buffer, key: string): boolean {
  const cursor = new WireCursor(log)
  while (cursor.next()) {
    if (cursor.field !== LOG_ATTRIBUTES || !mayBeCpidAttribute(log, cursor.start, cursor.end)) continue
    if (readAttribute(log, cursor.start, cursor.end).key === key) return true
  }
  return false
}

/** The tags and lengths of ResourceSpans, ScopeSpans and Span, each of at most 256 MiB. */
const FRAMING_BYTES = 15
const FIELD_BYTES = 2

const sizeOf = (key: string, value: AttributeValue): number =>
  FIELD_BYTES + encodeAttribute(key, value).length

/** The most bytes that a decision adds to a received span: a parent id and three attributes. */
export const ADDED_BYTES =
  FIELD_BYTES +
  8 +
  sizeOf(CPID_ORIGINAL_TRACE_ID, '0'.repeat(32)) +
  sizeOf(CPID_ID, '0'.repeat(36)) +
  sizeOf(CPID_COPY, true)

/** The most bytes that a cause in another trace adds: two attributes, a link, and dropped_links_count. */
export const CAUSE_BYTES =
  sizeOf(CPID_CAUSE_TRACE_ID, '0'.repeat(32)) +
  sizeOf(CPID_CAUSE_SPAN_ID, '0'.repeat(16)) +
  FIELD_BYTES +
  encodeLink({ traceId: Buffer.alloc(16), spanId: 0n }).length +
  6

export const envelopeBytes = ({ resource, scope }: ScopeEnvelopes): number => resource.length + scope.length

/**
 * An upper bound on what a span counts for in a backend that adds up the bytes of a trace: it may be sent in a request of its own, with its
 * resource and scope.
 */
export function sentSize(spanBytes: number, envelopeBytes: number): number {
  return spanBytes + envelopeBytes + FRAMING_BYTES
}
