import type { OutboxReader } from '../model/outbox-port.ts'
import { field } from '../otlp/patch-span.ts'

/** A span ready to leave, with the scope it came in. */
export interface ReadySpan {
  scope: number
  bytes: Buffer
}

/** An ExportTraceServiceRequest of these spans, grouped under their resources and scopes. */
export function buildRequest(spans: readonly ReadySpan[], outbox: OutboxReader): Buffer {
  const resources = new Map<number, { envelope: Buffer; scopes: Map<number, Uint8Array[]> }>()
  for (const { scope, bytes } of spans) {
    const envelopes = outbox.envelopes(scope)
    const resourceId = envelopes?.resourceId ?? 0
    let resource = resources.get(resourceId)
    if (resource === undefined) {
      resource = { envelope: envelopes?.resource ?? NOTHING, scopes: new Map() }
      resources.set(resourceId, resource)
    }
    let parts = resource.scopes.get(scope)
    if (parts === undefined) {
      parts = [envelopes?.scope ?? NOTHING]
      resource.scopes.set(scope, parts)
    }
    parts.push(field(2, bytes))
  }
  const groups: Buffer[] = []
  for (const { envelope, scopes } of resources.values()) {
    const parts: Uint8Array[] = [envelope]
    for (const scope of scopes.values()) parts.push(field(2, Buffer.concat(scope)))
    groups.push(field(1, Buffer.concat(parts)))
  }
  return Buffer.concat(groups)
}

const NOTHING = Buffer.alloc(0)
