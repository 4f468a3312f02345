import type { MergelogRecord } from '../model/arrivals.ts'
import { parseCpid, type Cpid } from '../model/cpid.ts'
import type { Mergelog, MergelogRefusal } from '../model/ports/graph-port.ts'

/** Checks a mergelog on its own, without the graph: its CPIDs, their number, and that it does not name itself. */
export function checkMergelog(record: MergelogRecord, maxSources: number): Mergelog | MergelogRefusal {
  const cpid = parseCpid(record.newCpid)
  if (cpid === undefined) return 'malformed_cpid'
  const sources = new Set<Cpid>()
  for (const text of record.sources) {
    const source = parseCpid(text)
    if (source === undefined) return 'malformed_cpid'
    // What is named again is no other source.
    if (sources.add(source).size > maxSources) return 'too_many_sources'
  }
  if (sources.has(cpid)) return 'names_itself'
  return { cpid, sources: [...sources].sort() }
}

/** What a sender reads when its mergelog is refused. */
export function refusalSentence(refusal: MergelogRefusal, cpid: string, maxSources: number): string {
  const named = JSON.stringify(cpid.slice(0, 64))
  switch (refusal) {
    case 'malformed_cpid':
      return `mergelog ${named}: a CPID in cpid.new or cpid.sources is not a UUID or is all zeros`
    case 'names_itself':
      return `mergelog ${named}: it names itself as a source`
    case 'closes_cycle':
      return `mergelog ${named}: one of its sources descends from it, so it would close a cycle`
    case 'cycle_unknown':
      return `mergelog ${named}: too much descends from it, and too much led to its sources, to rule out a cycle; send the mergelog of a merge before those that build on it`
    case 'different_sources':
      return `mergelog ${named}: this CPID is already known with different sources; generate a new CPID for each merge`
    case 'sender_not_allowed':
      return `mergelog ${named}: you may not send mergelogs for this service and cluster; see connectors::cpid::senders`
    case 'foreign_source':
      return `mergelog ${named}: you may not merge one of its sources, a change of another cluster or service; see connectors::cpid::senders`
    case 'contested':
      return `mergelog ${named}: a mergelog of somebody with a better claim to this CPID took its place`
    case 'repeated_attribute':
      return `mergelog ${named}: an attribute that says whose it is, or what it merges, is there more than once; give service.name, k8s.cluster.name, cpid.new and cpid.sources once each`
    case 'too_many_sources':
      return `mergelog ${named}: more than ${maxSources} sources; raise connectors::cpid::max_sources or merge in steps`
  }
}
