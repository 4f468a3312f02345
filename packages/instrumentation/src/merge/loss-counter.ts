import { metrics, type Counter, type MeterProvider } from '@opentelemetry/api'
import { SCOPE } from '../scope.ts'

/** The counter of mergelogs that neither a logger nor a span took. */
const LOST_MERGELOGS = 'cpid.instrumentation.lost_mergelogs'

/** Counts losses, and reports them to whichever meter provider is registered, also when that comes late. */
export class LossCounter {
  #count = 0
  #reported = 0
  #provider: MeterProvider | undefined
  #counter: Counter | undefined

  get count(): number {
    return this.#count
  }

  add(): void {
    this.#count++
    this.publish()
  }

  /** Reports what a newly registered meter provider has not heard of; shows it the counter even at 0. */
  publish(): void {
    try {
      const provider = metrics.getMeterProvider()
      if (provider !== this.#provider) {
        this.#provider = provider
        this.#reported = 0
        this.#counter = provider.getMeter(SCOPE).createCounter(LOST_MERGELOGS, {
          unit: '{mergelog}',
          description: 'Mergelogs that neither a logger nor a sampled span took.',
        })
        this.#counter.add(0)
      }
      if (this.#reported === this.#count) return
      this.#counter?.add(this.#count - this.#reported)
      this.#reported = this.#count
    } catch {
      // A meter provider that fails is no concern of a controller's; the count itself stands.
    }
  }
}
