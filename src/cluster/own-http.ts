import type { RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'

/**
 * Node's HTTP by itself: an import of `node:http` reads every name in it, of which one loads all of `fetch`, and that takes three
 * times as long as HTTP does. Commands that end at once notice.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

/** A connection that is older may have been cut on the way. */
const OLDEST_EARLY_MS = 5_000

/** An agent that can connect before anything is asked; what is asked first then need not wait. */
export class EarlyAgent extends https.Agent {
  #early: Duplex | undefined

  connect(options: RequestOptions): void {
    const early = super.createConnection(options) ?? undefined
    this.#early = early
    // Whoever asks connects anew then, and is told why that fails.
    early?.on('error', () => undefined)
    setTimeout(() => this.#drop(early), OLDEST_EARLY_MS).unref()
  }

  override createConnection(
    ...args: Parameters<InstanceType<typeof https.Agent>['createConnection']>
  ): ReturnType<InstanceType<typeof https.Agent>['createConnection']> {
    const early = this.#early
    this.#early = undefined
    return early === undefined || early.destroyed ? super.createConnection(...args) : early
  }

  override destroy(): void {
    this.#drop(this.#early)
    super.destroy()
  }

  #drop(early: Duplex | undefined): void {
    if (early === undefined || early !== this.#early) return
    this.#early = undefined
    early.destroy()
  }
}
