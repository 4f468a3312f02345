import type { ArchivePosition, KeptArchive } from '../model/archive.ts'
import { CalendarWatch, Pruner, type PruneResult, type PruneSettings } from '../graph/prune.ts'
import { explainMore } from '../graph/record-mergelog.ts'
import type { InferenceRules } from '../kube/inference/decide.ts'
import { RELATIONS } from '../kube/inference/relations.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import type { CascadeFigures, LinkCounts, LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { SenderPolicy, Signal } from '../model/otlp-requests.ts'
import type {
  Retention,
  StoredGauges,
  Stores,
  Transactor,
  WriterProgress,
  WriterReader,
  WriterStores,
} from '../model/store-ports.ts'
import type { Clock } from '../model/time-and-size.ts'
import { InferenceRounds } from './inference-rounds.ts'
import { type Ingested, IngestRounds, type PendingRequest } from './ingest-rounds.ts'
import { LinkRounds } from './link-rounds.ts'

/** Label values of one histogram that are told apart unless something else is said. */
const MAX_SERIES = 500

export interface WriterSettings {
  linking: LinkerSettings
  maxSources: number
  /** How many edges may be looked at for cycles in one request that has few mergelogs; 5,000 unless given. */
  maxCycleEdges?: number
  /** Spans of API servers' filters are kept; they are dropped unless given. */
  keepsFilters?: boolean
  retention: Retention
  /** Services and object kinds that metrics tell apart at most. */
  maxSeries?: number
  /** Without one everybody may send everything. */
  senders?: SenderPolicy
  /** How causes of writes are inferred; as Kubernetes' own controllers work unless given. */
  inference?: InferenceRules
}

const INFERENCE: InferenceRules = {
  ...{ relations: RELATIONS, operators: [], controllers: [], clusters: {} },
  ...{ windowMs: 500, whoWaitMs: 2_000 },
}

/** The one writer of the database: everything that changes it goes through here, one transaction at a time. */
export class StoreWriter {
  readonly #transactor: Transactor<Stores>
  readonly #together: WriterStores['together']
  readonly #reader: WriterReader
  readonly #faults: WriterStores['faults']
  readonly #maxFanout: number
  readonly #ingests: IngestRounds
  readonly #pruning: PruneRounds
  readonly #rounds: LinkRounds
  /** What is told of clusters, and decided about them. */
  readonly inference: InferenceRounds

  constructor(stores: WriterStores, settings: WriterSettings, clock: Clock) {
    const { linking, retention, maxSeries = MAX_SERIES } = settings
    this.#transactor = stores.transactor
    this.#together = stores.together
    this.#reader = stores.reader
    this.#faults = stores.faults
    this.#maxFanout = linking.maxFanout
    this.#ingests = new IngestRounds(stores, { ...settings, maxFanout: linking.maxFanout }, () =>
      clock.monotonicMs(),
    )
    const { maxSources } = settings
    const joinsOwn = settings.senders?.otherwise.join === 'own'
    const record = { maxSources, maxFanout: linking.maxFanout, joinsOwn }
    this.inference = new InferenceRounds(stores, settings.inference ?? INFERENCE, record, clock)
    this.#pruning = new PruneRounds(stores, { retention, maxFanout: linking.maxFanout })
    const tellsSendersApart = settings.senders !== undefined
    this.#rounds = new LinkRounds(stores, { ...linking, tellsSendersApart }, maxSeries)
  }

  /** Does some work whose transactions are committed at once, or, where it throws, not at all. */
  together<T>(work: () => T): T {
    return this.#together(work)
  }

  /** Stores requests, as far as there is time. */
  ingest(requests: readonly PendingRequest[], mayGoOn?: () => boolean): Ingested {
    return this.#ingests.ingest(requests, mayGoOn)
  }

  get progress(): WriterProgress {
    return this.#reader.progress
  }

  /** The last decision about a span, and about a log record. */
  get lastDecisions(): Record<Signal, number> {
    return { traces: this.progress.lastDecision, logs: this.progress.lastLogDecision }
  }

  /** Arrivals stored but not linked yet. */
  get linkLag(): number {
    return this.progress.lastArrival - this.progress.linkedArrival
  }

  /** Whether there is something to link, or to explain before. */
  get isLinkDue(): boolean {
    return this.linkLag > 0 || this.#reader.hasMoreToExplain
  }

  /** Links at most `limit` arrivals, and explains what was left to explain; returns how many there were. */
  link(limit: number): number {
    const explained = this.#reader.hasMoreToExplain
      ? this.#transactor.run(({ graph }) => explainMore(graph, this.#maxFanout, limit), {
          mayOnlyRead: true,
        })
      : 0
    return explained + this.#rounds.link(limit)
  }

  /** Lets go what has waited long enough and settles traces; true when there may be more. */
  expire(limit: number): boolean {
    return this.#rounds.expire(limit)
  }

  /** True when something has waited long enough or a trace may settle; asks without a transaction. */
  isAnythingDue(): boolean {
    return this.#reader.isAnythingDue()
  }

  /**
   * Removes about `budget` CPIDs at most, as retention wants it, and stops once `mayGoOn` says no. After a leap of the
   * calendar nothing is removed for its age for an hour, unless the caller vouches for it; `leapMs` says that it has just
   * leapt.
   */
  prune(budget: number, turn: PruneTurn = {}): PruneTurnResult {
    return this.#pruning.turn(budget, turn)
  }

  /** What the gauges show. */
  gauges(): WriterGauges {
    return { ...this.#reader.gauges(), held: this.#pruning.held }
  }

  takeLinkCounts(): LinkCounts {
    return this.#rounds.takeCounts()
  }

  /** Notes what could not be sent. */
  setAside(items: readonly SetAside[]): void {
    this.#transactor.run(({ setAside }) => {
      for (const item of items) setAside.add(item)
    })
  }

  /** Keeps exactly these exporters of a signal, new ones from the last decision on; returns where each stands. */
  keepExporters(
    signal: Signal,
    names: readonly string[],
    from = this.lastDecisions[signal],
  ): Map<string, number> {
    return this.#transactor.run(({ positions }) => positions[signal].keep(names, from))
  }

  /** Where each exporter of a signal stands. */
  positions(signal: Signal): Map<string, number> {
    return this.#reader.positions(signal)
  }

  /** Keeps exactly these archives, new ones from the beginning on; returns where each stands. */
  keepArchives(names: readonly string[]): Map<string, KeptArchive> {
    return this.#transactor.run(({ archives }) => archives.keep(names))
  }

  saveArchives(moved: Iterable<MovedArchive>): void {
    this.#transactor.run(({ archives }) => {
      for (const { exporter, position, refused } of moved) archives.moveTo(exporter, position, refused)
    })
  }

  /** Saves how far exporters have come. What cannot be saved is set aside, and all else saved. */
  savePositions(moved: Iterable<MovedExporter>): SetAside[] {
    return this.#transactor.run((stores) => savePositions(moved, stores, this.#faults))
  }

  /** What linking and pruning set aside since the last call. */
  takeSetAside(): SetAside[] {
    return [...this.#rounds.takeSetAside(), ...this.#pruning.takeSetAside()]
  }

  /** What was measured since the last call. */
  takeFigures(): CascadeFigures {
    return this.#rounds.takeFigures()
  }

  /** Commits up time and nothing else; throws when the database cannot be written. */
  tryWriting(): void {
    this.#transactor.run(() => undefined)
  }
}

/** What the writer has to show at a moment. */
interface WriterGauges extends StoredGauges {
  /** CPIDs that retention has come to but keeps. */
  held: number
}

/** How far an exporter has come, and how much its backend refused on the way. */
interface MovedExporter {
  signal: Signal
  exporter: string
  position: number
  refused: number
}

/** How far an archive has come, and how much it refused on the way. */
export interface MovedArchive {
  exporter: string
  position: ArchivePosition
  refused: number
}

/** Saves each by itself; sets aside those that could not be, which are lost, and returns them. */
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

/** How often, at most, is noted what had arrived by then. */
const MARK_EVERY_MS = 1_000
/** What is broken seldom comes alone: how many turns are careful after one that had to be. */
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
 * Prunes in turns, each in a transaction. Where one throws for a single CPID the turn is done again, each removal to be undone
 * by itself, and that CPID is set aside.
 */
class PruneRounds {
  readonly #transactor: Transactor<Pruning>
  readonly #pruner: Pick<Pruner, 'held'>
  readonly #reader: WriterReader
  readonly #faults: StorageFaults
  readonly #calendar = new CalendarWatch()
  readonly #keepsAge: boolean
  readonly #aside: SetAside[] = []
  /** Those of the turn that is not committed yet. */
  #noted: SetAside[] = []
  #careful = 0

  constructor(stores: WriterStores, settings: Omit<PruneSettings, 'attempt'>) {
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

  /** Does one turn of about `budget` CPIDs at most. */
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

  /** What was set aside since the last call. */
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
    const kept = keeper.turn(isSure)
    const result = pruner.prune(budget, { isAgeKnown: isSure, isRoomKnown: !kept.isCrowded, mayGoOn })
    return { ...result, more: result.more || kept.more, ...(leapMs !== undefined && { leapMs }) }
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
