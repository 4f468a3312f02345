import { newestChanges } from '../graph/ancestry.ts'
import type { RequestRecorder } from '../graph/record-request.ts'
import type { Decision } from '../kube/inference/decide.ts'
import { derivedCpid } from '../kube/inference/write-key.ts'
import { encodeDecisions, seenWriteOf } from '../kube/inference/inferred-telemetry.ts'
import type { Asked, Participants } from '../kube/inference/participants.ts'
import { type IngestCounts, noCounts } from '../model/arrivals.ts'
import type { Changes, ClusterObjects } from '../model/inference-store.ts'
import type { ClusterWrite } from '../model/kubernetes-observations.ts'
import type { Cpid, MergeGraph } from '../model/merge-graph.ts'
import type { Signal } from '../model/otlp-requests.ts'
import { readRequest } from '../model/otlp/decode-requests.ts'
import type { HeldItem, HeldItems, ReportedWrite, ReportedWrites } from '../model/reported-writes.ts'
import type { HeldItemRecorder } from './witnessed-writes.ts'
import { MAX_EDGES, type WorkedOutMergelogs } from './worked-out-mergelogs.ts'

/**
 * Records decisions as the OTLP that an instrumented controller would have sent, inside the caller's transaction. They are recorded in
 * batches; a batch ends early if the merge graph is queried for a merge in it.
 */
export class DecisionRecorder implements Changes {
  readonly #parts: RecorderParts
  readonly #merges = new Set<Cpid>()
  #counts = noCounts()
  #decisions: Decision[] = []
  /** What programs reported of these writes before. */
  #held: Told[] = []
  #cluster: RecordedCluster | undefined

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Begins a transaction about one cluster. `counts` gets what it records. */
  begin(counts: IngestCounts, cluster: RecordedCluster): void {
    this.#cluster = cluster
    this.#counts = counts
    this.#decisions = []
    this.#held = []
    this.#merges.clear()
  }

  newest(cpids: readonly Cpid[]): Cpid[] {
    if (cpids.some((cpid) => this.#merges.has(cpid))) this.flush()
    return newestChanges(this.#parts.graph, cpids, MAX_EDGES)
  }

  mayJoin(cpid: Cpid): boolean {
    return this.#parts.workedOut.mayJoin(cpid, this.#cluster?.name ?? '')
  }

  ownReportOf(write: ClusterWrite, ends: 'deletion' | 'removal' | undefined): ReportedWrite | undefined {
    if (this.#cluster === undefined) return undefined
    const { name, objects, participants } = this.#cluster
    if (!participants.mayTell(write)) return undefined
    return ownReportOf(
      participants,
      this.#parts.reportedWrites,
      { ...askedOf(write, objects), cluster: name },
      ends,
    )
  }

  add(decided: Decision): void {
    const decision = this.#witnessed(decided)
    this.#takeHeld(decision)
    this.#parts.workedOut.hold(decision)
    const { toldBy, key, write, version } = decision
    if (toldBy !== undefined)
      this.#parts.reportedWrites.noteInferred(
        toldBy,
        key.cluster,
        write.object,
        version,
        seenWriteOf(decision),
      )
    this.#decisions.push(decision)
    if (decision.sources !== undefined && decision.sources.length > 0) this.#merges.add(decision.cpid)
    if (decision.completes !== undefined) this.#merges.add(decision.completes.cpid)
  }

  /** A program may have reported the write of another one before inference observed it. */
  #witnessed(decision: Decision): Decision {
    const { cpid, sources, key, write, version } = decision
    if (sources?.length !== 0 || version === undefined || this.#parts.graph.find(cpid) === undefined)
      return decision
    const toldBy = this.#parts.reportedWrites
      .of(key.cluster, write.object, version)
      .find((one) => one.cpid === cpid)
    return toldBy === undefined ? decision : { ...decision, toldBy }
  }

  /** Programs may have reported the write without knowing the writer. */
  #takeHeld({ key, cpid }: Decision): void {
    const { held } = this.#parts
    if (!held.areThere) return
    const begun = derivedCpid('root', key)
    const items = held.take(begun)
    if (items.length === 0) return
    this.#held.push({ items, begun, cpid })
    this.#merges.add(begun)
  }

  /** Records the decisions added so far. */
  flush(): void {
    if (this.#decisions.length === 0) return
    const bytes = encodeDecisions(this.#decisions)
    this.#decisions = []
    this.#merges.clear()
    this.record('traces', bytes)
    for (const { items, ...decided } of this.#held.splice(0))
      this.#parts.heldItems.recordDecided(items, decided, this.#counts)
  }

  /** Records a whole request that Causeway made itself. */
  record(signal: Signal, bytes: Buffer): void {
    this.#parts.recorder.begin(readRequest(signal, bytes)).resume(this.#counts, () => true)
  }
}

interface RecorderParts {
  readonly recorder: RequestRecorder
  readonly graph: MergeGraph
  readonly reportedWrites: ReportedWrites
  readonly held: HeldItems
  readonly heldItems: HeldItemRecorder
  readonly workedOut: WorkedOutMergelogs
}

/** What programs reported of a write without knowing the writer, the change they began for it, and the change it belongs to. */
interface Told {
  readonly items: readonly HeldItem[]
  readonly begun: Cpid
  readonly cpid: Cpid
}

/** The cluster of a transaction. */
interface RecordedCluster {
  readonly name: string
  readonly objects: ClusterObjects
  readonly participants: Participants
}

export function askedOf(write: ClusterWrite, objects: ClusterObjects): Asked {
  return {
    write,
    object: objects.get(write.object.uid),
    isCopied: (cpid) =>
      write.facts?.owners.some(({ uid }) =>
        objects.get(uid)?.versions.some(({ facts }) => facts.cpid === cpid),
      ) ?? false,
  }
}

export function ownReportOf(
  participants: Participants,
  reportedWrites: ReportedWrites,
  { cluster, ...asked }: Asked & { readonly cluster: string },
  ends: 'deletion' | 'removal' | undefined,
): ReportedWrite | undefined {
  const { object, version } = asked.write
  const versioned = version === undefined ? [] : reportedWrites.of(cluster, object, version)
  return participants.ownReportOf(asked, versioned, () => reportedWrites.of(cluster, object, undefined), ends)
}
