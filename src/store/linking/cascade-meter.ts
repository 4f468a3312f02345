import type { CascadeFigures, CascadeObservation, Exemplar } from '../../model/cascade-figures.ts'
import { spanIdHex } from '../../otlp/write/encode-span.ts'
import { ExemplarHistogram } from '../../telemetry/exemplar-histogram.ts'
import { METRICS } from '../../telemetry/metric-catalogue.ts'

/** Gathers in the store thread what the linker saw, until it is handed over. */
export class CascadeMeter {
  readonly #durations = new ExemplarHistogram(METRICS.cpid_cascade_duration.buckets)
  readonly #hops: ExemplarHistogram

  /** `maxSeries`: services and object kinds that are told apart at most. */
  constructor(maxSeries: number) {
    this.#hops = new ExemplarHistogram(METRICS.cpid_hop_latency.buckets, maxSeries)
  }

  add(observations: readonly CascadeObservation[], wallMs: number): void {
    for (const observation of observations) {
      const exemplar: Exemplar = {
        value: observation.seconds,
        timeMs: wallMs,
        traceId: observation.traceId.toString('hex'),
        spanId: spanIdHex(observation.spanId),
      }
      if (observation.kind === 'cascade') this.#durations.observe([], exemplar)
      else this.#hops.observe([observation.service, observation.objectKind], exemplar)
    }
  }

  take(): CascadeFigures {
    return { durations: this.#durations.take(), hops: this.#hops.take() }
  }
}
