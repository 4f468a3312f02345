import { readdirSync, readFileSync } from 'node:fs'

const PAGE_BYTES = 4096
const MIB = 2 ** 20
const LOOK_AGAIN_MS = 25

/** The most memory and descriptors that a process was seen to have. Disposing stops looking. */
export class Vitals implements Disposable {
  /** Over all its threads, without the files mapped into it: what the memory limiter counts. */
  memoryBytes = 0
  descriptors = 0
  readonly #pid: number
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#pid = pid
    this.look()
    this.#timer = setInterval(() => this.look(), LOOK_AGAIN_MS)
  }

  /** For people. */
  get summary(): string {
    return `at most ${Math.round(this.memoryBytes / MIB)} MiB and ${this.descriptors} descriptors`
  }

  /** Looks at once; what a process that has ended last had stays. */
  look(): void {
    try {
      const [, resident = 0, shared = 0] = readFileSync(`/proc/${this.#pid}/statm`, 'latin1')
        .split(' ')
        .map(Number)
      this.memoryBytes = Math.max(this.memoryBytes, (resident - shared) * PAGE_BYTES)
      this.descriptors = Math.max(this.descriptors, readdirSync(`/proc/${this.#pid}/fd`).length)
    } catch {
      // It has ended: the victim's failures say so.
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
