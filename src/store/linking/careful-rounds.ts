import { EXPIRY_STAGES, type ExpiryStage, type Linker } from '../../linker/linker.ts'
import { reasonOf, type SetAside } from '../../model/set-aside.ts'
import type { SetAsideTable } from '../../sqlite/keeping/set-aside-table.ts'
import type { SqliteLinkStore } from '../../sqlite/linking/link-store.ts'
import { isAboutOneItem } from '../../sqlite/storage-fault.ts'
import type { Cached, WriterTransaction } from '../../sqlite/writer-transaction.ts'

/** What a round does at most, since each item costs more than in a round of many. */
const MAX_ITEMS = 150
/** What is broken seldom comes alone: how many rounds of linking are careful after one that had to be. */
const CAREFUL_FOR = 8

export interface CarefulParts {
  transaction: WriterTransaction
  linker: Linker
  links: SqliteLinkStore
  table: SetAsideTable
  /** What caches rows that linking changes. */
  caches: readonly Cached[]
}

/**
 * Links and expires item by item, where a round of many threw: each is undone by itself when it throws, and set aside with
 * its reason in the same transaction, so that everything else goes on.
 */
export class CarefulRounds {
  readonly #parts: CarefulParts
  #carefulRounds = 0

  constructor(parts: CarefulParts) {
    this.#parts = parts
  }

  /** Links at most `limit` events, or fewer; returns how many it got past, and which were set aside. */
  link(limit: number): { done: number; aside: SetAside[] } {
    const { linker, table } = this.#parts
    this.#carefulRounds--
    const round = this.#round((aside) => {
      let done = 0
      const step = (): boolean => linker.link(1) > 0
      const pass = (reason: string): SetAside | undefined => table.passArrival(reason)
      while (done < Math.min(limit, MAX_ITEMS) && this.#one(step, pass, aside)) done++
      return done
    })
    if (round.aside.length > 0) this.#carefulRounds = CAREFUL_FOR
    return round
  }

  /** Expires at most `limit` of each kind, or fewer; `done` is true when more may be due. */
  expire(limit: number): { done: boolean; aside: SetAside[] } {
    const most = Math.min(limit, MAX_ITEMS)
    return this.#round((aside) =>
      EXPIRY_STAGES.map((stage) => this.#expire(stage, most, aside)).includes(true),
    )
  }

  /** Linking had to be careful lately. */
  get isOn(): boolean {
    return this.#carefulRounds > 0
  }

  #expire(stage: ExpiryStage, most: number, aside: SetAside[]): boolean {
    const { linker, table } = this.#parts
    const step = (): boolean => linker.expireOnly(stage, 1)
    const pass = (reason: string): SetAside | undefined =>
      stage === 'settling' ? table.passTrace(reason) : table.passWaiting(stage, reason)
    let done = 0
    while (done < most && this.#one(step, pass, aside)) done++
    return done === most
  }

  /** Does one step, or gets past it; false when there was nothing to do. */
  #one(step: () => boolean, pass: (reason: string) => SetAside | undefined, aside: SetAside[]): boolean {
    const { transaction, linker, links, caches } = this.#parts
    const undo = linker.checkpoint()
    try {
      return transaction.attempt(() => links.inRound(step), caches)
    } catch (error) {
      undo()
      if (!isAboutOneItem(error)) throw error
      const passed = pass(reasonOf(error))
      if (passed === undefined) throw error
      aside.push(passed)
      return true
    }
  }

  #round<T>(work: (aside: SetAside[]) => T): { done: T; aside: SetAside[] } {
    const { transaction, linker } = this.#parts
    const undo = linker.checkpoint()
    const aside: SetAside[] = []
    try {
      const done = transaction.run(() => work(aside))
      return { done, aside }
    } catch (error) {
      undo()
      throw error
    }
  }
}
