import { MACHINE_WAITING } from '../../cluster/waiting.ts'
import type { Observation, Skipped } from '../../model/kubernetes/observation.ts'
import type { ObservationBatch } from '../../model/kubernetes/observation-batch.ts'
import type { ClusterEvent } from '../../model/kubernetes/cluster-event.ts'
import type { ObservationPort, ObservationOutcome } from '../../model/ports/observation-port.ts'
import type { SourceObserver } from './source-observer.ts'
import { sendUntilStored } from './send-until-stored.ts'

/** What is read of a source, and how far it was read with that. */
export interface Told {
  readonly observations: readonly (Observation | ClusterEvent)[]
  readonly skipped: Readonly<Partial<Record<Skipped, number>>>
  readonly position?: string
}

export interface StreamReporterSettings {
  /** The id of the receiver. */
  readonly receiver: string
  readonly cluster: string
  readonly stream: string
  readonly port: ObservationPort
  readonly memory: { readonly isRefusing: boolean }
  readonly observer: SourceObserver
  readonly onTrouble: (reason: string) => void
}

/** Tells the inference what one stream of a receiver sees; what is stored is counted. */
export class StreamReporter {
  readonly #settings: StreamReporterSettings

  constructor(settings: StreamReporterSettings) {
    this.#settings = settings
  }

  /** Tells once, and says what became of it. */
  async tell(told: Told): Promise<ObservationOutcome> {
    const outcome = await this.#settings.port.tell(this.#tellingOf(told))
    if (outcome.kind === 'stored') this.#count(told)
    return outcome
  }

  /** Tells again until it is stored; false when the signal aborts before. Never rejects. */
  async tellUntilStored(told: Told, signal: AbortSignal): Promise<boolean> {
    try {
      const teller = { ...this.#settings, waiting: MACHINE_WAITING }
      await sendUntilStored(teller, this.#tellingOf(told), signal)
    } catch {
      return false
    }
    this.#count(told)
    return true
  }

  /** How far the stream was read; undefined when it never was. Rejects when the store cannot be read. */
  position(): Promise<string | undefined> {
    const { port, cluster, stream } = this.#settings
    return port.position(cluster, stream)
  }

  #tellingOf(told: Told): ObservationBatch {
    const { cluster, stream } = this.#settings
    return { cluster, stream, ...told }
  }

  #count({ observations, skipped }: Told): void {
    const { receiver, observer } = this.#settings
    if (observations.length > 0) observer.told(receiver, observations.length)
    for (const [reason, count] of Object.entries(skipped)) observer.skipped(receiver, reason, count)
  }
}
