import type { CascadeFigures } from '../../model/cascade-figures.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { Progress } from '../../sqlite/progress.ts'
import { isAboutOneItem } from '../../sqlite/storage-fault.ts'
import { CarefulRounds, type CarefulParts } from './careful-rounds.ts'
import { CascadeMeter } from './cascade-meter.ts'

/** Links and expires in rounds, each in a transaction; where one throws for a single item, item by item. */
export class LinkRounds {
  readonly #parts: CarefulParts
  readonly #careful: CarefulRounds
  readonly #progress: Progress
  readonly #figures: CascadeMeter
  readonly #aside: SetAside[] = []

  /** `maxSeries`: services and object kinds that figures tell apart at most. */
  constructor(parts: CarefulParts, progress: Progress, maxSeries: number) {
    this.#parts = parts
    this.#careful = new CarefulRounds(parts)
    this.#progress = progress
    this.#figures = new CascadeMeter(maxSeries)
  }

  link(limit: number): number {
    return this.#orCarefully(
      () => this.#parts.linker.link(limit),
      () => this.#careful.link(limit),
    )
  }

  expire(limit: number): boolean {
    return this.#orCarefully(
      () => this.#parts.linker.expire(limit),
      () => this.#careful.expire(limit),
    )
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
  #orCarefully<T>(work: () => T, carefully: () => { done: T; aside: SetAside[] }): T {
    const { transaction, linker, links } = this.#parts
    const undo = linker.checkpoint()
    try {
      if (!this.#careful.isOn) return transaction.run(() => links.inRound(work))
    } catch (error) {
      // What a rolled back round saw is seen again.
      undo()
      if (!isAboutOneItem(error)) throw error
    } finally {
      this.#measure()
    }
    const { done, aside } = carefully()
    this.#aside.push(...aside)
    this.#measure()
    return done
  }

  #measure(): void {
    this.#figures.add(this.#parts.linker.takeObservations(), this.#progress.wallMs)
  }
}
