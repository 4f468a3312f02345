import { Backoff, type BackoffClock, SYSTEM_BACKOFF_CLOCK } from '../kube/cluster/flow-control.ts'
import { ResourceNotFollowed } from '../kube/cluster/resource-stream.ts'
import type {
  ClusterEvent,
  Observation,
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

export interface ObservationReporterSettings {
  /** The id of the receiver. */
  readonly receiver: string
  readonly cluster: string
  readonly stream: string
  readonly observer: Pick<SourceObserver, 'recorded' | 'skipped'>
  readonly port: ObservationPort
  /** Nothing is sent while memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  readonly onTrouble: (reason: string) => void
  /** The system's by default. */
  readonly waiting?: BackoffClock
}

const MEMORY_PAUSE_MS = 1_000

/** Hands the observations of one stream of a receiver to the store, and counts those that are stored. */
export class ObservationReporter {
  readonly waiting: BackoffClock
  readonly #settings: ObservationReporterSettings

  constructor(settings: ObservationReporterSettings) {
    this.waiting = settings.waiting ?? SYSTEM_BACKOFF_CLOCK
    this.#settings = settings
  }

  /** Tries once. */
  async report(read: ReadObservations): Promise<ObservationOutcome> {
    const { receiver, cluster, stream, port, observer } = this.#settings
    const outcome = await port.record({ cluster, stream, ...read })
    if (outcome.kind !== 'stored') return outcome
    if (read.observations.length > 0) observer.recorded(receiver, read.observations.length)
    for (const [reason, count] of Object.entries(read.skipped)) observer.skipped(receiver, reason, count)
    return outcome
  }

  /** Retries until they are stored. Rejects when the signal aborts first. */
  async reportUntilStored(read: ReadObservations, signal: AbortSignal): Promise<void> {
    const { cluster, memory, onTrouble } = this.#settings
    const pauses = new Backoff(this.waiting)
    for (;;) {
      signal.throwIfAborted()
      if (memory.isRefusing) {
        await this.waiting.sleep(MEMORY_PAUSE_MS, signal)
        continue
      }
      const outcome = await this.report(read)
      switch (outcome.kind) {
        case 'stored':
          return
        case 'busy':
          await this.waiting.sleep(outcome.retryAfterMs, signal)
          break
        case 'failed':
          onTrouble(
            `observations of the cluster ${cluster} could not be stored and are retried: ${outcome.reason}`,
          )
          await pauses.pause(signal)
      }
    }
  }

  /** The stored position of the stream; undefined without one. Rejects when the store cannot be read. */
  position(): Promise<string | undefined> {
    const { port, cluster, stream } = this.#settings
    return port.position(cluster, stream)
  }

  /** A page of the objects of a resource that the store knows, ordered by uid, after this uid. */
  knownObjects(
    apiVersion: string,
    resource: string,
    after: string,
  ): ReturnType<ObservationPort['knownObjects']> {
    return this.#settings.port.knownObjects(this.#settings.cluster, apiVersion, resource, after)
  }
}

/** Reports what a watch sees of a resource, and counts what of it describes no write. */
export abstract class ReportingFollower {
  protected readonly reporter: ObservationReporter
  readonly #signal: AbortSignal
  #skipped: Partial<Record<SkipReason, number>> = {}

  /** When the signal aborts, a report is not repeated any more. */
  constructor(reporter: ObservationReporter, signal: AbortSignal) {
    this.reporter = reporter
    this.#signal = signal
  }

  position(): Promise<string | undefined> {
    return this.reporter.position()
  }

  async take(observations: ReadObservations['observations'], version: string | undefined): Promise<void> {
    const skipped = this.#skipped
    this.#skipped = {}
    const position = version === undefined ? {} : { position: version }
    await this.reporter.reportUntilStored({ observations, skipped, ...position }, this.#signal)
  }

  /** Undefined for what is skipped. `what`: what only integers in resourceVersions allow. */
  protected unlessSkipped<T extends object>(read: T | SkipReason, what: string): T | undefined {
    if (read === 'unversioned')
      throw new ResourceNotFollowed(`its resourceVersions are no integers, by which ${what}`)
    if (typeof read !== 'string') return read
    this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
    return undefined
  }
}
