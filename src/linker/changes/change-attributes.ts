import { CLUSTER_NAME, CPID_OBJECT, CPID_REASON, CPID_SOURCES, CPID_TIME } from '../../model/attributes.ts'
import { kindOfObject } from '../../model/object-reference.ts'
import { nanosOfMs, type UnixNanos } from '../../model/clock.ts'
import type { StoredMergelog } from '../../model/ports/linking/changes.ts'
import type { AttributeValue } from '../../otlp/write/encode-span.ts'
import { NO_CLUSTER_BEFORE } from '../causes/plausible-time.ts'
import { rfc3339 } from '../../model/rfc3339.ts'

export const SHOWN_SOURCES = 50

/** The moment a change span stands for. A mergelog time that cannot be, such as one in the future, counts as its arrival. */
export function changeTime({ timeNs, arrivedMs }: StoredMergelog): UnixNanos {
  const arrivedNs = nanosOfMs(arrivedMs)
  return timeNs > arrivedNs || timeNs < NO_CLUSTER_BEFORE ? arrivedNs : timeNs
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
  return named('change', mergelog)
}

/** `episode`, or `episode apps/v1/deployments` when the root's mergelog names its object. */
export function episodeName(mergelog: StoredMergelog | undefined): string {
  return named('episode', mergelog)
}

function named(what: string, mergelog: StoredMergelog | undefined): string {
  const resource = mergelog?.object === undefined ? undefined : kindOfObject(mergelog.object)
  return resource === undefined ? what : `${what} ${resource}`
}
