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

/** Observations read from a source, and the position behind them. */
export interface ReadObservations {
  readonly observations: readonly (Observation | ClusterEvent)[]
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  readonly position?: string
}

interface ObservationReporterSettings extends Omit<ObservationSender, 'waiting'> {
  readonly cluster: string
  readonly stream: string
}

/** Hands the observations of one stream of a receiver to the store, and counts those that are stored. */
export class ObservationReporter {
  readonly #settings: ObservationReporterSettings

  constructor(settings: ObservationReporterSettings) {
    this.#settings = settings
  }

  /** Tries once. */
  async report(read: ReadObservations): Promise<ObservationOutcome> {
    const outcome = await this.#settings.port.record(this.#batchOf(read))
    if (outcome.kind === 'stored') countStored(this.#settings, read)
    return outcome
  }

  /** Retries until they are stored; false when the signal aborts first. Never rejects. */
  async reportUntilStored(read: ReadObservations, signal: AbortSignal): Promise<boolean> {
    try {
      const reporter = { ...this.#settings, waiting: SYSTEM_BACKOFF_CLOCK }
      await sendUntilStored(reporter, this.#batchOf(read), signal)
      return true
    } catch {
      return false
    }
  }

  /** The stored position of the stream; undefined without one. Rejects when the store cannot be read. */
  position(): Promise<string | undefined> {
    const { port, cluster, stream } = this.#settings
    return port.position(cluster, stream)
  }

  #batchOf(read: ReadObservations): ObservationBatch {
    const { cluster, stream } = this.#settings
    return { cluster, stream, ...read }
  }
}

function countStored(
  { receiver, observer }: Pick<ObservationSender, 'receiver' | 'observer'>,
  { observations, skipped = {} }: Pick<ObservationBatch, 'observations' | 'skipped'>,
): void {
  if (observations.length > 0) observer.recorded(receiver, observations.length)
  for (const [reason, count] of Object.entries(skipped)) observer.skipped(receiver, reason, count)
}

export interface ObservationSender {
  /** The id of the receiver. */
  readonly receiver: string
  readonly observer: Pick<SourceObserver, 'recorded' | 'skipped'>
  readonly port: ObservationPort
  readonly waiting: BackoffClock
  /** Nothing is sent while memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  readonly onTrouble: (reason: string) => void
}

const MEMORY_PAUSE_MS = 1_000

/** Sends a batch until it is durable, and counts it. Rejects when the signal aborts first. */
export async function sendUntilStored(
  reporter: ObservationSender,
  batch: ObservationBatch,
  signal: AbortSignal,
): Promise<void> {
  const { port, waiting, memory, onTrouble } = reporter
  const pauses = new Backoff(waiting)
  for (;;) {
    signal.throwIfAborted()
    if (memory.isRefusing) {
      await waiting.sleep(MEMORY_PAUSE_MS, signal)
      continue
    }
    const outcome = await port.record(batch)
    switch (outcome.kind) {
      case 'stored':
        countStored(reporter, batch)
        return
      case 'busy':
        await waiting.sleep(outcome.retryAfterMs, signal)
        break
      case 'failed':
        onTrouble(
          `observations of the cluster ${batch.cluster} could not be stored and are retried: ${outcome.reason}`,
        )
        await pauses.pause(signal)
    }
  }
}
