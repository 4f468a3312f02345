import { CLUSTER_NAME, SERVICE_NAME } from '../../model/attributes.ts'
import type { Decoded, ResourceGroup, ScopeGroup } from '../../model/arrivals.ts'
import { ItemCount, type ItemKind } from './item-count.ts'
import { maySayWho, readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const RESOURCE_GROUPS = 1
const RESOURCE = 1
const SCOPE_GROUPS = 2
const RECORDS = 2
const RESOURCE_ATTRIBUTES = 1
const NOTHING: Buffer = Buffer.alloc(0)

/** How the records of a signal are read. */
export interface RecordReader<T> {
  readonly kind: ItemKind
  /** Reads one record at [start, end) of the request, or says in a sentence why it is refused. */
  readonly read: (bytes: Buffer, start: number, end: number, count: ItemCount) => T | string
}

interface Decoding<T> {
  readonly reader: RecordReader<T>
  readonly count: ItemCount
  readonly decoded: Decoded<T>
}

/**
 * Decodes an ExportTraceServiceRequest or ExportLogsServiceRequest, whose outer messages share one shape.
 * What holds no record is left out. Throws MalformedOtlp when the bytes are not one, or hold too many items for their length.
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
  /** Whether the attributes that say who it is were there, whatever their value. */
  hasService: boolean
  hasCluster: boolean
}

/** Keys are unique (OTLP); where one is not, the first counts, as in Jaeger and Tempo. */
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

/** The fields of a message other than `field`, byte for byte. */
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
