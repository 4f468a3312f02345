import type { ObjectFacts } from '../model/ports/query-port.ts'
import { rfc3339 } from '../model/rfc3339.ts'
import type { ObjectEvent } from './answers/objects.ts'

/** What happened to an object, as the API shows it. */
export function objectJson({
  object,
  cpid,
  action,
  timeNs,
  service,
  cluster,
  cascades,
}: ObjectFacts): ObjectEvent {
  return {
    object,
    cpid: cpid ?? null,
    action,
    timestamp: rfc3339(timeNs),
    service: service ?? null,
    cluster: cluster ?? null,
    cascades,
  }
}
