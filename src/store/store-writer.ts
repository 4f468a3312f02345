import type { ArchivePosition, KeptArchive } from '../model/archive.ts'
import { CalendarWatch, Pruner, type PruneResult, type PruneSettings } from '../graph/prune.ts'
import type { MayGoOn } from '../linker/link-context.ts'
import { explainMore } from '../graph/record-mergelog.ts'
import type { InferenceRules } from '../kube/inference/inference-settings.ts'
import { RELATIONS } from '../kube/inference/relations.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import type { LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { SenderPolicy, Signal } from '../model/otlp-requests.ts'
import type {
  Retention,
  StoredGauges,
  Stores,
  Transactor,
  WriterProgress,
  WriterReader,
  WriterDatabase,
} from '../model/store-ports.ts'
import type { Clock } from '../model/time-and-size.ts'
import { InferenceTransactions } from './inference-transactions.ts'
import { type Ingested, IngestTransactions, type PendingRequest } from './ingest-transactions.ts'
import { LinkTransactions } from './link-transactions.ts'
import { WitnessedWrites } from './witnessed-writes.ts'

/** The default limit of label values per metric. */
const MAX_SERIES = 500

export interface WriterSettings {
  linking: LinkerSettings
  maxSources: number
  /** How many edges a request with few mergelogs may visit to look for cycles; 5,000 by default. */
  maxCycleEdges?: number
  /** Whether spans of API servers' filters are kept; false by default. */
  keepsFilters?: boolean
  retention: Retention
  /** The most label values per metric. */
  maxSeries?: number
  /** The permissions of senders; absent, every sender may send everything. */
  senders?: SenderPolicy
  /** The rules of inference; by default those for Kubernetes' own controllers. */
  inference?: InferenceRules
}

const INFERENCE: InferenceRules = {
  ...{ relations: RELATIONS, operators: [], controllers: [], clusters: {} },
  ...{ windowMs: 500, whoWaitMs: 2_000 },
}

/** The only writer of the database: every change is made here, one transaction at a time. */
export class StoreWriter {
  readonly #transactor: Transactor<Stores>
  /** Runs `work` with all its transactions in one commit; none of them if it throws. */
  readonly inOneCommit: WriterDatabase['inOneCommit']
  readonly reader: WriterReader
  readonly #faults: WriterDatabase['faults']
  readonly #maxFanout: number
  readonly #ingest: IngestTransactions
  readonly #pruning: PruneTransactions
  readonly linking: LinkTransactions
  /** Stores observations of clusters, and infers causes. */
  readonly inference: InferenceTransactions

  constructor(stores: WriterDatabase, settings: WriterSettings, clock: Clock) {
    const { linking, retention, maxSeries = MAX_SERIES } = settings
    this.#transactor = stores.transactor
    this.inOneCommit = stores.inOneCommit
    this.reader = stores.reader
    this.#faults = stores.faults
    this.#maxFanout = linking.maxFanout
    const inference = settings.inference ?? INFERENCE
    const witnessed = new WitnessedWrites(inference.clusters, (...of) => this.inference.awaits(...of))
    const taken = { ...settings, maxFanout: linking.maxFanout, witnessed }
    this.#ingest = new IngestTransactions(stores, taken, () => clock.monotonicMs())
    const { maxSources, senders } = settings
    const joinsOwn = senders?.otherwise.join === 'own'
    const { maxFanout, waitMs: linkingWaitMs } = linking
    const record = { maxSources, maxFanout, joinsOwn, linkingWaitMs, ...(senders && { senders }) }
    this.inference = new InferenceTransactions(stores, inference, { ...record, witnessed }, clock)
    this.#pruning = new PruneTransactions(stores, { retention, maxFanout: linking.maxFanout })
    const hasSenderRules = settings.senders !== undefined
    this.linking = new LinkTransactions(stores, { ...linking, hasSenderRules }, maxSeries)
  }

  /** Stores requests until `mayGoOn` returns false. */
  ingest(requests: readonly PendingRequest[], mayGoOn?: () => boolean): Ingested {
    return this.#ingest.ingest(requests, mayGoOn)
  }

  get progress(): WriterProgress {
    return this.reader.progress
  }

  /** The last decision about a span, about a log record, and the last part of metrics. */
  get lastDecisions(): Record<Signal, number> {
    const { lastDecision, lastLogDecision, lastMetricDecision } = this.progress
    return { traces: lastDecision, logs: lastLogDecision, metrics: lastMetricDecision }
  }

  /** Arrivals stored but not linked yet. */
  get linkLag(): number {
    return this.progress.lastArrival - this.progress.linkedArrival
  }

  /** Whether there are arrivals to link, postponed explanations, or unfinished steps. */
  get isLinkDue(): boolean {
    return this.linkLag > 0 || this.reader.hasPostponedExplanation || this.reader.mayStepsBeUnfinished
  }

  /** Links at most `limit` arrivals, and continues postponed explanations. Returns how many of both. */
  link(limit: number, mayGoOn?: MayGoOn): number {
    const explained = this.reader.hasPostponedExplanation
      ? this.#transactor.run(({ graph }) => explainMore(graph, this.#maxFanout, limit), {
          mayOnlyRead: true,
        })
      : 0
    return explained + this.linking.link(limit, mayGoOn)
  }

  /**
   * Removes about `budget` CPIDs at most, by the retention limits, until `mayGoOn` returns false. For an hour after the wall clock jumped,
   * nothing is removed for its age, unless `isCalendarRight`. `leapMs`: how far the clock has just jumped.
   */
  prune(budget: number, turn: PruneTurn = {}): PruneTurnResult {
    return this.#pruning.turn(budget, turn)
  }

  /** Decides which points of Pods are kept, until `mayGoOn` returns false. True if there may be more. */
  decidePodPoints(mayGoOn: () => boolean): boolean {
    return this.#transactor.run(({ metrics }) => metrics.decide(mayGoOn), { mayOnlyRead: true })
  }

  /** Summarizes blocks of spans for searches, until `mayGoOn` returns false. True if there may be more. */
  keepSpanBlocks(mayGoOn: () => boolean): boolean {
    return this.#transactor.run(({ spanBlocks }) => spanBlocks.keep(mayGoOn), { mayOnlyRead: true })
  }

  gauges(): WriterGauges {
    return { ...this.reader.gauges(), held: this.#pruning.held }
  }

  /** Stores the items that could not be sent. */
  setAside(items: readonly SetAside[]): void {
    this.#transactor.run(({ setAside }) => {
      for (const item of items) setAside.add(item)
    })
  }

  /** Keeps exactly these exporters of a signal; new ones start after the last decision. Returns all positions. */
  keepExporters(
    signal: Signal,
    names: readonly string[],
    from = this.lastDecisions[signal],
  ): Map<string, number> {
    return this.#transactor.run(({ positions }) => positions[signal].keep(names, from))
  }

  /** Keeps exactly these archives; new ones start from the oldest row. Returns all positions. */
  keepArchives(names: readonly string[]): Map<string, KeptArchive> {
    return this.#transactor.run(({ archives }) => archives.keep(names))
  }

  saveArchives(moved: Iterable<MovedArchive>): void {
    this.#transactor.run(({ archives }) => {
      for (const { exporter, position, refused } of moved) archives.moveTo(exporter, position, refused)
    })
  }

  /** Saves the positions of exporters. One that cannot be saved is set aside. */
  savePositions(moved: Iterable<MovedExporter>): SetAside[] {
    return this.#transactor.run((stores) => savePositions(moved, stores, this.#faults))
  }

  /** The items that linking and pruning set aside since the last call. */
  takeSetAside(): SetAside[] {
    return [...this.linking.takeSetAside(), ...this.#pruning.takeSetAside()]
  }

  /** Commits nothing but up time. Throws if the database cannot be written. */
  tryWriting(): void {
    this.#transactor.run(() => undefined)
  }
}

export interface WriterGauges extends StoredGauges {
  /** CPIDs beyond a retention limit that something still holds. */
  held: number
}

/** The new position of an exporter, and how many items its backend refused before it. */
interface MovedExporter {
  signal: Signal
  exporter: string
  position: number
  refused: number
}

/** The new position of an archive, and how many rows it refused before it. */
export interface MovedArchive {
  exporter: string
  position: ArchivePosition
  refused: number
}

/** Saves each position on its own. Those that cannot be saved are lost, set aside, and returned. */
function savePositions(
  moved: Iterable<MovedExporter>,
  { positions, setAside, attempt }: Stores,
  faults: StorageFaults,
): SetAside[] {
  const aside: SetAside[] = []
  for (const { signal, exporter, position, refused } of moved) {
    try {
      attempt('positions', () => positions[signal].moveTo(exporter, position, refused))
    } catch (error) {
      if (!faults.isAboutOneItem(error)) throw error
      const kind = `position in ${signal}`
      aside.push({ stage: 'sending', kind, item: 0, cpid: undefined, exporter, reason: reasonOf(error) })
    }
  }
  for (const item of aside) setAside.add(item)
  return aside
}

/** The least interval between two arrival marks. */
const MARK_EVERY_MS = 1_000
/** Broken items are seldom alone: after one, this many turns use a savepoint for each removal. */
const CAREFUL_FOR = 8

interface PruneTurn {
  isCalendarRight?: boolean
  mayGoOn?: () => boolean
}

type PruneTurnResult = PruneResult & { leapMs?: number }

interface Pruning extends Stores {
  readonly pruner: Pruner
}

/**
 * Prunes in turns, each a transaction. If a turn throws because of a single CPID, it is repeated with a savepoint for each removal, and
 * that CPID is set aside.
 */
class PruneTransactions {
  readonly #transactor: Transactor<Pruning>
  readonly #pruner: Pick<Pruner, 'held'>
  readonly #reader: WriterReader
  readonly #faults: StorageFaults
  readonly #calendar = new CalendarWatch()
  readonly #keepsAge: boolean
  readonly #aside: SetAside[] = []
  /** Items set aside in the turn that is not committed yet. */
  #noted: SetAside[] = []
  #careful = 0

  constructor(stores: WriterDatabase, settings: Omit<PruneSettings, 'attempt'>) {
    this.#reader = stores.reader
    this.#faults = stores.faults
    this.#keepsAge = settings.retention.maxAgeMs > 0
    const { transactor, outside } = stores.transactor.with<Pruning, Pruner>((inside) => {
      const pruner = new Pruner(inside.pruning, inside.graph, {
        ...settings,
        attempt: (cpid, does, work) => this.#attempt(inside, cpid, does === 'writes', work),
      })
      return { inside: { pruner, ...inside }, outside: pruner }
    })
    transactor.alsoForget(outside)
    this.#transactor = transactor
    this.#pruner = outside
  }

  get held(): number {
    return this.#pruner.held
  }

  /** Runs one turn, which removes about `budget` CPIDs at most. */
  turn(budget: number, turn: PruneTurn): PruneTurnResult {
    try {
      if (this.#careful === 0) return this.#run(budget, turn)
      this.#careful--
    } catch (error) {
      if (!this.#faults.isAboutOneItem(error)) throw error
      this.#careful = CAREFUL_FOR
    }
    return this.#run(budget, turn)
  }

  /** Items set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  #run(budget: number, turn: PruneTurn): PruneTurnResult {
    this.#noted = []
    const result = this.#transactor.run((inside) => this.#work(inside, budget, turn), { mayOnlyRead: true })
    this.#aside.push(...this.#noted)
    return result
  }

  #work(
    { pruner, marks, keeper }: Pruning,
    budget: number,
    { isCalendarRight = false, mayGoOn }: PruneTurn,
  ): PruneTurnResult {
    const { progress } = this.#reader
    const markedMs = marks.lastMarkMs()
    const { isSure, leapMs } = isCalendarRight ? { isSure: true } : this.#calendar.look(progress, markedMs)
    if (this.#keepsAge && isSure && Math.abs(progress.wallMs - (markedMs ?? 0)) >= MARK_EVERY_MS) marks.mark()
    const kept = keeper.sweep(isSure)
    const result = pruner.prune(budget, { isAgeKnown: isSure, isRoomKnown: !kept.isCrowded, mayGoOn })
    const unsent = result.unsent + kept.unsent
    return { ...result, unsent, more: result.more || kept.more, ...(leapMs !== undefined && { leapMs }) }
  }

  #attempt({ attempt, setAside }: Stores, cpid: number, writes: boolean, work: () => void): boolean {
    const isCareful = writes && this.#careful > 0
    try {
      if (isCareful) attempt('pruning', work)
      else work()
      return true
    } catch (error) {
      if (!this.#faults.isAboutOneItem(error) || (writes && !isCareful)) throw error
      this.#noted.push(setAside.addUnprunable(cpid, reasonOf(error)))
      return false
    }
  }
}
