import { newestChanges } from '../graph/ancestry.ts'
import { addCounts, noCounts, type RecordSettings, RequestRecorder } from '../graph/record-request.ts'
import { claimStrength } from '../graph/sender-permissions.ts'
import {
  ClusterInference,
  type ClusterInferenceState,
  inCausalOrder,
  type InferenceWork,
} from '../kube/inference/cluster-inference.ts'
import {
  type ClusterSources,
  decide,
  type Decision,
  type InferenceRules,
  type InferenceSettings,
} from '../kube/inference/decide.ts'
import { encodeDecisions, encodeEvents, eventWithChange } from '../kube/inference/inferred-telemetry.ts'
import type { ArrivalStore, IngestCounts } from '../model/arrivals.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import {
  type Changes,
  type ClusterObjects,
  type InferenceCounts,
  type InferenceStore,
  noInferenceCounts,
} from '../model/inference-store.ts'
import {
  type ClusterEvent,
  type ClusterWrite,
  deserializeObservations,
  type KnownObjectsQuery,
  type KnownObjectVersion,
  type ObservationBatch,
  type ObservationOutcome,
} from '../model/kubernetes-observations.ts'
import type { Cpid, MergeGraph } from '../model/merge-graph.ts'
import { ownValue } from '../model/names-from-outside.ts'
import type { Signal } from '../model/otlp-requests.ts'
import { readRequest } from '../model/otlp/decode-requests.ts'
import type { SetAsideStore, Transactor, WriterStores } from '../model/store-ports.ts'
import { type Clock, nanosOfMs, type UnixNanos } from '../model/time-and-size.ts'
import { workThrough } from './work-through.ts'

/** What waits to be decided, as it was told; beyond it nothing more is taken in. */
const MAX_BYTES = 16 * 1024 * 1024
const RETRY_MS = 500
/** Of a cluster that is configured no more, but was told of. */
const EVERY_SOURCE: ClusterSources = { versions: true, requests: true, admissions: true }
/** How many tellings of a run before are read at once. */
const PAGE = 64

/** What was told at one time, as it came from the receiver. */
export interface PendingObservationBatch {
  readonly cluster: string
  readonly stream: string
  readonly position?: string | undefined
  readonly body: Uint8Array
}

/** How what is decided is recorded. */
interface InferenceRecording extends Omit<RecordSettings, 'senders'> {
  /** Objects may join changes of their own cluster alone, as `senders` has it for whoever no rule fits. */
  readonly joinsOwn: boolean
}

interface Inside {
  readonly inference: InferenceStore
  readonly arrivals: ArrivalStore
  readonly records: DecisionRecorder
  readonly setAside: SetAsideStore
}

/** Stores what receivers tell of clusters, and decides about it later, each in transactions of its own. */
export class InferenceRounds {
  readonly #transactor: Transactor<Inside>
  readonly #faults: StorageFaults
  readonly #rules: InferenceRules
  readonly #clock: Clock
  readonly #startedNs: UnixNanos
  readonly #startedMs: number
  readonly #clusters = new Map<string, ClusterInference>()
  /** Tellings of a run before, up to which they were read; undefined when all were. */
  #readUpTo: number | undefined = 0
  #decided: InferenceCounts[] = []
  #recorded = noCounts()
  readonly #aside: SetAside[] = []

  constructor(
    stores: WriterStores,
    rules: InferenceRules,
    { joinsOwn, ...record }: InferenceRecording,
    clock: Clock,
  ) {
    this.#rules = rules
    this.#clock = clock
    this.#startedNs = nanosOfMs(clock.wallMs())
    this.#startedMs = clock.monotonicMs()
    this.#faults = stores.faults
    this.#transactor = stores.transactor.with<Inside, undefined>(
      ({ arrivals, graph, inference, setAside }) => {
        const records = new DecisionRecorder(
          new RequestRecorder(arrivals, graph, record),
          graph,
          joinsOwn ? (cpid) => arrivals.ownerOf(cpid) : undefined,
        )
        return { inside: { inference, arrivals, records, setAside }, outside: undefined }
      },
    ).transactor
  }

  /** Streams of a cluster that a receiver watches may be behind the others, or no longer are. */
  behind(cluster: string, receiver: string, isBehind: boolean): void {
    this.#clusterNamed(cluster).streams.report(receiver, isBehind, this.#nowNs)
  }

  /** How many writes and Events wait to be decided. */
  get waiting(): number {
    let waiting = 0
    for (const { size } of this.#clusters.values()) waiting += size
    return waiting
  }

  /** Stores what was told in one transaction; throws where that fails, nothing being stored. */
  tell(tellings: readonly PendingObservationBatch[]): ObservationOutcome[] {
    if (this.#isFull) {
      const reason = 'what was told before waits to be decided'
      return tellings.map(() => ({ kind: 'busy', retryAfterMs: RETRY_MS, reason }))
    }
    const rows = this.#transactor.run(({ inference }) =>
      tellings.map(({ cluster, stream, position, body }) => {
        if (position !== undefined) inference.moveTo(cluster, stream, position)
        return body.length === 0 ? undefined : inference.addTelling(cluster, body)
      }),
    )
    for (const [at, { cluster, body }] of tellings.entries()) {
      const row = rows[at]
      if (row !== undefined) this.#add(cluster, row, body)
    }
    return tellings.map(() => ({ kind: 'stored' }))
  }

  /**
   * Takes in what its caller keeps until it is decided, as an import keeps its place; false while too much waits, or what was told
   * before is not read yet.
   */
  take(cluster: string, told: ObservationBatch['observations'], bytes: number): boolean {
    if (this.#isFull) return false
    this.#clusterNamed(cluster).add(told, { row: 0, bytes }, this.#nowNs)
    return true
  }

  /** Reads all that was told and not decided in an earlier process. */
  readStored(): void {
    while (this.#readUpTo !== undefined) this.#readSome(this.#readUpTo)
  }

  /** What waits of a cluster, for `goOnFrom`. Plain data, which changes with what happens next. */
  waitingOf(cluster: string): ClusterInferenceState {
    return this.#clusterNamed(cluster).waiting
  }

  /** Goes on with a cluster from what waited in an earlier process; what waits of it here goes. */
  goOnFrom(cluster: string, waiting: ClusterInferenceState): void {
    this.#clusters.set(cluster, this.#newCluster(cluster, waiting))
  }

  /** Writes down how far a stream was read. */
  moveTo(cluster: string, stream: string, position: string): void {
    this.#transactor.run(({ inference }) => inference.moveTo(cluster, stream, position))
  }

  /** Decides about `most` of what is due; true when there may be more. */
  infer(most: number): boolean {
    if (this.#readUpTo !== undefined) return this.#readSome(this.#readUpTo)
    let more = false
    const mayWait = this.#bytes < MAX_BYTES / 2
    for (const [name, cluster] of this.#clusters) {
      if (mayWait && cluster.streams.areAwaited(this.#nowNs)) continue
      const work = cluster.take(this.#nowNs, most)
      this.#setAsideFaults(cluster)
      // What was told may make no write: a request that was refused, or one that is known.
      if (work.writes.length + work.events.length === 0 && !cluster.hasWorked) continue
      this.#decide(name, cluster, work)
      more ||= work.writes.length >= most || work.events.length >= most
    }
    return more
  }

  position(cluster: string, stream: string): string | undefined {
    return this.#transactor.run(({ inference }) => inference.position(cluster, stream), { mayOnlyRead: true })
  }

  held(asked: KnownObjectsQuery): KnownObjectVersion[] {
    return this.#transactor.run(({ inference }) => inference.held(asked), { mayOnlyRead: true })
  }

  /** What was decided since the last call, and what was recorded of it. */
  takeCounts(): { decided: readonly InferenceCounts[]; recorded: IngestCounts } {
    const recorded = this.#recorded
    this.#recorded = noCounts()
    for (const [name, cluster] of this.#clusters) {
      const unmatched = cluster.takeUnmatched()
      if (unmatched > 0) this.#decided.push({ ...noInferenceCounts(name), unmatched })
    }
    return { decided: this.#decided.splice(0), recorded }
  }

  /** What was set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  /** Time that neither leaps nor stands still, as a calendar that was right at the start would have it. */
  get #nowNs(): UnixNanos {
    return this.#startedNs + nanosOfMs(this.#clock.monotonicMs() - this.#startedMs)
  }

  get #isFull(): boolean {
    return this.#bytes > MAX_BYTES || this.#readUpTo !== undefined
  }

  get #bytes(): number {
    let bytes = 0
    for (const cluster of this.#clusters.values()) bytes += cluster.bytes
    return bytes
  }

  #readSome(after: number): boolean {
    const stored = this.#transactor.run(({ inference }) => inference.tellings(after, PAGE), {
      mayOnlyRead: true,
    })
    for (const { id, cluster, body } of stored) this.#add(cluster, id, body)
    this.#readUpTo = stored.length < PAGE ? undefined : stored.at(-1)?.id
    return true
  }

  #add(name: string, row: number, body: Uint8Array): void {
    this.#clusterNamed(name).add(this.#toldOf(row, body), { row, bytes: body.length }, this.#nowNs)
  }

  /** A row that cannot be read is passed over: the others tell of other writes. */
  #toldOf(row: number, body: Uint8Array): ObservationBatch['observations'] {
    try {
      return deserializeObservations(body)
    } catch (error) {
      this.#aside.push({
        ...{ stage: 'inference', kind: 'telling', item: row },
        ...{ cpid: undefined, exporter: undefined, reason: reasonOf(error) },
      })
      return []
    }
  }

  #clusterNamed(name: string): ClusterInference {
    const known = this.#clusters.get(name)
    if (known !== undefined) return known
    const cluster = this.#newCluster(name)
    this.#clusters.set(name, cluster)
    return cluster
  }

  #newCluster(name: string, from?: ClusterInferenceState): ClusterInference {
    const seen = ownValue(this.#rules.clusters, name) ?? EVERY_SOURCE
    const settings = {
      windowNs: nanosOfMs(this.#rules.windowMs),
      whoWaitNs: seen.requests || seen.admissions === true ? nanosOfMs(this.#rules.whoWaitMs) : 0n,
      isWatched: seen.versions,
      isAudited: seen.requests,
    }
    const cluster = new ClusterInference(settings, from)
    if (seen.isFollowed === true) cluster.streams.awaitFirst(this.#nowNs)
    return cluster
  }

  /** In one transaction; an item that throws is set aside. */
  #decide(name: string, cluster: ClusterInference, { writes, events }: InferenceWork): void {
    const items = [...writes, ...events]
    const rowAfter = (done: number): number | undefined =>
      done === items.length ? cluster.workedRow : undefined
    workThrough(items.length, {
      work: (done, most) => {
        this.#inTransaction(items.slice(done, done + most), { name, workedRow: rowAfter(done + most) })
        return most
      },
      pass: (done, error) => {
        const [item] = items.slice(done)
        if (item === undefined) throw error
        this.#passOver(item, { name, workedRow: rowAfter(done + 1) }, reasonOf(error))
      },
      isAboutOneItem: (error) => this.#faults.isAboutOneItem(error),
    })
    cluster.worked()
  }

  #inTransaction(items: readonly InferenceItem[], { name, workedRow }: Part): void {
    const counts = noInferenceCounts(name)
    const recorded = noCounts()
    this.#transactor.run(({ inference, arrivals, records }) => {
      const settings = { ...this.#rules, cluster: name }
      records.begin(recorded, name)
      decideItems(items, { objects: inference.objectsOf(name), records, settings, counts })
      arrivals.endRequests()
      if (workedRow !== undefined) inference.removeTellings(name, workedRow)
    })
    this.#decided.push(counts)
    addCounts(this.#recorded, recorded)
  }

  /** What the line of a cluster could not work on. */
  #setAsideFaults(cluster: ClusterInference): void {
    const faults = cluster.takeFaults().map(({ kind, version = 0n, reason }): SetAside => ({
      ...{ stage: 'inference', kind, item: Number(version) },
      ...{ cpid: undefined, exporter: undefined, reason },
    }))
    if (faults.length === 0) return
    this.#transactor.run(({ setAside }) => {
      for (const fault of faults) setAside.add(fault)
    })
    this.#aside.push(...faults)
  }

  #passOver(item: InferenceItem, { name, workedRow }: Part, reason: string): void {
    const aside: SetAside = { ...setAsideItemOf(item), cpid: undefined, exporter: undefined, reason }
    this.#transactor.run(({ inference, setAside }) => {
      setAside.add(aside)
      if (workedRow !== undefined) inference.removeTellings(name, workedRow)
    })
    this.#aside.push(aside)
  }
}

/** What a transaction is about; `workedRow` is there in the last one of some work. */
interface Part {
  readonly name: string
  readonly workedRow: number | undefined
}

/** A write to be decided, or an Event to be told. */
type InferenceItem = ClusterWrite | ClusterEvent

interface Deciding {
  readonly objects: ClusterObjects
  readonly records: DecisionRecorder
  readonly settings: InferenceSettings
  readonly counts: InferenceCounts
}

/** Decides about some writes in their order, and records what was decided. */
function decideItems(
  items: readonly InferenceItem[],
  { objects, records, settings, counts }: Deciding,
): void {
  const writes = items.filter(isWrite)
  for (const write of inCausalOrder(writes, objects)) {
    const decision = decide(write, objects, records, settings)
    if (decision === undefined) {
      counts.unchanged++
      continue
    }
    records.add(decision)
    counts[decision.cause]++
    if (decision.gap) counts.gaps++
  }
  records.flush()
  const events = items.filter(isEvent).flatMap((event) => eventWithChange(event, objects) ?? [])
  counts.events += events.length
  if (events.length > 0) records.record('logs', encodeEvents(settings.cluster, events))
}

/** How an item is named where it could not be worked on. */
function setAsideItemOf(item: InferenceItem): Pick<SetAside, 'stage' | 'kind' | 'item'> {
  const kind = isEvent(item)
    ? `Event of ${item.regarding.namespace}/${item.regarding.name}`
    : `write of ${item.object.resource} ${item.object.namespace}/${item.object.name}`
  return { stage: 'inference', kind, item: Number(item.version ?? 0n) }
}

function isWrite(item: InferenceItem): item is ClusterWrite {
  return !isEvent(item)
}

function isEvent(item: InferenceItem): item is ClusterEvent {
  return 'regarding' in item
}

/** How many edges of the merge graph are looked at for one write; what they do not tell counts as unrelated. */
const MAX_EDGES = 2_000

/**
 * Records decisions as the OTLP that an instrumented controller would have sent, inside the caller's transaction. They are recorded
 * together, unless the merge graph is asked about a merge that it does not know yet.
 */
class DecisionRecorder implements Changes {
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
    if (decision.completes !== undefined) this.#merges.add(decision.completes.cpid)
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
