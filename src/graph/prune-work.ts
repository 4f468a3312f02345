/** What removing a CPID itself, or looking at what holds one, costs beside a removed row. */
export const CPID_COST = 10
export const LOOK_COST = 2
const COST_OF_BUDGET = 50

/** How much may still be done in one turn. Something is always done, so that every turn gets on. */
export class PruneWork {
  #left: number
  readonly #mayGoOn: () => boolean
  #hasBegun = false
  /** Rows that went. */
  removed = 0

  /** `budget`: about how many CPIDs may go; `mayGoOn` is asked between steps. */
  constructor(budget: number, mayGoOn: () => boolean) {
    this.#left = budget * COST_OF_BUDGET
    this.#mayGoOn = mayGoOn
  }

  spend(cost: number): void {
    this.#left -= cost
    this.#hasBegun = true
  }

  /** So many rows have gone. */
  remove(rows: number): void {
    this.removed += rows
    this.spend(rows)
  }

  get isUp(): boolean {
    return this.#hasBegun && (this.#left <= 0 || !this.#mayGoOn())
  }
}
