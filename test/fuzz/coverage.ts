import { Session, type Profiler } from 'node:inspector'

/**
 * Which blocks of the sources were reached, by V8's precise coverage. Taking it costs milliseconds, so it is asked for
 * after a round of inputs, and input by input only when the round reached something new.
 */
export class Coverage implements Disposable {
  readonly #session = new Session()
  readonly #isOfInterest: (url: string) => boolean
  readonly #seen = new Set<string>()

  constructor(isOfInterest: (url: string) => boolean) {
    this.#isOfInterest = isOfInterest
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Blocks reached so far. */
  get size(): number {
    return this.#seen.size
  }

  /** How many blocks were reached since the last call that never were before; they count as seen unless `peek`. */
  take({ peek = false }: { peek?: boolean } = {}): number {
    let fresh = 0
    for (const block of this.#reached()) {
      if (this.#seen.has(block)) continue
      fresh++
      if (!peek) this.#seen.add(block)
    }
    return fresh
  }

  *#reached(): Generator<string> {
    let taken: Profiler.TakePreciseCoverageReturnType | undefined
    this.#session.post('Profiler.takePreciseCoverage', (_, result) => {
      taken = result
    })
    for (const { url, functions } of taken?.result ?? []) {
      if (!this.#isOfInterest(url)) continue
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges) {
          if (count > 0) yield `${url} ${startOffset} ${endOffset}`
        }
    }
  }

  [Symbol.dispose](): void {
    this.#session.disconnect()
  }
}
