import type { CpidFacts, MergelogFacts } from '../model/ports/query-port.ts'
import { rfc3339 } from '../model/rfc3339.ts'
import type { CpidFactsAnswer, Mergelog } from './answers/cpids.ts'

/** A CPID as the API shows it; null where nothing is known. */
export function cpidJson({ cpid, timeNs, sources, explained, service, object }: CpidFacts): CpidFactsAnswer {
  return {
    cpid,
    timestamp: timeNs === undefined ? null : rfc3339(timeNs),
    sources: sources ?? null,
    explained,
    service: service ?? null,
    object: object ?? null,
  }
}

/** A mergelog as the API shows it. */
export function mergelogJson({
  cpid,
  sources,
  timeNs,
  service,
  object,
  reason,
  cluster,
}: MergelogFacts): Mergelog {
  return {
    cpid,
    sources,
    timestamp: rfc3339(timeNs),
    service: service ?? null,
    object: object ?? null,
    reason: reason ?? null,
    cluster: cluster ?? null,
  }
}
