import type { MayGoOn } from '../linker/link-context.ts'
import { EXPIRY_STAGES, type ExpiryStage, Linker } from '../linker/linker.ts'
import { reasonOf, type SetAside } from '../model/faults.ts'
import type {
  CascadeFigures,
  CascadeObservation,
  Exemplar,
  LinkCounts,
  LinkerSettings,
} from '../model/linker-settings-and-metrics.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import type { SetAsideStore, Stores, Transactor, WriterDatabase } from '../model/store-ports.ts'
import { METRICS } from '../platform/metric-catalogue.ts'
import { ExemplarHistogram } from '../platform/openmetrics.ts'
import { skipPoisonedItems } from './skip-poisoned-items.ts'

/** The most items skipped in a turn, since each costs a commit. */
const MOST_PASSED = 150
/** How many arrivals are read at a time. */
const READ_AT_ONCE = 500

/** The stores and the linker, inside a transaction. */
interface Linking extends Stores {
  readonly linker: Linker
}

/** The counters and measurements of the linker, which are only in memory. */
type LinkTally = Pick<Linker, 'checkpoint' | 'takeCounts' | 'takeObservations'>

/** Links and expires, each in its own transaction. An item that throws is set aside. */
export class LinkTransactions {
  readonly #transactor: Transactor<Linking>
  readonly #tally: LinkTally
  readonly #stores: Pick<WriterDatabase, 'reader' | 'faults'>
  readonly #figures: CascadeMeter
  readonly #aside: SetAside[] = []

  /** `maxSeries`: the most label values per metric. */
  constructor(stores: WriterDatabase, settings: LinkerSettings, maxSeries: number) {
    const { transactor, outside } = stores.transactor.with<Linking, LinkTally>((inside) => {
      const linker = new Linker(inside.links, inside.graph, settings)
      return { inside: { linker, ...inside }, outside: linker }
    })
    this.#transactor = transactor
    this.#tally = outside
    this.#stores = stores
    this.#figures = new CascadeMeter(maxSeries)
  }

  /** Links at most `limit` arrivals, until `mayGoOn` returns false. Returns how many were linked or skipped. */
  link(limit: number, mayGoOn?: MayGoOn): number {
    return this.#skippingPoisoned(
      limit,
      (linker, most, inRound) => {
        let linked = 0
        for (;;) {
          const atOnce = Math.min(READ_AT_ONCE, most - linked)
          const more = inRound(() => linker.link(atOnce, mayGoOn))
          linked += more
          if (more < atOnce || linked === most || mayGoOn?.() === false) return linked
        }
      },
      (setAside, reason) => setAside.skipStep(reason) ?? setAside.skipArrival(reason),
    )
  }

  /** Expires at most `limit` items of each kind, until `mayGoOn` returns false. True if more may be due. */
  expire(limit: number, mayGoOn?: MayGoOn): boolean {
    try {
      return this.#inTransaction((linker, inRound) => inRound(() => linker.expire(limit, mayGoOn)))
    } catch (error) {
      if (!this.#stores.faults.isAboutOneItem(error)) throw error
      return EXPIRY_STAGES.map((stage) => this.#expireOnly(stage, limit, mayGoOn)).includes(true)
    }
  }

  #expireOnly(stage: ExpiryStage, limit: number, mayGoOn: MayGoOn | undefined): boolean {
    const done = this.#skippingPoisoned(
      limit,
      (linker, most, inRound) => (inRound(() => linker.expireOnly(stage, most, mayGoOn)) ? most : 0),
      (setAside, reason) =>
        setAside.skipStep(reason) ??
        (stage === 'settling' ? setAside.skipTrace(reason) : setAside.skipWaiting(stage, reason)),
    )
    return done === limit
  }

  /** What was done since the last call. */
  takeCounts(): LinkCounts {
    return this.#tally.takeCounts()
  }

  /** The items set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  /** The measurements since the last call. */
  takeFigures(): CascadeFigures {
    return this.#figures.take()
  }

  #skippingPoisoned(
    limit: number,
    work: (linker: Linker, most: number, inRound: Stores['linkRound']) => number,
    passIn: (setAside: SetAsideStore, reason: string) => SetAside | undefined,
  ): number {
    let passes = 0
    return skipPoisonedItems(limit, {
      work: (_, most) =>
        passes < MOST_PASSED ? this.#inTransaction((linker, inRound) => work(linker, most, inRound)) : 0,
      skip: (_, error) => {
        passes++
        const passed = this.#transactor.run(({ setAside }) => passIn(setAside, reasonOf(error)))
        if (passed === undefined) throw error
        this.#aside.push(passed)
      },
      isAboutOneItem: (error) => this.#stores.faults.isAboutOneItem(error),
    })
  }

  #inTransaction<T>(work: (linker: Linker, inRound: Stores['linkRound']) => T): T {
    const undo = this.#tally.checkpoint()
    try {
      return this.#transactor.run(({ linker, linkRound }) => work(linker, linkRound))
    } catch (error) {
      // The work will be repeated, and measured again.
      undo()
      throw error
    } finally {
      this.#figures.add(this.#tally.takeObservations(), this.#stores.reader.progress.wallMs)
    }
  }
}

/** Collects the linker's measurements for the main thread. */
class CascadeMeter {
  readonly #durations = new ExemplarHistogram(METRICS.cpid_cascade_duration.buckets)
  readonly #hops: ExemplarHistogram

  /** `maxSeries`: the most label values per metric. */
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
