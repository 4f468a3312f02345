import type { CascadeFigures } from '../../model/cascade-figures.ts'
import type { SetAside } from '../../model/set-aside.ts'
import { Linker } from '../../linker/linker.ts'
import type { LinkerSettings } from '../../model/link-settings.ts'
import type { LinkCounts } from '../../model/link-counts.ts'
import type { Transactor } from '../../model/ports/transactor.ts'
import type { WriterStores } from '../../model/ports/writer-port.ts'
import { CarefulRounds, type Linking, type LinkTally } from './careful-rounds.ts'
import { CascadeMeter } from './cascade-meter.ts'

/** Links and expires in rounds, each in a transaction; where one throws for a single item, item by item. */
export class LinkRounds {
  readonly #transactor: Transactor<Linking>
  readonly #tally: LinkTally
  readonly #careful: CarefulRounds
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
    this.#careful = new CarefulRounds(transactor, outside, stores.faults)
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
