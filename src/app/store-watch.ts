import type { StorageFault } from '../model/faults.ts'
import type { Cancel, Timers } from '../model/time-and-size.ts'

const LOOK_EVERY_MS = 1_000
/** Ten times what the store thread leaves between two messages, and four times what it waits for another program's lock. */
const MOST_SILENT_LOOKS = 20

const HANGS: StorageFault = {
  kind: 'hangs',
  reason:
    `the store thread has not answered for ${(MOST_SILENT_LOOKS * LOOK_EVERY_MS) / 1000} s, and nothing is stored: look ` +
    "whether the disk of the database, or the network below it, hangs (system's log); it goes on by itself once that answers, else end causeway and start it again",
}

/**
 * Notices when the store thread does not come back from its work. Looks are counted, not time, so that a process that was stopped as
 * a whole is not taken for that: its looks stopped too.
 */
export class StoreWatch implements Disposable {
  readonly #report: (fault: StorageFault | undefined) => void
  readonly #cancel: Cancel
  #silentLooks = 0

  /** `report` gets the fault, and undefined once it is over. */
  constructor(timers: Timers, report: (fault: StorageFault | undefined) => void) {
    this.#report = report
    this.#cancel = timers.every(LOOK_EVERY_MS, () => this.#look())
  }

  /** To be called with every message of the thread. */
  heard(): void {
    if (this.#silentLooks >= MOST_SILENT_LOOKS) this.#report(undefined)
    this.#silentLooks = 0
  }

  #look(): void {
    if (++this.#silentLooks === MOST_SILENT_LOOKS) this.#report(HANGS)
  }

  [Symbol.dispose](): void {
    this.#cancel()
  }
}
