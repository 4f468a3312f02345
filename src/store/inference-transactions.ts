import { addCounts, type RecordSettings, RequestRecorder } from '../graph/record-request.ts'
import {
  ClusterInference,
  type ClusterInferenceState,
  inCausalOrder,
  type InferenceWork,
} from '../kube/inference/cluster-inference.ts'
import { decide } from '../kube/inference/decide.ts'
import type {
  ClusterSources,
  InferenceRules,
  InferenceSettings,
} from '../kube/inference/inference-settings.ts'
import { encodeEvents, eventWithChange } from '../kube/inference/inferred-telemetry.ts'
import { Participants } from '../kube/inference/participants.ts'
import { endingOf, partOfWrite } from '../kube/inference/write-part.ts'
import { type ArrivalStore, type IngestCounts, noCounts } from '../model/arrivals.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import {
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
  type ExistingObject,
  type ObservationBatch,
  type ObservationOutcome,
} from '../model/kubernetes-observations.ts'
import type { SetAsideStore, Transactor, WriterDatabase } from '../model/store-ports.ts'
import { type Clock, nanosOfMs, type UnixNanos } from '../model/time-and-size.ts'
import type { ReportedWrites } from '../model/reported-writes.ts'
import { ownValue } from '../model/untrusted-names.ts'
import { askedOf, DecisionRecorder, ownReportOf } from './decision-recorder.ts'
import { skipPoisonedItems } from './skip-poisoned-items.ts'
import { HeldItemRecorder, type WitnessedWrites } from './witnessed-writes.ts'
import { WorkedOutMergelogs } from './worked-out-mergelogs.ts'

/** The most bytes of reports that wait for decisions. Beyond it no report is accepted. */
const MAX_BYTES = 16 * 1024 * 1024
const RETRY_MS = 500
/** For a cluster that is no longer configured but has stored reports. */
const EVERY_SOURCE: ClusterSources = { versions: true, requests: true, admissions: true }
/** How many stored reports of an earlier process are read at a time. */
const PAGE = 64

/** A report, as the receiver sent it. */
export interface PendingObservationBatch {
  readonly cluster: string
  readonly stream: string
  readonly position?: string | undefined
  readonly body: Uint8Array
}

/** How decisions are recorded. */
interface InferenceRecording extends Omit<RecordSettings, 'witnessed'> {
  /** Whether objects may only join changes of their own cluster, by the `senders` rule for senders without a rule. */
  readonly joinsOwn: boolean
  /** How long linking waits for a mergelog, in milliseconds. */
  readonly linkingWaitMs: number
  /** Programs' reports of other programs' writes, which get their change here. */
  readonly witnessed: WitnessedWrites
}

interface Inside {
  readonly inference: InferenceStore
  readonly arrivals: ArrivalStore
  readonly records: DecisionRecorder
  readonly reportedWrites: ReportedWrites
  readonly setAside: SetAsideStore
  readonly heldItems: HeldItemRecorder
}

/** Stores what receivers report of clusters, and decides about it later in other transactions. */
export class InferenceTransactions {
  readonly #transactor: Transactor<Inside>
  readonly #faults: StorageFaults
  readonly #rules: InferenceRules
  readonly #clock: Clock
  readonly #startedNs: UnixNanos
  readonly #startedMs: number
  readonly #clusters = new Map<string, ClusterInference>()
  /** The programs that report their own writes, by cluster. */
  readonly #participants = new Map<string, Participants>()
  /** The row up to which reports of an earlier process were read; undefined when all were. */
  #readUpTo: number | undefined = 0
  #decided: InferenceCounts[] = []
  #recorded = noCounts()
  readonly #areHeldItemsDue: () => boolean
  readonly #aside: SetAside[] = []
  readonly #heldItems: HeldItemRecorder

  constructor(
    stores: WriterDatabase,
    rules: InferenceRules,
    { joinsOwn, linkingWaitMs: waitMs, witnessed, senders, ...record }: InferenceRecording,
    clock: Clock,
  ) {
    this.#rules = rules
    this.#clock = clock
    this.#startedNs = nanosOfMs(clock.wallMs())
    this.#startedMs = clock.monotonicMs()
    this.#faults = stores.faults
    this.#areHeldItemsDue = () => stores.reader.areHeldItemsDue()
    const { transactor, outside } = stores.transactor.with<Inside, HeldItemRecorder>((inside) => {
      const { arrivals, graph, inference, reportedWrites, held, setAside } = inside
      const { faults } = stores
      const { maxFanout } = record
      const workedOut = new WorkedOutMergelogs({ graph, arrivals, held, maxFanout, waitMs, joinsOwn })
      const heldItems = new HeldItemRecorder(inside, workedOut, {
        ...record,
        ...(senders && { senders }),
        witnessed,
        faults,
      })
      const records = new DecisionRecorder({
        recorder: new RequestRecorder(arrivals, graph, record),
        ...{ graph, reportedWrites, held, heldItems, workedOut },
      })
      return {
        inside: { inference, arrivals, records, reportedWrites, setAside, heldItems },
        outside: heldItems,
      }
    })
    this.#transactor = transactor
    this.#heldItems = outside
  }

  /** Says whether some streams of a receiver lag behind others. */
  setBehind(cluster: string, receiver: string, isBehind: boolean): void {
    this.#clusterNamed(cluster).streams.report(receiver, isBehind, this.#nowNs)
  }

  /** How many writes and Events wait for a decision. */
  get waiting(): number {
    let waiting = 0
    for (const { size } of this.#clusters.values()) waiting += size
    return waiting
  }

  /** Whether a version of an object was reported and is undecided, or streams that lag may still report it. */
  awaits(cluster: string, uid: string, version: bigint): boolean {
    const of = this.#clusters.get(cluster)
    return of !== undefined && (of.line.has(uid, version) || of.streams.areAwaited(this.#nowNs))
  }

  /** Stores reports in one transaction. Throws if that fails; then nothing is stored. */
  record(batches: readonly PendingObservationBatch[]): ObservationOutcome[] {
    if (this.#isFull) {
      const reason = 'what was told before waits to be decided'
      return batches.map(() => ({ kind: 'busy', retryAfterMs: RETRY_MS, reason }))
    }
    const rows = this.#transactor.run(({ inference }) =>
      batches.map(({ cluster, stream, position, body }) => {
        if (position !== undefined) inference.moveTo(cluster, stream, position)
        return body.length === 0 ? undefined : inference.addBatch(cluster, body)
      }),
    )
    for (const [at, { cluster, body }] of batches.entries()) {
      const row = rows[at]
      if (row !== undefined) this.#add(cluster, row, body)
    }
    return batches.map(() => ({ kind: 'stored' }))
  }

  /**
   * Takes reports that the caller keeps until they are decided, as an import keeps its position. Returns false while too much waits, or
   * earlier reports have not been read.
   */
  take(cluster: string, told: ObservationBatch['observations'], bytes: number): boolean {
    if (this.#isFull) return false
    this.#clusterNamed(cluster).add(told, { row: 0, bytes }, this.#nowNs)
    return true
  }

  /** Reads all undecided reports of an earlier process. */
  readStored(): void {
    while (this.#readUpTo !== undefined) this.#readSome(this.#readUpTo)
  }

  /** The state of a cluster's undecided work, for `goOnFrom`. Plain data, valid until the next call. */
  waitingOf(cluster: string): ClusterInferenceState {
    return this.#clusterNamed(cluster).waiting
  }

  /** Resumes a cluster from the state of an earlier process, which replaces the current one. */
  goOnFrom(cluster: string, waiting: ClusterInferenceState): void {
    this.#clusters.set(cluster, this.#newCluster(cluster, waiting))
  }

  /** Stores how far a stream was read. */
  moveTo(cluster: string, stream: string, position: string): void {
    this.#transactor.run(({ inference }) => inference.moveTo(cluster, stream, position))
  }

  /** Decides about at most `most` items that are due. True if there may be more. */
  infer(most: number): boolean {
    if (this.#readUpTo !== undefined) return this.#readSome(this.#readUpTo)
    let more = false
    const mayWait = this.#bytes < MAX_BYTES / 2
    for (const [name, cluster] of this.#clusters) {
      if (mayWait && cluster.streams.areAwaited(this.#nowNs)) continue
      const work = cluster.take(this.#nowNs, most, mayWait)
      this.#setAsideFaults(cluster)
      // A report may contain nothing to decide: the request was refused, or the write is known.
      if (work.writes.length + work.events.length === 0 && !cluster.hasWorked) continue
      this.#decide(name, cluster, work)
      more ||= work.writes.length >= most || work.events.length >= most
    }
    return this.#recordHeld(most) || more
  }

  position(cluster: string, stream: string): string | undefined {
    return this.#transactor.run(({ inference }) => inference.position(cluster, stream), { mayOnlyRead: true })
  }

  knownObjects(asked: KnownObjectsQuery): ExistingObject[] {
    return this.#transactor.run(({ inference }) => inference.held(asked), { mayOnlyRead: true })
  }

  /** The decisions since the last call, and the counts of what was recorded for them. */
  takeCounts(): { decided: readonly InferenceCounts[]; recorded: IngestCounts } {
    const recorded = this.#recorded
    this.#recorded = noCounts()
    for (const [name, cluster] of this.#clusters) {
      const unmatched = cluster.line.takeUnmatched()
      if (unmatched > 0) this.#decided.push({ ...noInferenceCounts(name), unmatched })
    }
    return { decided: this.#decided.splice(0), recorded }
  }

  /** The items set aside since the last call. */
  takeSetAside(): SetAside[] {
    return [...this.#aside.splice(0), ...this.#heldItems.takeSetAside()]
  }

  /** A monotonic clock that started at the wall-clock time. */
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

  /** Records items whose write was not reported in time. True if there may be more. */
  #recordHeld(most: number): boolean {
    if (!this.#areHeldItemsDue()) return false
    const counts = noCounts()
    const done = this.#transactor.run(({ heldItems, arrivals }) => {
      const recorded = heldItems.recordDue(most, counts)
      arrivals.endRequests()
      return recorded
    })
    addCounts(this.#recorded, counts)
    return done >= most
  }

  #readSome(after: number): boolean {
    const stored = this.#transactor.run(({ inference }) => inference.batches(after, PAGE), {
      mayOnlyRead: true,
    })
    for (const { id, cluster, body } of stored) this.#add(cluster, id, body)
    this.#readUpTo = stored.length < PAGE ? undefined : stored.at(-1)?.id
    return true
  }

  #add(name: string, row: number, body: Uint8Array): void {
    this.#clusterNamed(name).add(this.#toldOf(row, body), { row, bytes: body.length }, this.#nowNs)
  }

  /** A row that cannot be read is skipped; other rows report other writes. */
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
      ...(this.#tellingWaitNs > 0n && {
        awaitsTelling: (write: ClusterWrite, waitedNs: bigint) => this.#awaitsTelling(name, write, waitedNs),
      }),
    }
    const cluster = new ClusterInference(settings, from)
    if (seen.isFollowed === true) cluster.streams.awaitFirst(this.#nowNs)
    return cluster
  }

  get #tellingWaitNs(): bigint {
    return nanosOfMs(this.#rules.tellingWaitMs ?? 0)
  }

  #participantsOf(cluster: string): Participants {
    const known = this.#participants.get(cluster)
    if (known !== undefined) return known
    const participants = new Participants()
    this.#participants.set(cluster, participants)
    return participants
  }

  /** Whether the writer may still report the write itself. */
  #awaitsTelling(cluster: string, write: ClusterWrite, waitedNs: bigint): boolean {
    const participants = this.#participantsOf(cluster)
    if (!participants.mayTell(write)) return false
    return this.#transactor.run(
      ({ inference, reportedWrites }) => {
        const asked = askedOf(write, inference.objectsOf(cluster))
        if (!participants.isAwaited(asked)) return false
        const before = asked.object?.versions[0]?.facts
        const ends = endingOf(partOfWrite(write, before))
        if (ownReportOf(participants, reportedWrites, { ...asked, cluster }, ends) !== undefined) return false
        if (waitedNs < this.#tellingWaitNs) return true
        participants.noteMissed(write)
        return false
      },
      { mayOnlyRead: true },
    )
  }

  /** Decides in one transaction. An item that throws is set aside. */
  #decide(name: string, cluster: ClusterInference, { writes, events }: InferenceWork): void {
    const items = [...writes, ...events]
    const rowAfter = (done: number): number | undefined =>
      done === items.length ? cluster.workedRow : undefined
    skipPoisonedItems(items.length, {
      work: (done, most) => {
        this.#inTransaction(items.slice(done, done + most), { name, workedRow: rowAfter(done + most) })
        return most
      },
      skip: (done, error) => {
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
      const objects = inference.objectsOf(name)
      records.begin(recorded, { name, objects, participants: this.#participantsOf(name) })
      decideItems(items, { objects, records, settings, counts })
      arrivals.endRequests()
      if (workedRow !== undefined) inference.removeBatches(name, workedRow)
    })
    this.#decided.push(counts)
    addCounts(this.#recorded, recorded)
  }

  /** Sets aside what the queue of a cluster could not process. */
  #setAsideFaults(cluster: ClusterInference): void {
    const faults = cluster.line.takeFaults().map(({ kind, version = 0n, reason }): SetAside => ({
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
      if (workedRow !== undefined) inference.removeBatches(name, workedRow)
    })
    this.#aside.push(aside)
  }
}

/** A part of the work of a cluster. The last part has `workedRow`. */
interface Part {
  readonly name: string
  readonly workedRow: number | undefined
}

/** A write to be decided, or an Event to be reported. */
type InferenceItem = ClusterWrite | ClusterEvent

interface Deciding {
  readonly objects: ClusterObjects
  readonly records: DecisionRecorder
  readonly settings: InferenceSettings
  readonly counts: InferenceCounts
}

/** Decides about writes in causal order, and records the decisions. */
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

/** The name of an item that is set aside. */
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
