import { newestChanges } from '../graph/ancestry.ts'
import { recordMergelog } from '../graph/record-mergelog.ts'
import { claimStrength } from '../graph/sender-permissions.ts'
import type { Decision } from '../kube/inference/decide.ts'
import { OWN_SCOPE, reasonOfWrite, versionReference } from '../kube/inference/inferred-telemetry.ts'
import type { ArrivalStore } from '../model/arrivals.ts'
import type { Cpid, MergeGraph } from '../model/merge-graph.ts'
import { serviceEnvelope } from '../model/otlp/encode-telemetry.ts'
import type { HeldItems, WorkedOutMergelog } from '../model/reported-writes.ts'

/** The most edges of the merge graph that are visited to find which changes descend from which. Beyond it, changes count as unrelated. */
export const MAX_EDGES = 2_000
/** A mergelog is recorded this long before linking stops waiting for it (at most a tenth of the wait), so that nothing is sent twice. */
const AHEAD_MS = 1_000

interface WorkedOutParts {
  readonly graph: MergeGraph
  readonly arrivals: ArrivalStore
  readonly held: HeldItems
  readonly maxFanout: number
  /** How long linking waits for a mergelog, in milliseconds. */
  readonly waitMs: number
  /** Whether objects may only carry CPIDs of their own cluster. */
  readonly joinsOwn: boolean
}

/**
 * Makes mergelogs for CPIDs whose senders' own do not arrive in time, from the first observed version with the CPID. The sources are the
 * ancestors that the version names, or else the changes that its writer had read. Used inside a transaction.
 */
export class WorkedOutMergelogs {
  readonly #parts: WorkedOutParts

  constructor(parts: WorkedOutParts) {
    this.#parts = parts
  }

  /** Holds the sources of a CPID until linking is about to stop waiting for its mergelog. */
  hold({ cpid, carriedSources: sources, write, writer, part, toldBy, key }: Decision): void {
    const { graph, held, waitMs } = this.#parts
    const node = graph.find(cpid)
    if (sources === undefined || node?.hasMergelog === true) return
    const mergelog: WorkedOutMergelog = {
      ...{ cpid, sources, service: toldBy?.service ?? writer.service, cluster: key.cluster },
      object: versionReference(write.object, write.version),
      reason: `worked out: ${reasonOfWrite(part, writer)}`,
      timeNs: String(write.request?.startNs ?? write.seenNs - 1n),
    }
    held.holdWorkedOut(mergelog, waitMs - Math.min(AHEAD_MS, waitMs / 10), node?.missingSinceMs)
  }

  /** Records a mergelog, unless the sender's own has arrived. Its sources are the named ancestors from which no other one descends. */
  record({ cpid, sources: named, service, cluster, object, reason, timeNs }: WorkedOutMergelog): void {
    const { graph, arrivals, maxFanout } = this.#parts
    const node = graph.find(cpid)
    if (node === undefined || node.hasMergelog || node.pruned) return
    const known = named.filter((one) => graph.find(one) !== undefined && this.mayJoin(one, cluster))
    const above = known.filter((one) => newestChanges(graph, [cpid, one], MAX_EDGES).includes(cpid))
    if (above.length === 0 && named.length > 0) return
    const sources = newestChanges(graph, above, MAX_EDGES).sort()
    const outcome = recordMergelog(graph, { cpid, sources }, { maxFanout })
    if (outcome.kind !== 'new') return
    const scope = arrivals.scope({ envelope: serviceEnvelope(service, cluster), service, cluster }, OWN_SCOPE)
    const record = { newCpid: cpid, sources, object, reason, timeNs: BigInt(timeNs) }
    arrivals.addMergelog(
      node.id,
      outcome.arrival,
      { cpid, sources },
      record,
      record.timeNs,
      { scope, cluster },
      {
        ...{ reportingSpan: undefined, replaces: false, isWorkedOut: true },
      },
    )
  }

  /** Whether objects of a cluster may carry a CPID. */
  mayJoin(cpid: Cpid, cluster: string): boolean {
    const { graph, arrivals, joinsOwn } = this.#parts
    const node = joinsOwn ? graph.find(cpid) : undefined
    if (node === undefined) return true
    const owner = arrivals.ownerOf(node.id)
    if (owner !== undefined) return owner.cluster === cluster
    return node.claim === undefined || claimStrength(node.claim, { service: '', cluster }) > 0
  }
}
