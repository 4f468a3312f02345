import { setTimeout as sleep } from 'node:timers/promises'
import type { Observation, Skipped } from '../../model/kubernetes/observation.ts'
import type { Telling } from '../../model/kubernetes/telling.ts'
import type { ToldEvent } from '../../model/kubernetes/told-event.ts'
import type { ObservationPort, TellingOutcome } from '../../model/ports/observation-port.ts'
import type { ClusterObserver } from './cluster-observer.ts'

/** What is read of a source, and how far it was read with that. */
export interface Told {
  readonly observations: readonly (Observation | ToldEvent)[]
  readonly skipped: Readonly<Partial<Record<Skipped, number>>>
  readonly position?: string
}

export interface TellerSettings {
  /** The id of the receiver. */
  readonly receiver: string
  readonly cluster: string
  readonly stream: string
  readonly port: ObservationPort
  readonly observer: ClusterObserver
  readonly onTrouble: (reason: string) => void
}

/** After a fault, so long until the same is told again, in milliseconds. */
const RETRY_MS = 1_000

/** Tells the inference what one stream of a receiver sees. */
export class Teller {
  readonly #settings: TellerSettings

  constructor(settings: TellerSettings) {
    this.#settings = settings
  }

  /** Tells once, and says what became of it; counted when it is stored. */
  async tell({ observations, skipped, position }: Told): Promise<TellingOutcome> {
    const { receiver, cluster, stream, port, observer } = this.#settings
    const place = position === undefined ? {} : { position }
    const telling: Telling = { cluster, stream, observations, skipped, ...place }
    const outcome = await port.tell(telling)
    if (outcome.kind !== 'stored') return outcome
    observer.told(receiver, observations.length)
    observer.skipped(receiver, skipped)
    return outcome
  }

  /** Tells again until it is stored; false when the signal aborts before. Never rejects. */
  async tellUntilStored(told: Told, signal: AbortSignal): Promise<boolean> {
    const { receiver, onTrouble } = this.#settings
    while (!signal.aborted) {
      const outcome = await this.tell(told)
      if (outcome.kind === 'stored') return true
      if (outcome.kind === 'failed')
        onTrouble(`what ${receiver} saw could not be stored, and is told again: ${outcome.reason}`)
      const afterMs = outcome.kind === 'busy' ? outcome.retryAfterMs : RETRY_MS
      await sleep(afterMs, undefined, { signal }).catch(() => undefined)
    }
    return false
  }

  /** How far the stream was read; undefined when it never was. Rejects when the store cannot be read. */
  position(): Promise<string | undefined> {
    const { port, cluster, stream } = this.#settings
    return port.position(cluster, stream)
  }
}
