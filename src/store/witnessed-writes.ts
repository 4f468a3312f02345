import {
  addCounts,
  type BegunForAnother,
  type RecordSettings,
  RequestRecorder,
} from '../graph/record-request.ts'
import { derivedCpid } from '../kube/inference/write-key.ts'
import type { InferenceRules } from '../kube/inference/inference-settings.ts'
import { type IngestCounts, noCounts } from '../model/arrivals.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import type { InferenceStore } from '../model/inference-store.ts'
import { parseObjectReference } from '../model/kubernetes-objects.ts'
import type { Cpid } from '../model/merge-graph.ts'
import type { Sender } from '../model/otlp-requests.ts'
import { readRequest } from '../model/otlp/decode-requests.ts'
import type { Stores } from '../model/store-ports.ts'
import type { Explanation, HeldItem } from '../model/reported-writes.ts'
import type { WorkedOutMergelogs } from './worked-out-mergelogs.ts'

/**
 * Explains changes that programs began for another program's write. In a watched cluster Causeway observed that write too, and inference
 * determines its writer and cause.
 */
export class WitnessedWrites {
  readonly #watched: ReadonlySet<string>
  readonly #isAwaited: (cluster: string, uid: string, version: bigint) => boolean

  /** `isAwaited`: whether a version waits for its decision, or streams that lag may still report it. */
  constructor(
    clusters: InferenceRules['clusters'],
    isAwaited: (cluster: string, uid: string, version: bigint) => boolean,
  ) {
    this.#isAwaited = isAwaited
    this.#watched = new Set(
      Object.entries(clusters).flatMap(([name, { versions }]) => (versions ? [name] : [])),
    )
  }

  /** The observed change behind a CPID that a program derived from a version of an object. `isLate`: the wait for it is over. */
  explain(
    inference: InferenceStore,
    { cpid, object, cluster }: BegunForAnother & { cluster: string },
    isLate = false,
  ): Explanation {
    if (!this.#watched.has(cluster)) return 'none'
    const { uid, version } = parseObjectReference(object) ?? {}
    if (uid === undefined || version === undefined) return 'none'
    if (derivedCpid('root', { cluster, uid, version: String(version) }) !== cpid) return 'none'
    const known = inference.objectsOf(cluster).get(uid)
    const newest = known?.versions[0]?.version ?? -1n
    if (version <= newest) return known?.versions.find((one) => one.version === version)?.cpid ?? 'none'
    if (this.#isAwaited(cluster, uid, version)) return 'later'
    // A watch may report a version that exists a moment later.
    return known === undefined || isLate ? 'none' : 'later'
  }
}

interface HeldItemSettings extends Omit<RecordSettings, 'witnessed'> {
  readonly witnessed: WitnessedWrites
  readonly faults: StorageFaults
}

/** Records what programs reported about writes that inference had not decided, in the caller's transactions. */
export class HeldItemRecorder {
  readonly #stores: Pick<Stores, 'held' | 'attempt' | 'setAside'>
  readonly #recorder: RequestRecorder
  readonly #workedOut: WorkedOutMergelogs
  readonly #faults: StorageFaults
  /** The change that a program began for a write, and the change that the write belongs to. */
  #decided: { readonly begun: Cpid; readonly cpid: Cpid } | undefined
  readonly #aside: SetAside[] = []

  constructor(
    stores: Stores,
    workedOut: WorkedOutMergelogs,
    { witnessed, faults, ...settings }: HeldItemSettings,
  ) {
    this.#workedOut = workedOut
    const { arrivals, graph, inference, held } = stores
    this.#stores = stores
    this.#faults = faults
    this.#recorder = new RequestRecorder(arrivals, graph, {
      ...settings,
      witnessed: {
        explain: (begun) =>
          begun.cpid === this.#decided?.begun
            ? this.#decided.cpid
            : witnessed.explain(inference, begun, true),
        hold: (cpid, item) => held.hold(cpid, item),
      },
    })
  }

  /** Records items whose write is now known to belong to a change. */
  recordDecided(
    items: readonly HeldItem[],
    decided: { begun: Cpid; cpid: Cpid },
    counts: IngestCounts,
  ): void {
    this.#decided = decided
    for (const item of items) this.#record(item, counts)
    this.#decided = undefined
  }

  /**
   * Records items that have waited long enough, as they were reported, unless their write may still be reported; and worked-out mergelogs.
   * Returns how many.
   */
  recordDue(most: number, counts: IngestCounts): number {
    const due = this.#stores.held.takeDue(most)
    for (const item of due)
      if ('signal' in item) this.#record(item, counts)
      else this.#attempt('worked out mergelog', () => this.#workedOut.record(item))
    return due.length
  }

  /** The items set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  #record({ signal, request, sender }: HeldItem, counts: IngestCounts): void {
    const recorded = noCounts()
    const isRecorded = this.#attempt(signal === 'traces' ? 'held span' : 'held log record', () => {
      const read = { ...readRequest(signal, request), hash: undefined }
      const provenBy = sender === undefined ? undefined : (JSON.parse(sender) as Sender)
      this.#recorder.begin(read, provenBy).resume(recorded, () => true)
    })
    // Spans and log records were counted when they arrived.
    if (isRecorded) addCounts(counts, { ...recorded, spans: 0, logs: 0 })
  }

  /** Records an item. If that fails, sets the item aside and returns false. */
  #attempt(kind: string, record: () => void): boolean {
    const { attempt, setAside } = this.#stores
    try {
      attempt('pruning', record)
      return true
    } catch (error) {
      if (!this.#faults.isAboutOneItem(error)) throw error
      const item: SetAside = {
        ...{ stage: 'inference', kind, item: 0 },
        ...{ cpid: undefined, exporter: undefined, reason: reasonOf(error) },
      }
      setAside.add(item)
      this.#aside.push(item)
      return false
    }
  }
}
