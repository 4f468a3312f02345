import { objectOfReference } from '../../model/kubernetes-objects.ts'
import type {
  ArchivedActor,
  ArchivedCascade,
  ArchivedChange,
  ArchivedCpid,
  ArchivedLog,
  ArchivedMergelog,
  ArchivedObjectEvent,
  ArchivedPlacement,
  ArchivedSpan,
  InTrace,
} from '../../model/archive.ts'
import { type Cpid, cpidOfBytes } from '../../model/merge-graph.ts'
import { SENT_COPY, SENT_UNDRIVEN } from '../../model/outbox.ts'
import { digestOf } from './archived-spans.ts'
import { cpidsOf } from './merge-graph.ts'

export type Value = bigint | number | string | Buffer | null
/** A row as the archive reader selects it. */
export type Row = Record<string, Value>

export const whole = (value: Value | undefined): number => Number(value ?? 0)
const big = (value: Value | undefined): bigint => value as bigint
export const text = (value: Value | undefined): string | null =>
  value === null || value === undefined ? null : String(value)
const hex = (value: Value | undefined): string => (value as Buffer).toString('hex')
const isSet = (value: Value | undefined): boolean => whole(value) !== 0
export const cpid = (value: Value | undefined): Cpid => cpidOfBytes(value as Buffer)
const cpidOrNone = (value: Value | undefined): Cpid | null => (value instanceof Buffer ? cpid(value) : null)

export const sentOf = (row: Row) => ({ service: text(row['service']), cluster: text(row['cluster']) })
const inTraceOf = (row: Row) => ({
  root: cpid(row['root']),
  episode: whole(row['episode']),
  inTrace: hex(row['in_trace']),
  firstNs: big(row['first_ns']),
  rootCluster: text(row['root_cluster']),
})

export function bytesOf(row: Row): number {
  return (row['raw'] as Buffer).length
}

/** SQLite stores ids as signed numbers. */
const idOf = (value: Value | undefined): bigint => BigInt.asUintN(64, big(value))

export function objectEventOf(row: Row, span: ArchivedSpan): ArchivedObjectEvent {
  const version = big(row['version'])
  return {
    span,
    object: String(row['object']),
    cluster: String(row['cluster']),
    wrote: whole(row['role']) === 1,
    version: version < 0n ? null : version,
    uid: text(row['uid']),
  }
}

function hashesOf(row: Row): Buffer {
  return Buffer.concat(
    [row['resource_hash'], row['scope_hash']].flatMap((part) => (part instanceof Buffer ? [part] : [])),
  )
}

export function logOf(row: Row): ArchivedLog {
  const traceId = row['trace_id']
  return {
    arrival: whole(row['id']),
    cpid: cpidOrNone(row['cpid']),
    timeNs: big(row['time_ns']),
    eventName: String(row['event_name']),
    severity: whole(row['severity']),
    traceId: traceId instanceof Buffer ? hex(traceId) : null,
    spanId: idOf(row['span_id']),
    digest: digestOf(hashesOf(row), row['raw'] as Buffer),
    raw: row['raw'] as Buffer,
    ...sentOf(row),
  }
}

export function mergelogOf(row: Row): ArchivedMergelog {
  return {
    cpid: cpid(row['cpid']),
    timeNs: big(row['time_ns']),
    arrivedMs: whole(row['arrived_ms']),
    sources: cpidsOf(row['sources'] as Buffer),
    reason: text(row['reason']),
    ...namedObjectOf(row),
    ...sentOf(row),
  }
}

function namedObjectOf(row: Row) {
  const reference = text(row['object'])
  return {
    object: reference === null ? null : objectOfReference(reference),
    objectUid: valueIn(reference, 'uid='),
    objectVersion: valueIn(reference, 'rv='),
  }
}

/** A parameter of a reference, parsed as the audit views do. */
function valueIn(reference: string | null, key: string): string | null {
  const at = reference?.indexOf(key) ?? -1
  return reference === null || at < 0 ? null : (reference.slice(at + key.length).split('&', 1)[0] ?? '')
}

export function cpidOf(row: Row): ArchivedCpid {
  return {
    cpid: cpid(row['cpid']),
    isPruned: isSet(row['state']),
    isExplained: isSet(row['explained']),
    firstSeenMs: whole(row['first_seen_ms']),
    timeNs: row['time_ns'] === null ? null : big(row['time_ns']),
    isRoot: isSet(row['is_root']),
    reason: text(row['reason']),
    ...namedObjectOf(row),
    ...sentOf(row),
  }
}

export function cascadeOf(row: Row): ArchivedCascade {
  const { root, episode, inTrace, firstNs } = inTraceOf(row)
  const continues = row['continues']
  return {
    ...{ root, episode, traceId: inTrace, firstNs },
    isOpen: !isSet(row['state']),
    lastNs: big(row['last_ns']),
    spans: whole(row['controller_spans']),
    services: whole(row['services']),
    merges: whole(row['merges']),
    missing: whole(row['missing']),
    object: text(row['object_name']),
    reason: text(row['reason']),
    truncated: isSet(row['truncated']),
    continues: continues instanceof Buffer ? hex(continues) : null,
    clockSkew: isSet(row['clock_skew']),
    actor: text(row['actor']),
    gaps: whole(row['gaps']),
    missedVersions: whole(row['missed']),
    failed: whole(row['failed_spans']),
    hasDoubtfulTimes: isSet(row['doubtful_times']),
    reference: text(row['reference']),
    beganBy: text(row['began_by']),
    serviceNames: namesIn(row['service_names']),
    actors: namesIn(row['actors']),
    namespaces: namesIn(row['namespaces']),
    isGone: isSet(row['gone']),
    ...sentOf(row),
  }
}

/** The names in a JSON list. */
function namesIn(value: Value | undefined): string[] {
  return JSON.parse(String(value)) as string[]
}

export function actorOf(row: Row): ArchivedActor {
  return {
    ...inTraceOf(row),
    actor: String(row['actor']),
    writes: whole(row['writes']),
    gaps: whole(row['gaps']),
    began: isSet(row['began']),
  }
}

export function changeOf(
  row: Row,
  { root, episode, inTrace, firstNs, rootCluster }: InTrace,
): ArchivedChange {
  return {
    ...{ root, episode, inTrace, firstNs, rootCluster },
    ...{ cpid: cpid(row['cpid']), drives: isSet(row['driven']) },
  }
}

export function placementOf(
  row: Row,
  { root, episode, inTrace, firstNs, rootCluster }: InTrace,
  span: ArchivedSpan,
): ArchivedPlacement {
  const flags = whole(row['flags'])
  const causeEnd = row['cause_end_ns']
  return {
    ...{ root, episode, inTrace, firstNs, rootCluster },
    span,
    parentId: idOf(row['parent_id']),
    causeEndNs: causeEnd === null || causeEnd === undefined ? null : big(causeEnd),
    isCopy: (flags & SENT_COPY) !== 0,
    isActivity: (flags & SENT_UNDRIVEN) === 0,
  }
}
