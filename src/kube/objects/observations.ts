import {
  type FieldManager,
  FINGERPRINT,
  type ObjectFacts,
  type OwnerReference,
  type ReadingRules,
  UNNAMED,
  USUAL_READING,
} from '../../model/kubernetes-objects.ts'
import type {
  AdmittedRequest,
  ClusterEvent,
  EventObject,
  SkipReason,
  Verb,
  WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import { parseCpid } from '../../model/merge-graph.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import { parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import { fieldPrints } from './field-prints.ts'
import { fingerprintOf, printsOf } from './content-prints.ts'
import { contentOf, customContent } from './object-content.ts'
import { shownFields } from './shown-fields.ts'
import {
  arrayIn,
  booleanIn,
  isObject,
  type Json,
  type JsonObject,
  namespaceOf,
  numberIn,
  objectIn,
  parseResourceVersion,
  reasonNotTraced,
  resourceOfKind,
  textIn,
} from './object-json.ts'

/** Reads a watch event. `resource` is the plural that was watched, or a guess if a recording does not name it. */
export function readWatchEvent(
  event: JsonObject,
  seenNs: UnixNanos,
  resource?: string,
  rules: ReadingRules = USUAL_READING,
): WatchedVersion | SkipReason {
  const object = objectIn(event, 'object')
  const metadata = objectIn(object, 'metadata')
  const identity = {
    apiVersion: textIn(object, 'apiVersion'),
    resource: resource ?? resourceOfKind(textIn(object, 'kind')),
    namespace: namespaceOf(object),
    name: textIn(metadata, 'name'),
    uid: textIn(metadata, 'uid'),
  }
  const untraced = reasonNotTraced(identity.apiVersion, identity.resource)
  if (untraced !== undefined) return untraced
  if (identity.name === '' || identity.uid === '') return 'no_object'
  const version = parseResourceVersion(textIn(metadata, 'resourceVersion'))
  if (version === undefined) return 'unversioned'
  const type = textIn(event, 'type')
  return {
    source: 'watch',
    object: identity,
    version,
    facts: readObjectFacts(object, identity.resource, rules),
    by: 'event',
    gone: type === 'DELETED',
    isNew: type === 'ADDED',
    seenNs,
  }
}

const VERB_OF_OPERATION: Readonly<Record<string, Verb>> = {
  CREATE: 'create',
  UPDATE: 'update',
  DELETE: 'delete',
}
/** Subresources whose body is another object than the one that is written. */
const OTHER_BODY = new Set(['scale', 'binding', 'eviction'])

/** The uid that the answer to an AdmissionReview must carry; empty if it has none. */
export function uidOfReview(review: JsonObject): string {
  return textIn(objectIn(review, 'request'), 'uid')
}

/** Reads the request of an AdmissionReview (`admission.k8s.io/v1`), which is not executed yet. */
export function readAdmissionReview(
  review: JsonObject,
  { seenNs, traceparent }: { seenNs: UnixNanos; traceparent: string },
): AdmittedRequest | SkipReason {
  const request = objectIn(review, 'request')
  const verb = ownValue(VERB_OF_OPERATION, textIn(request, 'operation'))
  if (verb === undefined) return 'read'
  // As the request names it: the webhook may get the object in another version of its API.
  const asked = isObject(request.requestResource) ? request.requestResource : objectIn(request, 'resource')
  const [group, resource] = [textIn(asked, 'group'), textIn(asked, 'resource')]
  const apiVersion = group === '' ? textIn(asked, 'version') : `${group}/${textIn(asked, 'version')}`
  const untraced = reasonNotTraced(apiVersion, resource)
  if (untraced !== undefined) return untraced
  if (booleanIn(request, 'dryRun')) return 'dry_run'
  const subresource = textIn(request, 'subResource')
  const [object, before] = [objectIn(request, 'object'), objectIn(request, 'oldObject')]
  const [metadata, metadataBefore] = [objectIn(object, 'metadata'), objectIn(before, 'metadata')]
  const name = [textIn(request, 'name'), textIn(metadata, 'name'), textIn(metadataBefore, 'name')].find(
    (one) => one !== '',
  )
  const generateName = name === undefined ? textIn(metadata, 'generateName') : ''
  if (resource === '' || (name === undefined && generateName === '')) return 'no_object'
  const isWhole = verb !== 'delete' && !OTHER_BODY.has(subresource)
  return {
    source: 'admission',
    object: {
      apiVersion,
      resource,
      // A request for a namespace also gives the name as the namespace.
      namespace: resource === 'namespaces' ? '' : textIn(request, 'namespace'),
      name: name ?? '',
      uid: textIn(metadataBefore, 'uid'),
    },
    version: undefined,
    generateName,
    versionBefore: parseResourceVersion(textIn(metadataBefore, 'resourceVersion')),
    facts: isWhole ? readObjectFacts(object) : undefined,
    request: {
      actor: { user: textIn(objectIn(request, 'userInfo'), 'username'), userAgent: '' },
      verb,
      subresource,
      startNs: seenNs,
      endNs: seenNs,
      // It is joined to a version that another source reports.
      tellsVersion: true,
      ...(traceparent !== '' && { traceparent }),
    },
    seenNs,
  }
}

/** Admission reports a request before it is executed. Its changes are known from the version that it makes. */
const NOTHING_SHOWN: ReadingRules = { references: [], fieldValues: 'none' }

/** Longer notes are cut. The API server accepts no longer ones in events.k8s.io/v1. */
const MAX_NOTE = 1_024

/**
 * Reads an Event of events.k8s.io/v1 or core v1; both are views of the same objects. It is skipped if it names no object, or if its
 * version is not a number.
 */
export function readEvent(event: JsonObject, seenNs: UnixNanos): ClusterEvent | SkipReason {
  const metadata = objectIn(event, 'metadata')
  const isCore = textIn(event, 'apiVersion') === 'v1'
  const regarding = readEventObject(objectIn(event, isCore ? 'involvedObject' : 'regarding'))
  const [uid, name] = [textIn(metadata, 'uid'), textIn(metadata, 'name')]
  if (regarding === undefined || uid === '' || name === '') return 'no_object'
  const version = parseResourceVersion(textIn(metadata, 'resourceVersion'))
  if (version === undefined) return 'unversioned'
  const related = readEventObject(objectIn(event, 'related'))
  const source = objectIn(event, isCore ? 'source' : 'deprecatedSource')
  const series = objectIn(event, 'series')
  const firstNs =
    eventTimeOf(event, isCore ? 'firstTimestamp' : 'deprecatedFirstTimestamp') ??
    eventTimeOf(event, 'eventTime') ??
    eventTimeOf(metadata, 'creationTimestamp') ??
    seenNs
  const lastNs =
    eventTimeOf(series, 'lastObservedTime') ??
    eventTimeOf(event, isCore ? 'lastTimestamp' : 'deprecatedLastTimestamp') ??
    eventTimeOf(event, 'eventTime') ??
    firstNs
  return {
    source: 'event',
    uid,
    version,
    name,
    namespace: textIn(metadata, 'namespace'),
    regarding,
    ...(related !== undefined && { related }),
    reason: textIn(event, 'reason'),
    note: textIn(event, isCore ? 'message' : 'note').slice(0, MAX_NOTE),
    type: textIn(event, 'type'),
    action: textIn(event, 'action'),
    controller:
      textIn(event, isCore ? 'reportingComponent' : 'reportingController') || textIn(source, 'component'),
    instance: textIn(event, 'reportingInstance') || textIn(source, 'host'),
    count: countIn(series, 'count') ?? countIn(event, isCore ? 'count' : 'deprecatedCount') ?? 1,
    firstNs,
    lastNs,
    seenNs,
  }
}

function readEventObject(object: JsonObject): EventObject | undefined {
  const [kind, name] = [textIn(object, 'kind'), textIn(object, 'name')]
  if (kind === '' || name === '') return undefined
  const version = parseResourceVersion(textIn(object, 'resourceVersion'))
  return {
    apiVersion: textIn(object, 'apiVersion'),
    kind,
    namespace: textIn(object, 'namespace'),
    name,
    uid: textIn(object, 'uid'),
    ...(version !== undefined && { version }),
  }
}

function countIn(object: JsonObject, key: string): number | undefined {
  const count = numberIn(object, key)
  return Number.isSafeInteger(count) && count > 0 ? count : undefined
}

function eventTimeOf(object: JsonObject, key: string): UnixNanos | undefined {
  return parseRfc3339(textIn(object, key))
}

const CPID = 'causeway.io/cpid'
const ANCESTORS = 'causeway.io/ancestor-cpids'
const TRACEPARENT = 'tracing.k8s.io/traceparent'
/** Identifies the write of a change that a version belongs to, if one change wrote the object more than once. */
const WRITE = 'causeway.io/write'
const OF_A_CHANGE = new Set([CPID, ANCESTORS, TRACEPARENT, WRITE])
const MAX_OWNERS = 16
const MAX_MANAGERS = 32
const MAX_SELECTORS = 16
/** No fields of Secrets are kept. Nodes and Pods are written too often. */
const NO_FIELDS = new Set(['secrets', 'nodes', 'pods', 'endpoints'])
/** An EndpointSlice lists at most a thousand Pods. */
const MAX_REFERENCES = 2_000

/** Status fields that a writer updates only to show that it is alive, at any depth. */
const HEARTBEATS = new Set(['lastHeartbeatTime', 'lastProbeTime', 'renewTime', 'observedTime'])
/** Fields that the API server maintains and no author writes, and the name, which it may have generated. */
const OF_THE_SERVER = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'uid',
  'creationTimestamp',
  'selfLink',
  'name',
  'generateName',
])

/** The facts of a version that the inference needs and that are shown. The rest is not kept. */
export function readObjectFacts(
  object: JsonObject,
  resource = '',
  { references: custom, fieldValues: values }: ReadingRules = NOTHING_SHOWN,
): ObjectFacts {
  const metadata = objectIn(object, 'metadata')
  const annotations = objectIn(metadata, 'annotations')
  const { status, ...rest } = object
  const { references, prints, labels, selects } = contentOf(object)
  const cpid = parseCpid(textIn(annotations, CPID))
  const { [ANCESTORS]: ancestors } = annotations
  const traceparent = textIn(annotations, TRACEPARENT)
  const writeOfChange = textIn(annotations, WRITE)
  const ofAuthor = withoutServerFields(metadata)
  const authored = { ...rest, metadata: ofAuthor }
  const ofStatus = printsOf(status, HEARTBEATS)
  const observed = objectIn(object, 'status').observedGeneration
  const { replicas } = objectIn(object, 'spec')
  const finalizers = arrayIn(metadata, 'finalizers')
  const holders = [...finalizers, ...arrayIn(metadata, 'ownerReferences')]
  const owners = arrayIn(metadata, 'ownerReferences').slice(0, MAX_OWNERS).map(readOwner)
  const shown = shownFields(object, {
    resource,
    values,
    isOwned: owners.some(({ controller }) => controller),
  })
  const fields = owners.length > 0 || NO_FIELDS.has(resource) ? undefined : fieldPrints(authored)
  return {
    generation: numberIn(metadata, 'generation'),
    owners,
    references: [
      ...references.slice(0, MAX_REFERENCES),
      ...(custom.length === 0 ? [] : customContent(object, resource, custom)),
    ],
    managers: readManagers(metadata),
    deleting: textIn(metadata, 'deletionTimestamp') !== '',
    prints: {
      ...prints,
      ...(typeof observed === 'number' && { observed: String(observed) }),
      ...(typeof replicas === 'number' && { scale: String(replicas) }),
      ...(holders.length > 0 && { held: fingerprintOf(holders) }),
      ...(finalizers.includes(IN_FOREGROUND) && { awaits: 'dependents' }),
      [FINGERPRINT.authored]: fingerprintOf(authored),
      ...(cpid !== undefined && {
        [FINGERPRINT.content]: fingerprintOf({ ...rest, metadata: withoutChange(ofAuthor) }),
      }),
      [FINGERPRINT.status]: ofStatus.counted,
      [FINGERPRINT.heartbeat]: ofStatus.whole,
    },
    ...(fields !== undefined && { fields }),
    ...(shown !== undefined && { shown }),
    ...(labels !== undefined && { labels }),
    ...(selects !== undefined && selects.length > 0 && { selects: selects.slice(0, MAX_SELECTORS) }),
    ...(cpid !== undefined && { cpid }),
    ...(cpid !== undefined && typeof ancestors === 'string' && { ancestors }),
    ...(traceparent !== '' && { traceparent }),
    ...(writeOfChange !== '' && { writeOfChange }),
  }
}

/** The finalizer of an object that is deleted after its dependents. The garbage collector removes it. */
const IN_FOREGROUND = 'foregroundDeletion'

function withoutServerFields(metadata: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_THE_SERVER.has(key)))
}

/** Annotations are dropped if none are left. */
function withoutChange(metadata: JsonObject): JsonObject {
  const { annotations, ...rest } = metadata
  const others = Object.entries(objectIn({ annotations: annotations ?? null }, 'annotations')).filter(
    ([key]) => !OF_A_CHANGE.has(key),
  )
  return others.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(others) }
}

function readOwner(owner: Json): OwnerReference {
  return {
    kind: textIn(owner, 'kind'),
    name: textIn(owner, 'name'),
    uid: textIn(owner, 'uid'),
    controller: booleanIn(owner, 'controller'),
  }
}

/** Finalizers that Kubernetes itself removes. */
const OF_KUBERNETES = /^(?:orphan|foregroundDeletion|kubernetes|.*\.kubernetes\.io\/.*|kubernetes\.io\/.*)$/

function readManagers(metadata: JsonObject): FieldManager[] {
  const some = arrayIn(metadata, 'managedFields').slice(-MAX_MANAGERS)
  const managers = some.map(readManager)
  const latest = managers.reduce((time, one) => (one.time > time ? one.time : time), '')
  const finalizers = arrayIn(metadata, 'finalizers')
  const areForeign =
    finalizers.length > 0 && finalizers.every((one) => typeof one === 'string' && !OF_KUBERNETES.test(one))
  return managers.map((one, at): FieldManager => {
    const fields = objectIn(some[at], 'fieldsV1')
    const holds = areForeign && 'f:finalizers' in objectIn(fields, 'f:metadata')
    return {
      ...one,
      ...(one.time === latest && { extent: countFields(fields) }),
      ...(holds && { holds }),
    }
  })
}

/** Without recursion: the sender chooses how deep it is nested. */
function countFields(fields: JsonObject): number {
  let count = 0
  const left = [fields]
  for (let one = left.pop(); one !== undefined; one = left.pop())
    for (const key of Object.keys(one)) {
      count++
      left.push(objectIn(one, key))
    }
  return count
}

/** Flux controllers sign a status with another name than an apply. */
const ALIAS = /^gotk-/

function readManager(entry: Json): FieldManager {
  const manager = textIn(entry, 'manager')
  return {
    manager: manager === 'unknown' ? UNNAMED : manager.replace(ALIAS, ''),
    operation: textIn(entry, 'operation'),
    subresource: textIn(entry, 'subresource'),
    time: textIn(entry, 'time'),
  }
}
