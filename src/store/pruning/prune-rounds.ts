import { CalendarWatch } from '../../graph/calendar-watch.ts'
import { Pruner, type PruneResult, type PruneSettings } from '../../graph/prune.ts'
import type { MergeGraph } from '../../model/ports/graph-port.ts'
import { reasonOf, type SetAside } from '../../model/set-aside.ts'
import type { SetAsideTable } from '../../sqlite/keeping/set-aside-table.ts'
import type { TableKeeper } from '../../sqlite/keeping/table-keeper.ts'
import type { Progress } from '../../sqlite/progress.ts'
import type { SqlitePruneStore } from '../../sqlite/pruning/prune-store.ts'
import { isAboutOneItem } from '../../sqlite/storage-fault.ts'
import type { Cached, WriterTransaction } from '../../sqlite/writer-transaction.ts'

/** How often, at most, is noted what had arrived by then. */
const MARK_EVERY_MS = 1_000
/** What is broken seldom comes alone: how many turns are careful after one that had to be. */
const CAREFUL_FOR = 8

export interface PruneTurn {
  isCalendarRight?: boolean
  mayGoOn?: () => boolean
}

export type PruneTurnResult = PruneResult & { leapMs?: number }

export interface PruneParts {
  store: SqlitePruneStore
  graph: MergeGraph
  keeper: TableKeeper
  table: SetAsideTable
  progress: Progress
  transaction: WriterTransaction
  /** What caches rows that pruning changes, but for the pruner itself. */
  caches: readonly Cached[]
}

/**
 * Prunes in turns, each in a transaction. Where one throws for a single CPID the turn is done again, each removal to be undone
 * by itself, and that CPID is set aside.
 */
export class PruneRounds implements Cached {
  readonly #parts: PruneParts
  readonly #pruner: Pruner
  readonly #calendar = new CalendarWatch()
  readonly #keepsAge: boolean
  readonly #aside: SetAside[] = []
  /** Those of the turn that is not committed yet. */
  #noted: SetAside[] = []
  #careful = 0

  constructor(parts: PruneParts, settings: Omit<PruneSettings, 'attempt'>) {
    this.#parts = parts
    this.#keepsAge = settings.retention.maxAgeMs > 0
    this.#pruner = new Pruner(parts.store, parts.graph, {
      ...settings,
      attempt: (cpid, does, work) => this.#attempt(cpid, does === 'writes', work),
    })
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
      if (!isAboutOneItem(error)) throw error
      this.#careful = CAREFUL_FOR
    }
    return this.#run(budget, turn)
  }

  /** What was set aside since the last call. */
  takeSetAside(): SetAside[] {
    return this.#aside.splice(0)
  }

  forget(): void {
    this.#pruner.forget()
  }

  #run(budget: number, turn: PruneTurn): PruneTurnResult {
    this.#noted = []
    const result = this.#parts.transaction.run(() => this.#work(budget, turn), { mayOnlyRead: true })
    this.#aside.push(...this.#noted)
    return result
  }

  #work(budget: number, { isCalendarRight = false, mayGoOn }: PruneTurn): PruneTurnResult {
    const { store, progress, keeper } = this.#parts
    const markedMs = store.lastMarkMs()
    const { isSure, leapMs } = isCalendarRight ? { isSure: true } : this.#calendar.look(progress, markedMs)
    if (this.#keepsAge && isSure && Math.abs(progress.wallMs - (markedMs ?? 0)) >= MARK_EVERY_MS) store.mark()
    const kept = keeper.turn(isSure)
    const result = this.#pruner.prune(budget, { isAgeKnown: isSure, isRoomKnown: !kept.isCrowded, mayGoOn })
    return { ...result, more: result.more || kept.more, ...(leapMs !== undefined && { leapMs }) }
  }

  #attempt(cpid: number, writes: boolean, work: () => void): boolean {
    const { transaction, table, caches } = this.#parts
    const isCareful = writes && this.#careful > 0
    try {
      if (isCareful) transaction.attempt(work, caches)
      else work()
      return true
    } catch (error) {
      if (!isAboutOneItem(error) || (writes && !isCareful)) throw error
      this.#noted.push(table.addUnprunable(cpid, reasonOf(error)))
      return false
    }
  }
}
