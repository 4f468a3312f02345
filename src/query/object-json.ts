import type { ObjectFacts, ObjectVersionFacts } from '../model/ports/object-history.ts'
import { rfc3339 } from '../model/rfc3339.ts'
import { spanIdHex } from '../otlp/write/encode-span.ts'
import type { ObjectEvent, ObjectVersion } from './answers/objects.ts'
import { seenJson } from './seen-json.ts'

const REFERENCES_SHOWN = 128

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

/** Who wrote a version of an object, as the API shows it. */
export function objectVersionJson(facts: ObjectVersionFacts): ObjectVersion {
  return {
    object: facts.object,
    timestamp: rfc3339(facts.timeNs),
    name: facts.name,
    spanId: spanIdHex(facts.spanId),
    service: facts.service,
    ...seenJson(facts.seen),
    cluster: facts.cluster ?? null,
    cpid: facts.cpid ?? null,
    cascades: facts.cascades,
    observed: facts.observed.slice(0, REFERENCES_SHOWN),
  }
}
