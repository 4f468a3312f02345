import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { CLUSTER_NAME, CPID_ID, SERVICE_NAME } from '../../model/attributes.ts'
import type { Cpid } from '../../model/cpid.ts'
import type { ClusterEvent } from '../../model/kubernetes/cluster-event.ts'
import { ownValue } from '../../model/own-value.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { encodeLogRecord } from '../../otlp/write/encode-log.ts'
import { encodeAttribute, type AttributeValue } from '../../otlp/write/encode-span.ts'
import { scopeEnvelope } from '../../otlp/write/own-envelopes.ts'

const SCOPE = 'causeway.inference'

/** OTLP's SeverityNumbers, by which the Collector's k8s_events receiver tells of the types of Events. */
const SEVERITY: Readonly<Record<string, number>> = { normal: 9, warning: 13, error: 17, critical: 21 }

/** An Event, and the change that the version of its object comes from, where one is known. */
export interface PlacedEvent {
  readonly event: ClusterEvent
  readonly cpid: Cpid | undefined
}

/**
 * An ExportLogsServiceRequest with a record for each Event, in their order, named as the Collector's `k8s_events` receiver names
 * them. The bytes follow from the Events alone, not from when they were told: the same Event told twice is the same record.
 */
export function encodeEvents(cluster: string, events: readonly PlacedEvent[]): Buffer {
  const byResource = new Map<string, { resource: Uint8Array; records: Uint8Array[] }>()
  for (const placed of events) {
    const { controller, regarding } = placed.event
    const key = [controller, hostOf(placed.event), ...Object.values(regarding).map(String)].join('\0')
    const group = byResource.get(key) ?? { resource: encodeResource(cluster, placed.event), records: [] }
    byResource.set(key, group)
    group.records.push(encodeRecord(placed))
  }
  const request = new BinaryWriter()
  for (const { resource, records } of byResource.values()) {
    const scope = new BinaryWriter().raw(scopeEnvelope(SCOPE))
    for (const record of records) scope.tag(2, WireType.LengthDelimited).bytes(record)
    const envelope = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(resource)
    envelope.tag(2, WireType.LengthDelimited).bytes(scope.finish())
    request.tag(1, WireType.LengthDelimited).bytes(envelope.finish())
  }
  return Buffer.from(request.finish())
}

function encodeResource(cluster: string, event: ClusterEvent): Uint8Array {
  const { controller, regarding } = event
  const { kind, name, uid, apiVersion, version } = regarding
  return encodeKeyValues(1, {
    [SERVICE_NAME]: controller,
    [CLUSTER_NAME]: cluster,
    'k8s.node.name': hostOf(event),
    'k8s.object.kind': kind,
    'k8s.object.name': name,
    'k8s.object.uid': uid,
    'k8s.object.api_version': apiVersion,
    'k8s.object.resource_version': version === undefined ? '' : String(version),
  })
}

function encodeRecord({ event, cpid }: PlacedEvent): Uint8Array {
  const { type, note, reason, action, name, uid, count, firstNs, lastNs, regarding } = event
  return encodeLogRecord({
    timeNs: lastNs,
    observedNs: lastNs,
    severity: ownValue(SEVERITY, type.toLowerCase()) ?? 0,
    severityText: type,
    body: note,
    attributes: withoutBlanks({
      [CPID_ID]: cpid ?? '',
      'k8s.event.reason': reason,
      'k8s.event.action': action,
      'k8s.event.start_time': rfc3339(firstNs),
      'k8s.event.name': name,
      'k8s.event.uid': uid,
      'k8s.event.count': BigInt(count),
      'k8s.namespace.name': regarding.namespace,
    }),
  })
}

/** The node whose kubelet tells; other controllers name their own Pods there. */
function hostOf({ controller, instance }: ClusterEvent): string {
  return controller === 'kubelet' ? instance : ''
}

function encodeKeyValues(field: number, attributes: Record<string, AttributeValue>): Uint8Array {
  const writer = new BinaryWriter()
  for (const [key, value] of Object.entries(withoutBlanks(attributes)))
    writer.tag(field, WireType.LengthDelimited).bytes(encodeAttribute(key, value))
  return writer.finish()
}

function withoutBlanks(attributes: Record<string, AttributeValue>): Record<string, AttributeValue> {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== ''))
}
