import type { UnixNanos } from '../model/clock.ts'
import type { Skipped } from '../model/kubernetes/observation.ts'
import type { EventObject, ClusterEvent } from '../model/kubernetes/cluster-event.ts'
import { parseRfc3339 } from '../model/rfc3339.ts'
import { numberIn, objectIn, textIn, type JsonObject } from './json-access.ts'
import { readVersion } from './read-version.ts'

/** Longer notes are cut: the API server takes no longer ones from those who keep to events.k8s.io/v1. */
const MAX_NOTE = 1_024

/**
 * What an Event says, of events.k8s.io/v1 or of core v1; both are views of the same objects. An Event that names nothing it is
 * about, or has no number as its version, is none.
 */
export function readEvent(event: JsonObject, seenNs: UnixNanos): ClusterEvent | Skipped {
  const metadata = objectIn(event, 'metadata')
  const isCore = textIn(event, 'apiVersion') === 'v1'
  const regarding = readEventObject(objectIn(event, isCore ? 'involvedObject' : 'regarding'))
  const [uid, name] = [textIn(metadata, 'uid'), textIn(metadata, 'name')]
  if (regarding === undefined || uid === '' || name === '') return 'no_object'
  const version = readVersion(textIn(metadata, 'resourceVersion'))
  if (version === undefined) return 'unversioned'
  const related = readEventObject(objectIn(event, 'related'))
  const source = objectIn(event, isCore ? 'source' : 'deprecatedSource')
  const series = objectIn(event, 'series')
  const firstNs =
    timeOf(event, isCore ? 'firstTimestamp' : 'deprecatedFirstTimestamp') ??
    timeOf(event, 'eventTime') ??
    timeOf(metadata, 'creationTimestamp') ??
    seenNs
  const lastNs =
    timeOf(series, 'lastObservedTime') ??
    timeOf(event, isCore ? 'lastTimestamp' : 'deprecatedLastTimestamp') ??
    timeOf(event, 'eventTime') ??
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
  const version = readVersion(textIn(object, 'resourceVersion'))
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

function timeOf(object: JsonObject, key: string): UnixNanos | undefined {
  return parseRfc3339(textIn(object, key))
}
