import { Session, type Profiler } from 'node:inspector'

/**
 * Counts what the sources of Causeway do in this thread: how often their functions are called and their blocks entered, as
 * V8 counts them for coverage. The same work gives the same number on every machine, however busy it is. What runs outside
 * of JavaScript (SQLite, JSON.parse) is not in it.
 */
export class WorkCounter implements Disposable {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Calls and blocks since the last look. */
  blocksOf(work: () => void): number {
    this.#take()
    work()
    let blocks = 0
    for (const { url, functions } of this.#take()) {
      if (!url.includes('/src/')) continue
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count
    }
    return blocks
  }

  /** Without a callback's turn of the event loop: the session answers at once, in this thread. */
  #take(): readonly Profiler.ScriptCoverage[] {
    let found: readonly Profiler.ScriptCoverage[] | undefined
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error
      found = answer.result
    })
    if (found === undefined) throw new Error('V8 did not answer at once')
    return found
  }

  [Symbol.dispose](): void {
    this.#session.disconnect()
  }
}
