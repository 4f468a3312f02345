import type { ScopeEnvelopes } from '../../model/ports/outbox-port.ts'
import { fieldHeader } from './patch-span.ts'

/** A span or log record ready to leave, with the scope it came in. */
export interface ReadyItem {
  scope: number
  bytes: Buffer
}

/** Parts of a message that is put together once, at the end. */
interface Parts {
  length: number
  parts: Uint8Array[]
}

interface Envelopes {
  envelopes(scope: number): ScopeEnvelopes | undefined
}

/**
 * An ExportTraceServiceRequest of spans or an ExportLogsServiceRequest of log records, which nest alike, grouped under
 * their resources and scopes.
 */
export function buildRequest(items: readonly ReadyItem[], outbox: Envelopes): Buffer {
  const resources = new Map<number, { envelope: Buffer; scopes: Map<number, Parts> }>()
  for (const { scope, bytes } of items) {
    const envelopes = outbox.envelopes(scope)
    const resourceId = envelopes?.resourceId ?? 0
    let resource = resources.get(resourceId)
    if (resource === undefined) {
      resource = { envelope: envelopes?.resource ?? NOTHING, scopes: new Map() }
      resources.set(resourceId, resource)
    }
    let group = resource.scopes.get(scope)
    if (group === undefined) {
      group = partsOf(envelopes?.scope ?? NOTHING)
      resource.scopes.set(scope, group)
    }
    addField(group, 2, partsOf(bytes))
  }
  const request = partsOf(NOTHING)
  for (const { envelope, scopes } of resources.values()) {
    const resource = partsOf(envelope)
    for (const group of scopes.values()) addField(resource, 2, group)
    addField(request, 1, resource)
  }
  return Buffer.concat(request.parts, request.length)
}

const NOTHING = Buffer.alloc(0)

function partsOf(bytes: Buffer): Parts {
  return { length: bytes.length, parts: [bytes] }
}

function addField(to: Parts, number: number, contents: Parts): void {
  const header = fieldHeader(number, contents.length)
  to.parts.push(header)
  for (const part of contents.parts) to.parts.push(part)
  to.length += header.length + contents.length
}
