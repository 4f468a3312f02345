import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import {
  CLUSTER_NAME,
  CPID_ACTOR,
  CPID_AUDIT_ID,
  CPID_AUTHOR,
  CPID_CAUSE,
  CPID_CHANGED,
  CPID_FOUND_BY,
  CPID_GAP,
  CPID_GAP_MISSED,
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_OBSERVED,
  CPID_OWNER,
  CPID_REASON,
  CPID_REVISION,
  CPID_SOURCES,
  CPID_SUPERSEDED_BY,
  CPID_TRACEPARENT,
  CPID_WROTE,
  MERGELOG_EVENT,
  SERVICE_NAME,
  USER_NAME,
} from '../../model/attributes.ts'
import type { ClusterObjects, KnownObject } from '../../model/inference-store.ts'
import type { ObjectIdentity } from '../../model/kubernetes-objects.ts'
import { type ClusterEvent, type EventObject, readTraceparent } from '../../model/kubernetes-observations.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import type { InferredWrite } from '../../model/seen-write.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import {
  type AttributeValue,
  bytesOf,
  encodeAttribute,
  encodeLogRecord,
  type NewSpan,
  scopeEnvelope,
  serviceEnvelope,
  type SpanEvent,
  type SpanLink,
  writeSpan,
} from '../../model/otlp/encode-telemetry.ts'
import { rfc3339 } from '../../model/time-and-size.ts'
import type { Decision } from './decide.ts'
import type { ReadVersion } from './read-versions.ts'
import { derivedSpanIds } from './write-key.ts'

export const OWN_SCOPE = scopeEnvelope('causeway.inference')
/** The most read versions that a span names. */
const MAX_OBSERVED = 128

/**
 * An ExportTraceServiceRequest with what an instrumented controller would have reported of each decision: a span and, where the write
 * begins or merges changes, a mergelog in it. Spans keep the order of the decisions, so no span has to wait for one that it follows from.
 */
export function encodeDecisions(decisions: readonly Decision[]): Buffer {
  const request = new BinaryWriter()
  for (let at = 0; at < decisions.length;) {
    const first = at
    while (at < decisions.length && isOfSameService(decisions[at], decisions[first])) at++
    writeGroup(request.tag(1, WireType.LengthDelimited).fork(), decisions.slice(first, at)).join()
  }
  return bytesOf(request)
}

function isOfSameService(one: Decision | undefined, other: Decision | undefined): boolean {
  return one?.writer.service === other?.writer.service && one?.key.cluster === other?.key.cluster
}

function writeGroup(to: BinaryWriter, group: readonly Decision[]): BinaryWriter {
  const [{ writer, key } = { writer: { service: '' }, key: { cluster: '' } }] = group
  to.raw(serviceEnvelope(writer.service, key.cluster))
  to.tag(2, WireType.LengthDelimited).fork().raw(OWN_SCOPE)
  for (const decision of group)
    for (const span of spansOf(decision)) writeSpan(to.tag(2, WireType.LengthDelimited).fork(), span).join()
  return to.join()
}

/** A write that its writer reports itself gets no second span. */
function spansOf(decision: Decision): NewSpan[] {
  const own = decision.toldBy === undefined ? [spanOf(decision)] : []
  return [...own, ...completionSpans(decision), ...supersededSpans(decision)]
}

/** What is stored with the writer's own span of the write. */
export function seenWriteOf({ write: { request }, writer, cause, gap, missed }: Decision): InferredWrite {
  const admitted = readTraceparent(request?.traceparent ?? '')
  return {
    user: writer.actor ?? writer.user,
    ...{ cause, gap },
    ...(gap && missed > 0 && { missed }),
    ...(request?.auditId !== undefined && { auditId: request.auditId }),
    ...(admitted !== undefined && { admittedTrace: admitted.traceId }),
  }
}

function spanOf(decision: Decision): NewSpan {
  const { write, key } = decision
  const endNs = write.request?.endNs ?? write.seenNs
  const startNs = write.request?.startNs ?? endNs - 1n
  return {
    ...derivedSpanIds(key),
    parentId: 0n,
    name: nameOfWrite(decision),
    startNs,
    endNs,
    attributes: attributesOf(decision),
    links: linksOf(decision),
    events: mergelogOf(decision, startNs),
  }
}

function attributesOf(decision: Decision): Record<string, AttributeValue> {
  const { write, version, writer, cpid, cause, self, reads, gap, missed, owner, changed } = decision
  const { auditId, traceparent } = write.request ?? {}
  const observed = observedVersions(reads)
    .slice(0, MAX_OBSERVED)
    .map(({ identity, version }) => versionReference(identity, version))
  const foundBy = reads
    .slice(0, MAX_OBSERVED)
    .flatMap(({ identity, foundBy: by }) =>
      by === undefined ? [] : `${versionReference({ ...identity, uid: '' }, undefined)}: ${by}`,
    )
  return {
    [CPID_ID]: cpid,
    [CPID_CAUSE]: cause,
    ...(self !== undefined && { [CPID_REASON]: self.reason }),
    [CPID_WROTE]: [versionReference(write.object, version)],
    ...(owner !== undefined && { [CPID_OWNER]: versionReference(owner, undefined) }),
    ...(changed.length > 0 && { [CPID_CHANGED]: changed }),
    ...(observed.length > 0 && { [CPID_OBSERVED]: observed }),
    ...(writer.user !== undefined && { [USER_NAME]: writer.user }),
    ...(writer.actor !== undefined && { [CPID_ACTOR]: writer.actor }),
    ...(writer.revision !== undefined && { [CPID_REVISION]: writer.revision }),
    ...(writer.author !== undefined && { [CPID_AUTHOR]: writer.author }),
    ...(foundBy.length > 0 && { [CPID_FOUND_BY]: foundBy }),
    ...(gap && { [CPID_GAP]: true }),
    ...(gap && missed > 0 && { [CPID_GAP_MISSED]: BigInt(missed) }),
    ...(auditId !== undefined && { [CPID_AUDIT_ID]: auditId }),
    ...(traceparent !== undefined && { [CPID_TRACEPARENT]: traceparent }),
    ...objectAttributes(write.object),
  }
}

/** The versions that a span says it observed: the ones its writer acted on. */
export function observedVersions(
  reads: readonly ReadVersion[],
): { identity: ObjectIdentity; version: bigint }[] {
  return reads
    .filter(({ isPassive }) => isPassive !== true)
    .map(({ identity, known, actedOn }) => ({ identity, version: actedOn ?? known.version }))
}

function mergelogOf({ write, writer, part, cpid, sources, self }: Decision, timeNs: bigint): SpanEvent[] {
  if (sources === undefined) return []
  const why = self === undefined ? '' : `${self.reason}: `
  const attributes = {
    [CPID_NEW]: cpid,
    [CPID_SOURCES]: sources,
    [CPID_OBJECT]: versionReference(write.object, write.version),
    [CPID_REASON]: `${why}${reasonOfWrite(part, writer)}`,
  }
  return [{ name: MERGELOG_EVENT, timeNs, attributes }]
}

export function reasonOfWrite(part: Decision['part'], { actor, user, service }: Decision['writer']): string {
  return `${part} by ${actor ?? user ?? service}`
}

/** Links to the trace that the object's annotation names, and to the write that configured a change with cause `self`. */
function linksOf({ write: { facts }, self, key }: Decision): SpanLink[] {
  const parent = readTraceparent(facts?.traceparent ?? '')
  const setUp = self?.setUp && spanOfVersion(key.cluster, self.setUp.identity.uid, self.setUp.version)
  return [...(parent === undefined ? [] : [parent]), ...(setUp === undefined ? [] : [setUp])]
}

function spanOfVersion(cluster: string, uid: string, version: bigint): SpanLink {
  return derivedSpanIds({ cluster, uid, version: String(version) })
}

/** The span that merges two changes of operators: one deleted the object, the other removed its last finalizer. */
function completionSpans({ write, key, completes }: Decision): NewSpan[] {
  if (completes === undefined) return []
  const atNs = write.request?.endNs ?? write.seenNs
  const { cpid, sources, version } = completes
  const attributes = {
    [CPID_ID]: cpid,
    [CPID_OBSERVED]: [version, write.version].map((one) => versionReference(write.object, one)),
    ...objectAttributes(write.object),
  }
  const object = versionReference(write.object, write.version)
  const mergelog = {
    [CPID_NEW]: cpid,
    [CPID_SOURCES]: sources,
    [CPID_OBJECT]: object,
    [CPID_REASON]: 'deletion completed',
  }
  return [
    {
      ...derivedSpanIds(key, 'completed'),
      parentId: 0n,
      name: `complete deletion of ${write.object.apiVersion}/${write.object.resource}`,
      startNs: atNs,
      endNs: atNs + 1n,
      attributes,
      links: [],
      events: [{ name: MERGELOG_EVENT, timeNs: atNs, attributes: mergelog }],
    },
  ]
}

/** A span in the cascade of a change that was fully overwritten: it names the change that superseded it, and the writer. */
function supersededSpans(decision: Decision): NewSpan[] {
  const { write, writer, key, cpid, superseded } = decision
  const atNs = write.request?.endNs ?? write.seenNs
  return superseded.flatMap(({ version, cpid: of }): NewSpan[] => {
    if (of === undefined) return []
    const ids = derivedSpanIds({ ...key, version: String(version) }, 'superseded')
    const attributes = {
      [CPID_ID]: of,
      [CPID_OBSERVED]: [versionReference(write.object, version)],
      [CPID_SUPERSEDED_BY]: cpid,
      [CPID_OBJECT]: versionReference(write.object, write.version),
      ...(writer.user !== undefined && { [USER_NAME]: writer.user }),
      ...objectAttributes(write.object),
    }
    const name = `superseded ${write.object.apiVersion}/${write.object.resource}`
    const links = [derivedSpanIds(key)]
    return [{ ...ids, parentId: 0n, name, startNs: atNs - 1n, endNs: atNs, attributes, links }]
  })
}

/** The span name of a write: `create v1/pods`, `bind v1/pods`, `update apps/v1/deployments status`. */
function nameOfWrite({ write, part }: Pick<Decision, 'write' | 'part'>): string {
  const of = `${write.object.apiVersion}/${write.object.resource}`
  switch (part) {
    case 'creation':
      return `create ${of}`
    case 'binding':
      return `bind ${of}`
    case 'scale':
      return `scale ${of}`
    case 'deletion':
    case 'removal':
      return `delete ${of}`
    case 'status':
      return `update ${of} status`
    case 'authored':
    case 'heartbeat':
      return `${write.request?.verb === 'patch' ? 'patch' : 'update'} ${of}`
  }
}

/** How spans name a written or read object: `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<version>`. */
export function versionReference(
  { apiVersion, resource, namespace, name, uid }: ObjectIdentity,
  version: bigint | undefined,
): string {
  const object = [apiVersion, resource, ...(namespace === '' ? [] : [namespace]), name].join('/')
  const known = [uid === '' ? '' : `uid=${uid}`, version === undefined ? '' : `rv=${version}`]
  const query = known.filter((one) => one !== '').join('&')
  return query === '' ? object : `${object}?${query}`
}

/** The resources for which OpenTelemetry's semantic conventions have attributes (`k8s.pod.name`, `k8s.pod.uid`). */
const NAMED: Readonly<Record<string, string>> = {
  pods: 'pod',
  replicasets: 'replicaset',
  deployments: 'deployment',
  statefulsets: 'statefulset',
  daemonsets: 'daemonset',
  jobs: 'job',
  cronjobs: 'cronjob',
  namespaces: 'namespace',
  nodes: 'node',
  horizontalpodautoscalers: 'hpa',
  replicationcontrollers: 'replicationcontroller',
  resourcequotas: 'resourcequota',
}

/** The `k8s.*` attributes of an object. */
function objectAttributes({ resource, namespace, name, uid }: ObjectIdentity): Record<string, string> {
  const kind = ownValue(NAMED, resource)
  return {
    ...(namespace !== '' && { 'k8s.namespace.name': namespace }),
    ...(kind !== undefined && { [`k8s.${kind}.name`]: name }),
    ...(kind !== undefined && uid !== '' && { [`k8s.${kind}.uid`]: uid }),
  }
}

/**
 * An Event with a CPID: that of the version of the object that the reporting component had seen, else of the newest version at that time.
 * Undefined if the Event was reported before.
 */
export function eventWithChange(event: ClusterEvent, objects: ClusterObjects): EventWithChange | undefined {
  if (!objects.isFirstReport(`event ${event.uid} ${event.version}`)) return undefined
  const { regarding } = event
  const { versions = [] } = objectOf(regarding, objects) ?? {}
  const seen = regarding.version ?? event.version
  const known = versions.find(({ version }) => version <= seen) ?? versions.at(-1)
  return { event, cpid: known?.cpid }
}

function objectOf({ uid }: EventObject, objects: ClusterObjects): KnownObject | undefined {
  return uid === '' ? undefined : objects.get(uid)
}

const SCOPE = 'causeway.inference'

/** OTLP's SeverityNumbers for the types of Events, as in the Collector's k8s_events receiver. */
const SEVERITY: Readonly<Record<string, number>> = { normal: 9, warning: 13, error: 17, critical: 21 }

/** An Event, and the change that its object's version comes from, if known. */
interface EventWithChange {
  readonly event: ClusterEvent
  readonly cpid: Cpid | undefined
}

/**
 * An ExportLogsServiceRequest with one record per Event, in their order, with the names that the Collector's `k8s_events` receiver uses.
 * The bytes depend on the Events alone, not on when they were reported: the same Event reported twice gives the same record.
 */
export function encodeEvents(cluster: string, events: readonly EventWithChange[]): Buffer {
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

function encodeRecord({ event, cpid }: EventWithChange): Uint8Array {
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

/** The node of the kubelet that reports. Other controllers put the name of their own Pod there. */
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
