import type { Exemplar, HistogramSeries } from '../model/cascade-figures.ts'

const OTHER = 'other'
const LONGEST_LABEL = 200

/**
 * A histogram whose buckets remember one measurement each. Beyond `maxSeries` combinations of label values, further
 * ones are counted under `other`, so that what senders name cannot grow it without bound.
 */
export class ExemplarHistogram {
  readonly bounds: readonly number[]
  readonly #maxSeries: number
  readonly #known = new Set<string>()
  readonly #series = new Map<string, HistogramSeries>()

  /** `bounds` are the upper bounds of the buckets, rising; one without bound follows. */
  constructor(bounds: readonly number[], maxSeries = Infinity) {
    this.bounds = bounds
    this.#maxSeries = maxSeries
  }

  get series(): readonly HistogramSeries[] {
    return [...this.#series.values()]
  }

  observe(labels: readonly string[], exemplar: Exemplar): void {
    const { value } = exemplar
    const series = this.#seriesOf(labels.map((label) => label.slice(0, LONGEST_LABEL)))
    const found = this.bounds.findIndex((bound) => value <= bound)
    const bucket = found < 0 ? this.bounds.length : found
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += value
    series.exemplars[bucket] = exemplar
  }

  /** Adds what another histogram with the same bounds has measured. */
  merge(others: readonly HistogramSeries[]): void {
    for (const { labels, counts, sum, exemplars } of others) {
      const series = this.#seriesOf(labels)
      counts.forEach((count, bucket) => (series.counts[bucket] = (series.counts[bucket] ?? 0) + count))
      series.sum += sum
      exemplars.forEach((exemplar, bucket) => {
        if (exemplar !== undefined) series.exemplars[bucket] = exemplar
      })
    }
  }

  /** What was measured since the last call. Which label values are told apart stays. */
  take(): HistogramSeries[] {
    const taken = [...this.#series.values()]
    this.#series.clear()
    return taken
  }

  #seriesOf(labels: readonly string[]): HistogramSeries {
    const key = labels.join('\0')
    if (!this.#known.has(key)) {
      if (this.#known.size >= this.#maxSeries && labels.some((label) => label !== OTHER))
        return this.#seriesOf(labels.map(() => OTHER))
      if (this.#known.size < this.#maxSeries) this.#known.add(key)
    }
    let series = this.#series.get(key)
    if (series === undefined) {
      const buckets = this.bounds.length + 1
      series = {
        labels,
        counts: new Array<number>(buckets).fill(0),
        sum: 0,
        exemplars: new Array<Exemplar | undefined>(buckets).fill(undefined),
      }
      this.#series.set(key, series)
    }
    return series
  }
}
