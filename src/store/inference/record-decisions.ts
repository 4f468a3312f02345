import { noCounts } from '../../graph/ingest-counts.ts'
import { newestChanges } from '../../graph/newest-changes.ts'
import { readRequest } from '../../graph/read-request.ts'
import type { RequestRecorder } from '../../graph/record-request.ts'
import type { Decision } from '../../inference/decide.ts'
import { encodeDecisions } from '../../inference/spans/encode-decisions.ts'
import type { Cpid } from '../../model/cpid.ts'
import type { Signal } from '../../model/ingest.ts'
import type { Changes } from '../../model/kubernetes/cluster-objects.ts'
import { claimStrength } from '../../model/senders/claims.ts'
import type { ArrivalStore, IngestCounts } from '../../model/ports/arrival-port.ts'
import type { MergeGraph } from '../../model/ports/graph-port.ts'

/** How many edges of the merge graph are looked at for one write; what they do not tell counts as unrelated. */
const MAX_EDGES = 2_000

/**
 * Records decisions as the OTLP that an instrumented controller would have sent, inside the caller's transaction. They are recorded
 * together, unless the merge graph is asked about a merge that it does not know yet.
 */
export class DecisionRecords implements Changes {
  readonly #recorder: RequestRecorder
  readonly #graph: MergeGraph
  readonly #ownerOf: ArrivalStore['ownerOf'] | undefined
  readonly #merges = new Set<Cpid>()
  #counts = noCounts()
  #decisions: Decision[] = []
  #cluster = ''

  /** `ownerOf` is there where objects may join changes of their own cluster alone. */
  constructor(recorder: RequestRecorder, graph: MergeGraph, ownerOf?: ArrivalStore['ownerOf']) {
    this.#recorder = recorder
    this.#graph = graph
    this.#ownerOf = ownerOf
  }

  /** Begins a transaction about one cluster; what was recorded in it is added to `counts`. */
  begin(counts: IngestCounts, cluster: string): void {
    this.#cluster = cluster
    this.#counts = counts
    this.#decisions = []
    this.#merges.clear()
  }

  newest(cpids: readonly Cpid[]): Cpid[] {
    if (cpids.some((cpid) => this.#merges.has(cpid))) this.flush()
    return newestChanges(this.#graph, cpids, MAX_EDGES)
  }

  mayJoin(cpid: Cpid): boolean {
    if (this.#ownerOf === undefined) return true
    const node = this.#graph.find(cpid)
    if (node === undefined) return true
    const owner = this.#ownerOf(node.id)
    if (owner !== undefined) return owner.cluster === this.#cluster
    return node.claim === undefined || claimStrength(node.claim, { service: '', cluster: this.#cluster }) > 0
  }

  add(decision: Decision): void {
    this.#decisions.push(decision)
    if (decision.sources !== undefined && decision.sources.length > 0) this.#merges.add(decision.cpid)
  }

  /** Records what was added. */
  flush(): void {
    if (this.#decisions.length === 0) return
    const bytes = encodeDecisions(this.#decisions)
    this.#decisions = []
    this.#merges.clear()
    this.record('traces', bytes)
  }

  /** Records a request of Causeway's own, whole. */
  record(signal: Signal, bytes: Buffer): void {
    this.#recorder.begin(readRequest(signal, bytes)).goOn(this.#counts, () => true)
  }
}
