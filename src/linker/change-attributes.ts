import { CLUSTER_NAME, CPID_OBJECT, CPID_REASON, CPID_SOURCES, CPID_TIME } from '../model/attributes.ts'
import { kindOfObject } from '../model/object-reference.ts'
import { nanosOfMs, type UnixNanos } from '../model/clock.ts'
import type { StoredMergelog } from '../model/link-port.ts'
import type { AttributeValue } from '../otlp/encode-span.ts'
import { rfc3339 } from './synthetic-span.ts'

const SHOWN_SOURCES = 50

/** The moment a change span stands for. A mergelog time in the future counts as its arrival. */
export function changeTime(mergelog: StoredMergelog): UnixNanos {
  const arrivedNs = nanosOfMs(mergelog.arrivedMs)
  return mergelog.timeNs > arrivedNs ? arrivedNs : mergelog.timeNs
}

/** What a change span says of its mergelog. */
export function changeAttributes(
  mergelog: StoredMergelog | undefined,
  activityNs: UnixNanos,
): Record<string, AttributeValue> {
  if (mergelog === undefined) return { [CPID_TIME]: rfc3339(activityNs) }
  const { sources, object, reason, cluster, timeNs } = mergelog
  return {
    [CPID_TIME]: rfc3339(timeNs),
    ...(sources.length > 0 && { [CPID_SOURCES]: sources.slice(0, SHOWN_SOURCES) }),
    ...(object !== undefined && { [CPID_OBJECT]: object }),
    ...(reason !== undefined && { [CPID_REASON]: reason }),
    ...(cluster !== undefined && { [CLUSTER_NAME]: cluster }),
  }
}

/** `change`, or `change apps/v1/deployments` when the mergelog names its object. */
export function changeName(mergelog: StoredMergelog | undefined): string {
  const resource = mergelog?.object === undefined ? undefined : kindOfObject(mergelog.object)
  return resource === undefined ? 'change' : `change ${resource}`
}
