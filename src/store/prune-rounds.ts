import { CalendarWatch, Pruner, type PruneResult, type PruneSettings } from '../graph/prune.ts'
import { reasonOf, type SetAside, type StorageFaults } from '../model/faults.ts'
import type { Stores, Transactor, WriterReader, WriterStores } from '../model/store-ports.ts'

/** How often, at most, is noted what had arrived by then. */
const MARK_EVERY_MS = 1_000
/** What is broken seldom comes alone: how many turns are careful after one that had to be. */
const CAREFUL_FOR = 8

export interface PruneTurn {
  isCalendarRight?: boolean
  mayGoOn?: () => boolean
}

export type PruneTurnResult = PruneResult & { leapMs?: number }

interface Pruning extends Stores {
  readonly pruner: Pruner
}

/**
 * Prunes in turns, each in a transaction. Where one throws for a single CPID the turn is done again, each removal to be undone
 * by itself, and that CPID is set aside.
 */
export class PruneRounds {
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
