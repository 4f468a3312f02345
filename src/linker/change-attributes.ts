import { CLUSTER_NAME, CPID_OBJECT, CPID_REASON, CPID_SOURCES, CPID_TIME } from '../model/attributes.ts'
import { nanosOfMs, type UnixNanos } from '../model/clock.ts'
import type { StoredMergelog } from '../model/link-port.ts'
import type { AttributeValue } from '../otlp/encode-span.ts'
import { rfc3339 } from './synthetic-span.ts'

const SHOWN_SOURCES = 50
const API_VERSION = /^v\d/

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
  const resource = resourceOf(mergelog?.object)
  return resource === undefined ? 'change' : `change ${resource}`
}

/** `<apiVersion>/<resource>` of an object reference; the core API's version has no group. */
function resourceOf(object: string | undefined): string | undefined {
  const parts = object?.split('?')[0]?.split('/') ?? []
  const length = API_VERSION.test(parts[0] ?? '') ? 2 : 3
  const resource = parts.slice(0, length)
  return parts.length > length && resource.every((part) => part !== '') ? resource.join('/') : undefined
}
