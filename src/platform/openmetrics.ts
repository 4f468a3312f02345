import type { Exemplar, HistogramSeries } from '../model/linker-settings-and-metrics.ts'

const OTHER = 'other'
const LONGEST_LABEL = 200

/**
 * A histogram whose buckets remember one measurement each. Beyond `maxSeries` combinations of label values, further
 * ones are counted under `other`, so that senders cannot grow it without bound.
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

  /** The measurements since the last call. The known label values stay. */
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

/** One line of a family: a metric name, its labels, a value. */
export interface Sample {
  name: string
  labels: Readonly<Record<string, string | number>>
  value: number
  exemplar?: Exemplar | undefined
}

/** A metric with all its lines. */
export interface Family {
  name: string
  help: string
  kind: 'counter' | 'gauge' | 'histogram' | 'summary'
  samples: readonly Sample[]
}

const MS_PER_SECOND = 1000

/** A family in the Prometheus text format 0.0.4, which has no exemplars. */
export function prometheusText({ name, help, kind, samples }: Family): string {
  const lines = samples.map(
    (sample) => `${sample.name}${labelsText(sample.labels)} ${numberText(sample.value)}`,
  )
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${kind}`, ...lines].join('\n')
}

/**
 * Families in OpenMetrics 1.0. A counter is written as `unknown`: OpenMetrics would have `_total` after its name, and
 * names are the same in every format here.
 */
export function openMetricsText(families: readonly Family[]): string {
  const blocks = families.map(({ name, help, kind, samples }) =>
    [
      `# HELP ${name} ${escapeHelp(help).replaceAll('"', '\\"')}`,
      `# TYPE ${name} ${kind === 'counter' ? 'unknown' : kind}`,
      ...samples.map(
        (sample) =>
          `${sample.name}${labelsText(floatBounds(sample.labels))} ${numberText(sample.value)}${exemplarText(sample.exemplar)}`,
      ),
    ].join('\n'),
  )
  return `${blocks.join('\n')}\n# EOF\n`
}

/** The lines of a histogram: cumulative buckets with their exemplars, sum and count. */
export function histogramFamily(
  about: { name: string; help: string; labelNames: readonly string[]; bounds: readonly number[] },
  series: readonly HistogramSeries[],
): Family {
  const { name, help, labelNames, bounds } = about
  const samples = series.flatMap(({ labels, counts, sum, exemplars }): Sample[] => {
    const own = Object.fromEntries(labelNames.map((label, at) => [label, labels[at] ?? '']))
    let count = 0
    const buckets = counts.map((inBucket, at): Sample => {
      count += inBucket
      const le = bounds[at] ?? '+Inf'
      return { name: `${name}_bucket`, labels: { ...own, le }, value: count, exemplar: exemplars[at] }
    })
    return [
      ...buckets,
      { name: `${name}_sum`, labels: own, value: sum },
      { name: `${name}_count`, labels: own, value: count },
    ]
  })
  return { name, help, kind: 'histogram', samples }
}

/** Whether the Accept header gives OpenMetrics at least the quality of plain text. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const wanted = new Map<string, number>()
  for (const range of accept?.split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    wanted.set(type, Math.max(wanted.get(type) ?? 0, quality === undefined ? 1 : Number(quality) || 0))
  }
  const open = wanted.get('application/openmetrics-text') ?? 0
  return open > 0 && open >= (wanted.get('text/plain') ?? 0)
}

function exemplarText(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return ''
  const { traceId, spanId, value, timeMs } = exemplar
  const ids = labelsText({ trace_id: traceId, span_id: spanId })
  return ` # ${ids} ${numberText(value)} ${(timeMs / MS_PER_SECOND).toFixed(3)}`
}

/** OpenMetrics writes the bounds of buckets as floats. */
function floatBounds(labels: Sample['labels']): Sample['labels'] {
  const { le } = labels
  return typeof le === 'number' && Number.isInteger(le) ? { ...labels, le: le.toFixed(1) } : labels
}

function labelsText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
