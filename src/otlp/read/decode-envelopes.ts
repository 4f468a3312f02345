import { CLUSTER_NAME, SERVICE_NAME } from '../../model/attributes.ts'
import type { Decoded, ResourceGroup, ScopeGroup } from '../../model/arrivals.ts'
import { readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const RESOURCE_GROUPS = 1
const RESOURCE = 1
const SCOPE_GROUPS = 2
const RECORDS = 2
const RESOURCE_ATTRIBUTES = 1

/** Reads one record at [start, end) of the request, or says in a sentence why it is refused. */
export type ReadRecord<T> = (bytes: Buffer, start: number, end: number) => T | string

/**
 * Decodes an ExportTraceServiceRequest or ExportLogsServiceRequest, whose outer messages share one shape.
 * Throws MalformedOtlp when the bytes are not one.
 */
export function decodeRequest<T>(request: Buffer, readRecord: ReadRecord<T>): Decoded<T> {
  const decoded: Decoded<T> = { resources: [], rejected: 0, reasons: [] }
  const cursor = new WireCursor(request)
  while (cursor.next()) {
    if (cursor.field !== RESOURCE_GROUPS) continue
    cursor.expectLength('resource group')
    decoded.resources.push(decodeResource(request, cursor.start, cursor.end, readRecord, decoded))
  }
  return decoded
}

function decodeResource<T>(
  bytes: Buffer,
  start: number,
  end: number,
  readRecord: ReadRecord<T>,
  decoded: Decoded<T>,
): ResourceGroup<T> {
  const group: ResourceGroup<T> = {
    envelope: bytesBeside(bytes, start, end, SCOPE_GROUPS),
    service: '',
    cluster: undefined,
    repeated: undefined,
    scopes: [],
  }
  const named = new Set<string>()
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field === RESOURCE) {
      cursor.expectLength('resource')
      readResource(bytes, cursor.start, cursor.end, { group, named })
    } else if (cursor.field === SCOPE_GROUPS) {
      cursor.expectLength('scope group')
      group.scopes.push(decodeScope(bytes, cursor.start, cursor.end, readRecord, decoded))
    }
  }
  return group
}

function decodeScope<T>(
  bytes: Buffer,
  start: number,
  end: number,
  readRecord: ReadRecord<T>,
  decoded: Decoded<T>,
): ScopeGroup<T> {
  const records: T[] = []
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== RECORDS) continue
    cursor.expectLength('record')
    const record = readRecord(bytes, cursor.start, cursor.end)
    if (typeof record !== 'string') records.push(record)
    else {
      decoded.rejected++
      if (!decoded.reasons.includes(record)) decoded.reasons.push(record)
    }
  }
  return { envelope: bytesBeside(bytes, start, end, RECORDS), records }
}

interface Named<T> {
  readonly group: ResourceGroup<T>
  /** Which of the attributes that say who it is were there, whatever their value. */
  readonly named: Set<string>
}

/** Keys are unique (OTLP); where one is not, the first counts, as in Jaeger and Tempo. */
function readResource<T>(bytes: Buffer, start: number, end: number, { group, named }: Named<T>): void {
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) {
    if (cursor.field !== RESOURCE_ATTRIBUTES || cursor.wire !== 2) continue
    const { key, value } = readAttribute(bytes, cursor.start, cursor.end)
    if (key !== SERVICE_NAME && key !== CLUSTER_NAME) continue
    if (named.has(key)) {
      group.repeated ??= key
      continue
    }
    named.add(key)
    if (typeof value !== 'string') continue
    if (key === SERVICE_NAME) group.service = value
    else group.cluster = value
  }
}

/** The fields of a message other than `field`, byte for byte. */
function bytesBeside(bytes: Buffer, start: number, end: number, field: number): Buffer {
  const parts: Buffer[] = []
  const cursor = new WireCursor(bytes, start, end)
  while (cursor.next()) if (cursor.field !== field) parts.push(bytes.subarray(cursor.tagAt, cursor.pos))
  return Buffer.concat(parts)
}
