import { EXPIRY_STAGES, type ExpiryStage, Linker } from '../linker/linker.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import type {
  CascadeFigures,
  CascadeObservation,
  Exemplar,
  LinkCounts,
  LinkerSettings,
} from '../model/linker-settings-and-metrics.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import type { Stores, Transactor, WriterStores } from '../model/store-ports.ts'
import { METRICS } from '../platform/metric-catalogue.ts'
import { ExemplarHistogram } from '../platform/openmetrics.ts'

/** Links and expires in rounds, each in a transaction; where one throws for a single item, item by item. */
export class LinkRounds {
  readonly #transactor: Transactor<Linking>
  readonly #tally: LinkTally
  readonly #careful: ItemByItemLinking
  readonly #stores: Pick<WriterStores, 'reader' | 'faults'>
  readonly #figures: CascadeMeter
  readonly #aside: SetAside[] = []

  /** `maxSeries`: services and object kinds that figures tell apart at most. */
  constructor(stores: WriterStores, settings: LinkerSettings, maxSeries: number) {
    const { transactor, outside } = stores.transactor.with<Linking, LinkTally>((inside) => {
      const linker = new Linker(inside.links, inside.graph, settings)
      return { inside: { linker, ...inside }, outside: linker }
    })
    this.#transactor = transactor
    this.#tally = outside
    this.#careful = new ItemByItemLinking(transactor, outside, stores.faults)
    this.#stores = stores
    this.#figures = new CascadeMeter(maxSeries)
  }

  link(limit: number): number {
    return this.#orCarefully(
      (linker) => linker.link(limit),
      () => this.#careful.link(limit),
    )
  }

  expire(limit: number): boolean {
    return this.#orCarefully(
      (linker) => linker.expire(limit),
      () => this.#careful.expire(limit),
    )
  }

  /** What has been done since the last call. */
  takeCounts(): LinkCounts {
    return this.#tally.takeCounts()
  }

  /** What was set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  /** What was measured since the last call. */
  takeFigures(): CascadeFigures {
    return this.#figures.take()
  }

  /** What throws for one item alone is set aside; all else that throws rolls the round back, and is tried again. */
  #orCarefully<T>(work: (linker: Linker) => T, carefully: () => { done: T; aside: SetAside[] }): T {
    const undo = this.#tally.checkpoint()
    try {
      if (!this.#careful.isOn)
        return this.#transactor.run(({ linker, linkRound }) => linkRound(() => work(linker)))
    } catch (error) {
      // What a rolled back round saw is seen again.
      undo()
      if (!this.#stores.faults.isAboutOneItem(error)) throw error
    } finally {
      this.#measure()
    }
    const { done, aside } = carefully()
    this.#aside.push(...aside)
    this.#measure()
    return done
  }

  #measure(): void {
    this.#figures.add(this.#tally.takeObservations(), this.#stores.reader.progress.wallMs)
  }
}

/** What a round does at most, since each item costs more than in a round of many. */
const MAX_ITEMS = 150
/** What is broken seldom comes alone: how many rounds of linking are careful after one that had to be. */
const CAREFUL_FOR = 8

/** What linking goes on with, inside a transaction. */
interface Linking extends Stores {
  readonly linker: Linker
}

/** What the linker counted and saw, which is no row. */
type LinkTally = Pick<Linker, 'checkpoint' | 'takeCounts' | 'takeObservations'>

type Pass = (reason: string) => SetAside | undefined

/**
 * Links and expires item by item, where a round of many threw: each is undone by itself when it throws, and set aside with
 * its reason in the same transaction, so that everything else goes on.
 */
class ItemByItemLinking {
  readonly #transactor: Transactor<Linking>
  readonly #tally: LinkTally
  readonly #faults: StorageFaults
  #carefulRounds = 0

  constructor(transactor: Transactor<Linking>, tally: LinkTally, faults: StorageFaults) {
    this.#transactor = transactor
    this.#tally = tally
    this.#faults = faults
  }

  /** Links at most `limit` events, or fewer; returns how many it got past, and which were set aside. */
  link(limit: number): { done: number; aside: SetAside[] } {
    this.#carefulRounds--
    const round = this.#round((linking, aside) => {
      let done = 0
      const step = (): boolean => linking.linker.link(1) > 0
      const pass: Pass = (reason) => linking.setAside.passArrival(reason)
      while (done < Math.min(limit, MAX_ITEMS) && this.#one(linking, step, pass, aside)) done++
      return done
    })
    if (round.aside.length > 0) this.#carefulRounds = CAREFUL_FOR
    return round
  }

  /** Expires at most `limit` of each kind, or fewer; `done` is true when more may be due. */
  expire(limit: number): { done: boolean; aside: SetAside[] } {
    const most = Math.min(limit, MAX_ITEMS)
    return this.#round((linking, aside) =>
      EXPIRY_STAGES.map((stage) => this.#expire(linking, stage, most, aside)).includes(true),
    )
  }

  /** Linking had to be careful lately. */
  get isOn(): boolean {
    return this.#carefulRounds > 0
  }

  #expire(linking: Linking, stage: ExpiryStage, most: number, aside: SetAside[]): boolean {
    const { linker, setAside } = linking
    const step = (): boolean => linker.expireOnly(stage, 1)
    const pass: Pass = (reason) =>
      stage === 'settling' ? setAside.passTrace(reason) : setAside.passWaiting(stage, reason)
    let done = 0
    while (done < most && this.#one(linking, step, pass, aside)) done++
    return done === most
  }

  /** Does one step, or gets past it; false when there was nothing to do. */
  #one({ attempt, linkRound }: Linking, step: () => boolean, pass: Pass, aside: SetAside[]): boolean {
    const undo = this.#tally.checkpoint()
    try {
      return attempt('linking', () => linkRound(step))
    } catch (error) {
      undo()
      if (!this.#faults.isAboutOneItem(error)) throw error
      const passed = pass(reasonOf(error))
      if (passed === undefined) throw error
      aside.push(passed)
      return true
    }
  }

  #round<T>(work: (linking: Linking, aside: SetAside[]) => T): { done: T; aside: SetAside[] } {
    const undo = this.#tally.checkpoint()
    const aside: SetAside[] = []
    try {
      const done = this.#transactor.run((linking) => work(linking, aside))
      return { done, aside }
    } catch (error) {
      undo()
      throw error
    }
  }
}

/** Gathers in the store thread what the linker saw, until it is handed over. */
class CascadeMeter {
  readonly #durations = new ExemplarHistogram(METRICS.cpid_cascade_duration.buckets)
  readonly #hops: ExemplarHistogram

  /** `maxSeries`: services and object kinds that are told apart at most. */
  constructor(maxSeries: number) {
    this.#hops = new ExemplarHistogram(METRICS.cpid_hop_latency.buckets, maxSeries)
  }

  add(observations: readonly CascadeObservation[], wallMs: number): void {
    for (const observation of observations) {
      const exemplar: Exemplar = {
        value: observation.seconds,
        timeMs: wallMs,
        traceId: observation.traceId.toString('hex'),
        spanId: spanIdHex(observation.spanId),
      }
      if (observation.kind === 'cascade') this.#durations.observe([], exemplar)
      else this.#hops.observe([observation.service, observation.objectKind], exemplar)
    }
  }

  take(): CascadeFigures {
    return { durations: this.#durations.take(), hops: this.#hops.take() }
  }
}
