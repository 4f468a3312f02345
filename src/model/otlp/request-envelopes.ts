import type { Decoded, ResourceGroup, ScopeGroup, ServiceInCluster, SpanRecord } from '../arrivals.ts'
import { CLUSTER_NAME, SERVICE_NAME } from '../attributes.ts'
import { bufferOf, ItemCount, type ItemKind, maySayWho, readAttribute, WireCursor } from './protobuf-wire.ts'

const RESOURCE_GROUPS = 1
const RESOURCE = 1
const SCOPE_GROUPS = 2
const RECORDS = 2
const RESOURCE_ATTRIBUTES = 1
const NOTHING: Buffer = Buffer.alloc(0)

/** How to decode the records of a signal. */
export interface RecordReader<T> {
  readonly kind: ItemKind
  /** Decodes the record at [start, end), or says in a sentence why it is refused. */
  readonly read: (bytes: Buffer, start: number, end: number, count: ItemCount) => T | string
}

interface Decoding<T> {
  readonly reader: RecordReader<T>
  readonly count: ItemCount
  readonly decoded: Decoded<T>
}

/**
 * Decodes an ExportTraceServiceRequest or ExportLogsServiceRequest, whose outer messages have the same structure. Resources and scopes
 * without records are left out. Throws MalformedOtlp if the bytes are malformed, or hold too many items for their length.
 */
export function decodeRequest<T>(request: Buffer, reader: RecordReader<T>): Decoded<T> {
  const decoded: Decoded<T> = { resources: [], rejected: 0, reasons: [] }
  const decoding = { reader, count: new ItemCount(request.length), decoded }
  const cursor = new WireCursor(request)
  while (cursor.next()) {
    if (cursor.field !== RESOURCE_GROUPS) continue
    cursor.expectLength('resource group')
    decoding.count.add('resources')
    const group = decodeResource(request, cursor.start, cursor.end, decoding)
    if (group.scopes.length > 0) decoded.resources.push(group)
  }
  return decoded
}

function decodeResource<T>(
  bytes: Buffer,
  start: number,
  end: number,
  decoding: Decoding<T>,
): ResourceGroup<T> {
  const group: ResourceGroup<T> = {
    envelope: NOTHING,
    service: '',
    cluster: undefined,
    repeated: undefined,
    scopes: [],
  }
  const said = { group, count: decoding.count, hasService: false, hasCluster: false }
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field === RESOURCE) {
      cursor.expectLength('resource')
      readResource(bytes, cursor.start, cursor.end, said)
    } else if (cursor.field === SCOPE_GROUPS) {
      cursor.expectLength('scope group')
      decoding.count.add('scopes')
      const scope = decodeScope(bytes, cursor.start, cursor.end, decoding)
      if (scope.records.length > 0) group.scopes.push(scope)
    }
  }
  if (group.scopes.length > 0) group.envelope = bytesBeside(bytes, start, end, SCOPE_GROUPS)
  return group
}

function decodeScope<T>(
  bytes: Buffer,
  start: number,
  end: number,
  { reader, count, decoded }: Decoding<T>,
): ScopeGroup<T> {
  const records: T[] = []
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== RECORDS) continue
    cursor.expectLength('record')
    count.add(reader.kind)
    const record = reader.read(bytes, cursor.start, cursor.end, count)
    if (typeof record !== 'string') records.push(record)
    else {
      decoded.rejected++
      if (!decoded.reasons.includes(record)) decoded.reasons.push(record)
    }
  }
  return { envelope: records.length === 0 ? NOTHING : bytesBeside(bytes, start, end, RECORDS), records }
}

interface Said<T> {
  readonly group: ResourceGroup<T>
  readonly count: ItemCount
  /** Whether the attribute `service.name`, or `k8s.cluster.name`, was there, with any value. */
  hasService: boolean
  hasCluster: boolean
}

/** Attribute keys are unique (OTLP). If one is repeated, the first counts, as in Jaeger and Tempo. */
function readResource<T>(bytes: Buffer, start: number, end: number, said: Said<T>): void {
  const { group } = said
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== RESOURCE_ATTRIBUTES || cursor.wire !== 2) continue
    if (!maySayWho(bytes, cursor.start, cursor.end)) continue
    const { key, value } = readAttribute(bytes, cursor.start, cursor.end, said.count)
    if (key === SERVICE_NAME) {
      if (said.hasService) group.repeated ??= key
      else if (typeof value === 'string') group.service = value
      said.hasService = true
    } else if (key === CLUSTER_NAME) {
      if (said.hasCluster) group.repeated ??= key
      else if (typeof value === 'string') group.cluster = value
      said.hasCluster = true
    }
  }
}

/** All fields of a message except `field`, unchanged. */
function bytesBeside(bytes: Buffer, start: number, end: number, field: number): Buffer {
  const parts: Buffer[] = []
  const cursor = new WireCursor(bytes, start, end)
  let from = start
  while (cursor.next()) {
    if (cursor.field !== field) continue
    if (cursor.tagAt > from) parts.push(bytes.subarray(from, cursor.tagAt))
    from = cursor.pos
  }
  if (end > from) parts.push(bytes.subarray(from, end))
  return parts.length === 0 ? NOTHING : Buffer.concat(parts)
}

/** The most fields, and bytes of an attribute, that are examined, since other requests wait meanwhile. */
const MOST_FIELDS = 1_000
const MOST_ATTRIBUTE_BYTES = 8_192

/**
 * The service and cluster that the first resource of an OTLP request claims, if among its first fields; otherwise '', also for malformed
 * requests.
 */
export function claimedSender(request: Uint8Array): ServiceInCluster {
  let service: string | undefined
  let cluster: string | undefined
  const bytes = bufferOf(request)
  const cursor = new WireCursor(bytes)
  try {
    const isFound = enter(cursor, RESOURCE_GROUPS) && enter(cursor, RESOURCE)
    for (let looked = 0; isFound && looked < MOST_FIELDS && cursor.next(); looked++) {
      if (cursor.field !== RESOURCE_ATTRIBUTES || cursor.wire !== 2) continue
      if (cursor.end - cursor.start > MOST_ATTRIBUTE_BYTES) continue
      if (!maySayWho(bytes, cursor.start, cursor.end)) continue
      const { key, value } = readAttribute(bytes, cursor.start, cursor.end)
      const text = typeof value === 'string' ? value : ''
      if (key === SERVICE_NAME) service ??= text
      else if (key === CLUSTER_NAME) cluster ??= text
    }
  } catch {
    // Decoding reports what is wrong with the request.
  }
  return { service: service ?? '', cluster: cluster ?? '' }
}

/** Enters the first message in a field of this number; false if there is none. */
function enter(cursor: WireCursor, field: number): boolean {
  for (let looked = 0; looked < MOST_FIELDS && cursor.next(); looked++) {
    if (cursor.field !== field || cursor.wire !== 2) continue
    cursor.reset(cursor.start, cursor.end)
    return true
  }
  return false
}

/**
 * The end of the scope name of an API server's filter spans (`audit`, `authentication`, …): the package in k8s.io/apiserver. The beginning
 * varies.
 */
const FILTERS = Buffer.from('/apiserver/pkg/endpoints/filterlatency')
/** The deepest nesting of filters. */
const MAX_NESTED = 64

/** Drops and counts the spans of an API server's filters. Their children become children of the filter's parent. */
export function withoutFilters(traces: Decoded<SpanRecord>): {
  traces: Decoded<SpanRecord>
  dropped: number
} {
  const parents = new Map<string, bigint>()
  for (const { scopes } of traces.resources)
    for (const { envelope, records } of scopes)
      if (envelope.includes(FILTERS))
        for (const span of records) parents.set(keyOf(span, span.spanId), span.parentId)
  if (parents.size === 0) return { traces, dropped: 0 }
  let dropped = 0
  const resources = traces.resources.map((resource) => ({
    ...resource,
    scopes: resource.scopes.flatMap((scope) => {
      if (!scope.envelope.includes(FILTERS))
        return [{ ...scope, records: scope.records.map((span) => above(span, parents)) }]
      dropped += scope.records.length
      return []
    }),
  }))
  return { traces: { ...traces, resources }, dropped }
}

function above(span: SpanRecord, parents: ReadonlyMap<string, bigint>): SpanRecord {
  let { parentId } = span
  for (let at = 0; at < MAX_NESTED; at++) {
    const next = parents.get(keyOf(span, parentId))
    if (next === undefined) return parentId === span.parentId ? span : { ...span, parentId }
    parentId = next
  }
  return span
}

const keyOf = ({ traceKey }: SpanRecord, spanId: bigint): string => `${traceKey}${spanId}`
