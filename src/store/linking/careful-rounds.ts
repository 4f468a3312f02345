import { EXPIRY_STAGES, type ExpiryStage } from '../../linker/expiry.ts'
import type { Linker } from '../../linker/linker.ts'
import { reasonOf, type SetAside } from '../../model/set-aside.ts'
import type { StorageFaults } from '../../model/storage-fault.ts'
import type { Transactor } from '../../model/ports/transactor.ts'
import type { Stores } from '../../model/ports/writer-port.ts'

/** What a round does at most, since each item costs more than in a round of many. */
const MAX_ITEMS = 150
/** What is broken seldom comes alone: how many rounds of linking are careful after one that had to be. */
const CAREFUL_FOR = 8

/** What linking goes on with, inside a transaction. */
export interface Linking extends Stores {
  readonly linker: Linker
}

/** What the linker counted and saw, which is no row. */
export type LinkTally = Pick<Linker, 'checkpoint' | 'takeCounts' | 'takeObservations'>

type Pass = (reason: string) => SetAside | undefined

/**
 * Links and expires item by item, where a round of many threw: each is undone by itself when it throws, and set aside with
 * its reason in the same transaction, so that everything else goes on.
 */
export class CarefulRounds {
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
