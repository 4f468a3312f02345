import { Backoff, type BackoffClock, SYSTEM_BACKOFF_CLOCK } from '../kube/cluster/flow-control.ts'
import type {
  ClusterEvent,
  Observation,
  ObservationBatch,
  ObservationOutcome,
  ObservationPort,
  SkipReason,
} from '../model/kubernetes-observations.ts'
import type { SourceObserver } from './receiver-type.ts'

/** What is read of a source, and how far it was read with that. */
export interface ReadObservations {
  readonly observations: readonly (Observation | ClusterEvent)[]
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  readonly position?: string
}

interface ObservationReporterSettings {
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
export class ObservationReporter {
  readonly #settings: ObservationReporterSettings

  constructor(settings: ObservationReporterSettings) {
    this.#settings = settings
  }

  /** Tells once, and says what became of it. */
  async tell(told: ReadObservations): Promise<ObservationOutcome> {
    const outcome = await this.#settings.port.tell(this.#tellingOf(told))
    if (outcome.kind === 'stored') this.#count(told)
    return outcome
  }

  /** Tells again until it is stored; false when the signal aborts before. Never rejects. */
  async tellUntilStored(told: ReadObservations, signal: AbortSignal): Promise<boolean> {
    try {
      const teller = { ...this.#settings, waiting: SYSTEM_BACKOFF_CLOCK }
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

  #tellingOf(told: ReadObservations): ObservationBatch {
    const { cluster, stream } = this.#settings
    return { cluster, stream, ...told }
  }

  #count({ observations, skipped }: ReadObservations): void {
    const { receiver, observer } = this.#settings
    if (observations.length > 0) observer.told(receiver, observations.length)
    for (const [reason, count] of Object.entries(skipped)) observer.skipped(receiver, reason, count)
  }
}

export interface ObservationSender {
  readonly port: ObservationPort
  readonly waiting: BackoffClock
  /** Nothing is told while memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  readonly onTrouble: (reason: string) => void
}

const MEMORY_PAUSE_MS = 1_000

/** Resolves once it is durable, told as often as it takes. Rejects when it is not before the signal aborts. */
export async function sendUntilStored(
  teller: ObservationSender,
  telling: ObservationBatch,
  signal: AbortSignal,
): Promise<void> {
  const { port, waiting, memory, onTrouble } = teller
  const pauses = new Backoff(waiting)
  for (;;) {
    signal.throwIfAborted()
    if (memory.isRefusing) {
      await waiting.sleep(MEMORY_PAUSE_MS, signal)
      continue
    }
    const outcome = await port.tell(telling)
    switch (outcome.kind) {
      case 'stored':
        return
      case 'busy':
        await waiting.sleep(outcome.retryAfterMs, signal)
        break
      case 'failed':
        onTrouble(`what was seen of the cluster ${telling.cluster} is told again later: ${outcome.reason}`)
        await pauses.pause(signal)
    }
  }
}
